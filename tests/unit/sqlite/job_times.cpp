// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/job_times.hpp"

#include <gander/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>

namespace gander::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t min64 = std::numeric_limits<std::int64_t>::min();

template <class F>
bool out_of_range(F f) {
    try {
        f();
    } catch (system_error const& e) {
        return e.code() == errc::out_of_range;
    }
    return false;
}

TEST(DueTime, IsNeverEarlyAndLessThanASecondLate) {
    std::mt19937_64 random(1);  // NOLINT: the same every time
    for (int i = 0; i < 100'000; ++i) {
        auto const now = static_cast<std::int64_t>(random() % 4'000'000'000'000);
        auto const delay = static_cast<std::int64_t>(random() % 100'000'000) + 1;
        std::int64_t const due = due_time(now, delay) * 1000;
        ASSERT_GE(due, now + delay);
        ASSERT_LT(due, now + delay + 1000);
    }
}

TEST(DueTime, NoDelayIsThisSecond) {
    EXPECT_EQ(due_time(1'700'000'000'999, 0), 1'700'000'000);
    EXPECT_EQ(due_time(1'700'000'000'000, 0), 1'700'000'000);
    EXPECT_EQ(due_time(1'700'000'000'000, 1), 1'700'000'001);
    EXPECT_EQ(due_time(1'700'000'000'001, 999), 1'700'000'001);
}

TEST(DueTime, BeforeTheEpochRoundsUpToo) {
    EXPECT_EQ(due_time(-1500, 0), -2);
    EXPECT_GE(due_time(-1500, 300) * 1000, -1200);
    EXPECT_LT(due_time(-1500, 300) * 1000, -200);
}

TEST(DueTime, OverflowIsAnError) {
    EXPECT_TRUE(out_of_range([] { due_time(1'700'000'000'000, max64); }));
    EXPECT_TRUE(out_of_range([] { due_time(max64, 1); }));
    EXPECT_TRUE(out_of_range([] { due_time(max64 - 500, 400); }));
}

TEST(Backoff, IsTwoToTheAttemptWithinAFifthAndAtMostAnHour) {
    for (std::int64_t attempt : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
        std::int64_t const base = std::int64_t{1000} << attempt;
        for (int i = 0; i < 1000; ++i) {
            std::int64_t const ms = backoff_ms(attempt);
            ASSERT_GE(ms, base - base / 5) << attempt;
            ASSERT_LE(ms, base + base / 5) << attempt;
        }
    }
    for (std::int64_t attempt : {std::int64_t{12}, std::int64_t{63}, std::int64_t{64},
                                 std::int64_t{310}, std::int64_t{1'000'000}, max64})
        for (int i = 0; i < 100; ++i) {
            ASSERT_GE(backoff_ms(attempt), 3'600'000 / 5 * 4) << attempt;
            ASSERT_LE(backoff_ms(attempt), 3'600'000) << attempt;
        }
    for (std::int64_t attempt : {std::int64_t{-1}, min64}) {
        EXPECT_GE(backoff_ms(attempt), 0) << attempt;
        EXPECT_LE(backoff_ms(attempt), 3'600'000) << attempt;
    }
}

TEST(Backoff, IsSpread) {
    std::int64_t const first = backoff_ms(8);
    bool differs = false;
    for (int i = 0; i < 100 && !differs; ++i) differs = backoff_ms(8) != first;
    EXPECT_TRUE(differs);
}

TEST(JobOptions, BadNumbersAreRefused) {
    EXPECT_TRUE(out_of_range([] { check(queue_options{.max_attempts = 0}); }));
    EXPECT_TRUE(out_of_range([] { check(queue_options{.max_attempts = -1}); }));
    EXPECT_TRUE(out_of_range([] { check(queue_options{.lease = 0s}); }));
    EXPECT_TRUE(out_of_range([] { check(queue_options{.lease = -1s}); }));
    EXPECT_TRUE(out_of_range([] { check(queue_options{.lease = std::chrono::hours::max()}); }));
    EXPECT_TRUE(out_of_range([] { check(enqueue_options{.delay = -1ms}); }));
    EXPECT_TRUE(out_of_range([] { check(enqueue_options{.delay = std::chrono::hours::max()}); }));
    EXPECT_TRUE(out_of_range([] { check(enqueue_options{.expires = -1s}); }));
    EXPECT_TRUE(out_of_range([] { check(enqueue_options{.max_attempts = 0}); }));
    EXPECT_TRUE(out_of_range([] { check(enqueue_options{.max_attempts = min64}); }));
    EXPECT_NO_THROW(check(enqueue_options{.delay = 0s, .expires = 0s}));
    EXPECT_NO_THROW(check(queue_options{}));
}

TEST(JobOptions, ATimeBefore1970IsRefused) {
    enqueue_options options;
    options.run_at = std::chrono::system_clock::time_point(-1s);
    EXPECT_TRUE(out_of_range([&] { check(options); }));
}

TEST(MakeJob, TakesTheQueuesDefaultsAndTheOptionsOverThem) {
    queue_options const queue{.max_attempts = 7, .priority = -3};
    new_job const plain = make_job(queue, {}, 1'700'000'000'500);
    EXPECT_EQ(plain.priority, -3);
    EXPECT_EQ(plain.max_attempts, 7);
    EXPECT_EQ(plain.run_at, 1'700'000'000);
    EXPECT_EQ(plain.created_at, 1'700'000'000);
    EXPECT_FALSE(plain.expires_at);
    new_job const special = make_job(
        queue, {.delay = 10s, .priority = 5, .max_attempts = 1, .expires = 20s}, 1'700'000'000'500);
    EXPECT_EQ(special.priority, 5);
    EXPECT_EQ(special.max_attempts, 1);
    EXPECT_EQ(special.run_at, 1'700'000'011);
    EXPECT_EQ(special.expires_at, 1'700'000'021);
}

TEST(MakeJob, RunAtRoundsUpAndDelayWins) {
    enqueue_options options;
    options.run_at = std::chrono::system_clock::time_point(1'800'000'000'001ms);
    EXPECT_EQ(make_job({}, options, 1'700'000'000'000).run_at, 1'800'000'001);
    options.delay = 1s;
    EXPECT_EQ(make_job({}, options, 1'700'000'000'000).run_at, 1'700'000'001);
}

}  // namespace
}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gander/options.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace gander {
namespace {

using namespace std::chrono_literals;

TEST(Duration, FractionsOfAMillisecondRoundUp) {
    EXPECT_EQ(duration(1us).milliseconds(), 1);
    EXPECT_EQ(duration(1001us).milliseconds(), 2);
    EXPECT_EQ(duration(1ns).milliseconds(), 1);
    EXPECT_EQ(duration(0ns).milliseconds(), 0);
    EXPECT_EQ(duration(5ms).milliseconds(), 5);
    EXPECT_EQ(duration(std::chrono::duration<double>(0.0015)).milliseconds(), 2);
}

TEST(Duration, NegativeFractionsRoundTowardsTheFuture) {
    EXPECT_EQ(duration(-1500us).milliseconds(), -1);
    EXPECT_EQ(duration(-2ms).milliseconds(), -2);
}

TEST(Duration, SecondsRoundUp) {
    EXPECT_EQ(duration(1ms).seconds(), 1);
    EXPECT_EQ(duration(1000ms).seconds(), 1);
    EXPECT_EQ(duration(1001ms).seconds(), 2);
    EXPECT_EQ(duration(0ms).seconds(), 0);
    EXPECT_EQ(duration(2h).seconds(), 7200);
}

TEST(Duration, SixtyThreeBitsOfMillisecondsAreExact) {
    std::int64_t const ms = (std::int64_t{1} << 53) + 1;
    EXPECT_EQ(duration(std::chrono::milliseconds(ms)).milliseconds(), ms);
}

TEST(Duration, WhatDoesNotFitSaturates) {
    EXPECT_TRUE(duration(std::chrono::hours::max()).saturated());
    EXPECT_TRUE(duration(std::chrono::seconds::max()).saturated());
    EXPECT_TRUE(duration(std::chrono::seconds::min()).saturated());
    EXPECT_TRUE(duration(std::chrono::duration<double>(1e300)).saturated());
    EXPECT_TRUE(duration(std::chrono::duration<double>(-1e300)).saturated());
    EXPECT_TRUE(duration(std::chrono::duration<double>(std::numeric_limits<double>::infinity()))
                    .saturated());
    EXPECT_TRUE(duration(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()))
                    .saturated());
    EXPECT_FALSE(duration(std::chrono::hours(24 * 365 * 1000)).saturated());
}

TEST(Duration, SaturationKeepsTheSign) {
    EXPECT_GT(duration(std::chrono::seconds::max()).milliseconds(), 0);
    EXPECT_LT(duration(std::chrono::seconds::min()).milliseconds(), 0);
}

template <class T>
constexpr bool plain = std::is_aggregate_v<T>&& std::is_trivially_destructible_v<T>;

TEST(Options, AreTriviallyDestructibleAggregates) {
    EXPECT_TRUE(plain<open_options>);
    EXPECT_TRUE(plain<listen_options>);
    EXPECT_TRUE(plain<wait_options>);
    EXPECT_TRUE(plain<read_options>);
    EXPECT_TRUE(plain<consumer_options>);
    EXPECT_TRUE(plain<queue_options>);
    EXPECT_TRUE(plain<enqueue_options>);
    EXPECT_TRUE(plain<claim_options>);
    EXPECT_TRUE(plain<retry_options>);
    EXPECT_TRUE(plain<notifier_options>);
}

TEST(Start, AtFloorsToTheSecondBeforeTheTime) {
    auto const when = std::chrono::system_clock::time_point(1'700'000'000'900ms);
    EXPECT_EQ(start::at(when).value(), 1'700'000'000);
    EXPECT_EQ(start::at(when).what(), start::kind::at);
}

}  // namespace
}  // namespace gander

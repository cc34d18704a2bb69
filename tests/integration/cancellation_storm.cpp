// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Thousands of waits cancelled or timed out at the moment in which they would succeed: nothing is
/// lost and nothing comes twice.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace gander::test {
namespace {

class cancellation_storm : public io_test {
protected:
    static constexpr int rounds = slowness > 1 ? 600 : 2000;

    /// Emits after as many turns of the context as `delay` says.
    void emit_later(std::shared_ptr<asio::cancellation_signal> signal, unsigned delay) {
        if (delay == 0) {
            signal->emit(asio::cancellation_type::total);
            return;
        }
        asio::post(io, [this, signal = std::move(signal), delay]() mutable {
            emit_later(std::move(signal), delay - 1);
        });
    }

    std::mt19937 random{7};  // NOLINT: the same every time
    int aborted = 0;
    int succeeded = 0;
};

TEST_F(cancellation_storm, no_job_is_lost_or_claimed_twice) {
    run(
        [&]() -> awaitable<void> {
            database db(io, path, {.synchronous = synchronous::normal});
            queue q(db, "q");
            int enqueued = 0;
            for (int i = 0; i < rounds; ++i) {
                auto signal = std::make_shared<asio::cancellation_signal>();
                q.async_enqueue(payload(), asio::detached);
                ++enqueued;
                std::optional<duration> wait;
                if (random() % 4 == 0) wait = std::chrono::microseconds(random() % 500);
                emit_later(signal, random() % 4);
                auto token = asio::as_tuple(
                    asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable));
                auto [ec, j] = co_await q.async_claim("w", {.wait = wait}, token);
                if (!ec) {
                    ++succeeded;
                    auto const [ack] = co_await j.async_ack(tuple);
                    GANDER_REQUIRE(!ack);
                } else {
                    GANDER_REQUIRE(ec == asio::error::operation_aborted || ec == errc::timed_out);
                    GANDER_REQUIRE(j.id() == 0);
                    ++aborted;
                }
            }
            for (;;) {
                auto const jobs = co_await q.async_claim_many("w", {.max = 100, .wait = 0s}, tuple);
                if (std::get<0>(jobs)) break;
                for (job const& j : std::get<1>(jobs)) {
                    EXPECT_EQ(j.attempt(), 1) << "claimed before by a claim that was thrown away";
                    co_await job(j).async_ack();
                    ++succeeded;
                }
            }
            EXPECT_EQ(succeeded, enqueued);
            queue_sizes const s = co_await q.async_sizes();
            EXPECT_EQ(s.processing, 0) << "a claim was thrown away";
        },
        scaled(60s));
    EXPECT_GT(aborted, 0) << "the storm did not hit";
}

TEST_F(cancellation_storm, no_notification_is_lost_or_comes_twice) {
    run(
        [&]() -> awaitable<void> {
            database db(io, path, {.synchronous = synchronous::normal});
            listener l = db.listen("c");
            std::int64_t last = 0;
            std::int64_t sent = 0;
            auto const check = [&](notification const& n) {
                GANDER_REQUIRE(n.id() == last + 1);
                last = n.id();
            };
            for (int i = 0; i < rounds; ++i) {
                auto signal = std::make_shared<asio::cancellation_signal>();
                db.async_notify("c", payload(), asio::detached);
                ++sent;
                std::optional<duration> wait;
                if (random() % 4 == 0) wait = std::chrono::microseconds(random() % 500);
                emit_later(signal, random() % 4);
                auto token = asio::as_tuple(
                    asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable));
                auto [ec, n] = co_await l.async_receive({.wait = wait}, token);
                if (ec)
                    ++aborted;
                else
                    check(n);
            }
            while (last < sent) {
                notification const n = co_await l.async_receive({.wait = patience});
                check(n);
            }
            auto const [ec, none] = co_await l.async_receive({.wait = 0s}, tuple);
            EXPECT_EQ(ec, errc::timed_out);
        },
        scaled(60s));
    EXPECT_GT(aborted, 0);
}

TEST_F(cancellation_storm, no_event_is_lost_or_comes_twice) {
    run(
        [&]() -> awaitable<void> {
            database db(io, path, {.synchronous = synchronous::normal});
            consumer c(db, "t", "c");
            std::int64_t last = 0;
            std::int64_t sent = 0;
            auto const check = [&](batch const& read) {
                for (event const& e : read) {
                    GANDER_REQUIRE(e.offset() == last + 1);
                    last = e.offset();
                }
            };
            for (int i = 0; i < rounds; ++i) {
                auto signal = std::make_shared<asio::cancellation_signal>();
                db.async_publish("t", payload(), asio::detached);
                ++sent;
                std::optional<duration> wait;
                if (random() % 4 == 0) wait = std::chrono::microseconds(random() % 500);
                emit_later(signal, random() % 4);
                auto token = asio::as_tuple(
                    asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable));
                auto [ec, read] = co_await c.async_read({.max = 3, .wait = wait}, token);
                if (ec)
                    ++aborted;
                else
                    check(read);
            }
            while (last < sent) {
                batch const read = co_await c.async_read({.wait = patience});
                check(read);
            }
        },
        scaled(60s));
    EXPECT_GT(aborted, 0);
}

TEST_F(cancellation_storm, writes_are_committed_exactly_when_they_say_so) {
    std::map<std::int64_t, bool> stored;
    run(
        [&]() -> awaitable<void> {
            database db(io, path, {.synchronous = synchronous::normal});
            int ended = 0;
            for (int i = 0; i < rounds; ++i) {
                auto signal = std::make_shared<asio::cancellation_signal>();
                db.async_notify("c", payload::raw(std::to_string(i)),
                                asio::bind_cancellation_slot(
                                    signal->slot(), [&, i, signal](error_code ec, std::int64_t) {
                                        stored[i] = !ec;
                                        aborted += ec ? 1 : 0;
                                        ++ended;
                                    }));
                emit_later(signal, random() % 4);
                if (i % 10 == 0) co_await asio::post(io, asio::use_awaitable);
            }
            while (ended < rounds) co_await pause(1ms);
        },
        scaled(60s));
    raw_db raw(path);
    for (auto const& [i, there] : stored)
        ASSERT_EQ(raw.number("SELECT count(*) FROM _honker_notifications WHERE payload='" +
                             std::to_string(i) + "'"),
                  there ? 1 : 0)
            << i;
    EXPECT_GT(aborted, 0);
}

TEST_F(cancellation_storm, cancels_from_another_thread_end_every_wait_once) {
    asio::thread_pool pool(2);
    database db(pool, path);
    std::atomic<int> ended{0};
    int started = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        queue q(db, "q");
        listener l = db.listen("c");
        for (int n = 0; n < 2; ++n) {
            q.async_claim("w", {.wait = std::chrono::microseconds(random() % 2000)},
                          [&](error_code, job) { ++ended; });
            l.async_receive({.wait = std::chrono::microseconds(random() % 2000)},
                            [&](error_code, notification) { ++ended; });
            started += 2;
        }
        if (i % 3 != 0) q.cancel();
        if (i % 2 == 0) l.cancel();
    }
    EXPECT_TRUE(poll_until([&] { return ended == started; }));
    pool.join();
    EXPECT_EQ(ended, started);
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// How a wait for a notification ends, and that nothing is left of it.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <atomic>
#include <thread>

namespace gander::test {
namespace {

constexpr char const* insert_one =
    "INSERT INTO _honker_notifications(channel, payload) VALUES('c', '1')";

class channels_waits : public io_test {};

TEST_F(channels_waits, a_wait_ends_by_a_row) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        asio::post(io, [&] { raw_db(path).execute(insert_one); });
        auto const [ec, n] = co_await l.async_receive(tuple);
        EXPECT_FALSE(ec);
        EXPECT_EQ(n.payload(), "1");
    });
}

TEST_F(channels_waits, a_wait_ends_by_its_deadline) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        stopwatch const watch;
        auto const [ec, n] = co_await l.async_receive({.wait = 50ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(n.id(), 0);
        EXPECT_GE(watch.elapsed(), 49ms);
        EXPECT_LT(watch.elapsed(), scaled(1s));
        auto const [waited] = co_await l.async_wait({.wait = 10ms}, tuple);
        EXPECT_EQ(waited, errc::timed_out);
    });
}

TEST_F(channels_waits, a_wait_ends_by_cancellation_and_takes_nothing_with_it) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        for (auto const type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                asio::cancellation_type::total}) {
            asio::cancellation_signal signal;
            asio::post(io, [&] { signal.emit(type); });
            auto const [ec, n] = co_await l.async_receive(tuple_with(signal));
            EXPECT_EQ(ec, asio::error::operation_aborted);
        }
        asio::post(io, [&] { l.cancel(); });
        auto const [ec] = co_await l.async_wait(tuple);
        EXPECT_EQ(ec, asio::error::operation_aborted);
        raw_db(path).execute(insert_one);
        notification const n = co_await l.async_receive(asio::deferred);
        EXPECT_EQ(n.payload(), "1");
    });
}

TEST_F(channels_waits, a_wait_ends_when_its_listener_is_destroyed_or_assigned) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        auto l = std::make_unique<listener>(db.listen("c"));
        asio::post(io, [&] { l.reset(); });
        auto const [ec, n] = co_await l->async_receive(tuple);
        EXPECT_EQ(ec, asio::error::operation_aborted);
        listener other = db.listen("c");
        asio::post(io, [&] { other = db.listen("d"); });
        auto const [assigned, m] = co_await other.async_receive(tuple);
        EXPECT_EQ(assigned, asio::error::operation_aborted);
    });
}

TEST_F(channels_waits, a_wait_ends_by_an_error_of_the_file) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        // An error that looking into the file meets: the table is gone.
        asio::post(io, [&] { raw_db(path).execute("DROP TABLE _honker_notifications"); });
        auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
        EXPECT_EQ(ec.category(), sqlite_category()) << ec.message();
    });
}

TEST_F(channels_waits, an_empty_listener_says_so_and_numbers_are_checked) {
    run([&]() -> awaitable<void> {
        listener none;
        auto const [ec, n] = co_await none.async_receive(tuple);
        EXPECT_EQ(ec, errc::closed);
        EXPECT_FALSE(none.try_receive());
        database db(io, path);
        listener l = db.listen("c");
        for (duration const bad : {duration(-1ms), duration(std::chrono::hours::max())}) {
            auto const [refused, m] = co_await l.async_receive({.wait = bad}, tuple);
            EXPECT_EQ(refused, errc::out_of_range);
        }
        auto moved = std::move(l);
        auto const [gone, m] = co_await l.async_receive(tuple);  // NOLINT: moved-from on purpose
        EXPECT_EQ(gone, errc::closed);
    });
}

TEST_F(channels_waits, the_readiness_wait_consumes_nothing_and_try_receive_takes_what_it_found) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        EXPECT_FALSE(l.try_receive());
        for (int i = 0; i < 3; ++i)
            co_await db.async_notify("c", payload::raw(std::to_string(i)), asio::deferred);
        int taken = 0;
        while (taken < 3) {
            co_await l.async_wait({.wait = patience}, asio::deferred);
            co_await l.async_wait({.wait = patience}, asio::deferred);
            auto n = l.try_receive();
            EXPECT_TRUE(n) << "async_wait promised one";
            for (; n; n = l.try_receive()) EXPECT_EQ(n->payload(), std::to_string(taken++));
        }
        EXPECT_EQ(taken, 3);
        auto const [ec] = co_await l.async_wait({.wait = 0s}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
    });
}

TEST_F(channels_waits, two_receives_on_one_listener_are_served_in_order) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        std::vector<std::string> got;
        for (int i = 0; i < 3; ++i)
            l.async_receive([&got, i](error_code const& ec, notification const& n) {
                EXPECT_FALSE(ec);
                got.push_back(std::to_string(i) + ':' + std::string(n.payload()));
            });
        for (char const* text : {"1", "2", "3"})
            co_await db.async_notify("c", payload::raw(text), asio::deferred);
        while (got.size() < 3) co_await pause(1ms);
        EXPECT_EQ(got, (std::vector<std::string>{"0:1", "1:2", "2:3"}));
    });
}

TEST_F(channels_waits, run_returns_while_a_listener_exists_that_nobody_waits_on) {
    database db(io, path);
    listener l = db.listen("c");
    consumer c(db, "t", "n");
    io.run();
    EXPECT_TRUE(io.stopped());
    bool ended = false;
    l.async_receive({.wait = 20ms}, [&](error_code const& ec, notification const&) {
        EXPECT_EQ(ec, errc::timed_out);
        ended = true;
    });
    io.restart();
    io.run_for(patience);
    EXPECT_TRUE(ended);
    EXPECT_TRUE(io.stopped());
}

/// The safety poll would hide a missed wake: with this interval it comes too late for any test.
constexpr open_options events_only{.poll_interval = 1h};

TEST_F(channels_waits, a_commit_at_any_point_between_the_first_read_and_the_sleep_is_not_missed) {
    database db(io, path, events_only);
    listener l = db.listen("c");
    raw_db foreign(path);
    foreign.execute("PRAGMA synchronous=OFF");
    std::atomic<int> asked{0};
    std::atomic<bool> stop{false};
    constexpr int rounds = 1000;
    // Commits each at its own small distance from the start of the wait.
    std::thread writer([&] {
        for (int i = 1; i <= rounds; ++i) {
            while (asked.load() < i)
                if (stop) return;
            for (int spin = 0; spin < (i * 37) % 400; ++spin)
                std::atomic_signal_fence(std::memory_order_seq_cst);
            foreign.execute(insert_one);
        }
    });
    run(
        [&]() -> awaitable<void> {
            for (int i = 1; i <= rounds; ++i) {
                asked = i;
                auto const [ec, n] = co_await l.async_receive({.wait = scaled(5s)}, tuple);
                if (ec) {
                    ADD_FAILURE() << "round " << i << ": " << ec.message();
                    break;
                }
            }
        },
        2 * patience);
    stop = true;
    writer.join();
}

TEST_F(channels_waits, a_commit_in_each_step_of_starting_a_wait_is_not_missed) {
    database db(io, path, events_only);
    listener l = db.listen("c");
    raw_db foreign(path);
    foreign.execute("PRAGMA synchronous=OFF");
    // `steps` handlers of the context run between the initiation and the commit.
    for (int steps = 0; steps < 8; ++steps) {
        for (int round = 0; round < 20; ++round) {
            bool received = false;
            l.async_receive({.wait = scaled(5s)}, [&](error_code const& ec, notification const&) {
                EXPECT_FALSE(ec) << "steps " << steps << ": " << ec.message();
                received = true;
            });
            io.restart();
            for (int i = 0; i < steps; ++i) io.poll_one();
            foreign.execute(insert_one);
            io.run_for(patience);
            ASSERT_TRUE(received);
        }
    }
}

TEST_F(channels_waits, without_events_of_the_system_the_poll_delivers_within_its_interval) {
    run([&]() -> awaitable<void> {
        open_options const poll{.wake = wake_source::poll, .poll_interval = 20ms};
        database db(io, path, poll);
        listener l = db.listen("c");
        raw_db foreign(path);
        for (int i = 0; i < 20; ++i) {
            // Not the look that starting a wait makes: the commit comes while it sleeps.
            asio::steady_timer timer(io, 5ms);
            stopwatch watch;
            timer.async_wait([&](error_code const&) {
                foreign.execute(insert_one);
                watch = stopwatch();
            });
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            EXPECT_FALSE(ec);
            EXPECT_LT(watch.elapsed(), scaled(500ms));
        }
        EXPECT_EQ(db.stats().file_events, 0U);
    });
}

TEST_F(channels_waits, thousands_of_waits_that_end_leave_no_thread_and_no_descriptor) {
    database db(io, path);
    listener l = db.listen("c");
    auto const waits = [&](int count) {
        run([&, count]() -> awaitable<void> {
            for (int i = 0; i < count; ++i) {
                auto const [ec, n] = co_await l.async_receive({.wait = 1ms}, tuple);
                EXPECT_EQ(ec, errc::timed_out);
                asio::cancellation_signal signal;
                asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
                auto const [cancelled, m] = co_await l.async_receive(tuple_with(signal));
                EXPECT_EQ(cancelled, asio::error::operation_aborted);
            }
        });
    };
    waits(10);
    int const threads = running_threads();
    int const descriptors = open_descriptors();
    waits(2000);
    // The rest of the fixed pool may have started meanwhile.
    EXPECT_LE(running_threads(), threads + 4);
    EXPECT_LE(open_descriptors(), descriptors);
}

TEST_F(channels_waits, ten_thousand_outstanding_waits_all_end_with_the_cancellation) {
    database db(io, path);
    listener l = db.listen("c");
    int ended = 0;
    constexpr int count = 10000;
    for (int i = 0; i < count; ++i)
        l.async_receive({.wait = 1h}, [&](error_code const& ec, notification const&) {
            EXPECT_EQ(ec, asio::error::operation_aborted);
            ++ended;
        });
    l.cancel();
    io.run_for(patience);
    EXPECT_EQ(ended, count);
    EXPECT_TRUE(io.stopped());
}

}  // namespace
}  // namespace gander::test

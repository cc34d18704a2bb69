// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Per-operation cancellation at every moment of an operation's life.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gander::test {
namespace {

using asio::cancellation_signal;
using asio::cancellation_type;

constexpr cancellation_type every_type[] = {cancellation_type::total, cancellation_type::partial,
                                            cancellation_type::terminal, cancellation_type::all};

class cancellation : public io_test {
protected:
    void drive() {
        io.restart();
        io.run_for(patience);
        EXPECT_TRUE(io.stopped());
    }
};

/// Ends once, with this.
struct outcome {
    int calls = 0;
    error_code ec;

    auto handler(cancellation_signal& signal) {
        return asio::bind_cancellation_slot(signal.slot(), [this](error_code e, auto const&...) {
            ++calls;
            ec = e;
        });
    }
};

TEST_F(cancellation, a_waiting_claim_ends_aborted_and_claims_nothing) {
    database db(io, path);
    queue q(db, "q");
    for (auto type : every_type) {
        cancellation_signal signal;
        outcome end;
        q.async_claim("w", end.handler(signal));
        io.restart();
        io.poll();
        signal.emit(type);
        EXPECT_EQ(end.calls, 0) << "the handler ran inside emit()";
        drive();
        EXPECT_EQ(end.calls, 1);
        EXPECT_EQ(end.ec, asio::error::operation_aborted);
    }
    run([&]() -> awaitable<void> {
        co_await q.async_enqueue(payload());
        job const j = co_await q.async_claim("w", {.wait = 0s});
        EXPECT_EQ(j.attempt(), 1);
    });
}

TEST_F(cancellation, every_waiting_operation_ends_aborted) {
    database db(io, path);
    queue q(db, "q");
    consumer c(db, "t", "c");
    listener l = db.listen("c");
    for (auto type : every_type) {
        std::vector<cancellation_signal> signals(6);
        std::vector<outcome> ends(6);
        q.async_claim("w", ends[0].handler(signals[0]));
        q.async_claim_many("w", {.max = 3}, ends[1].handler(signals[1]));
        q.async_wait(ends[2].handler(signals[2]));
        c.async_read(ends[3].handler(signals[3]));
        l.async_receive(ends[4].handler(signals[4]));
        l.async_wait(ends[5].handler(signals[5]));
        io.restart();
        io.poll();
        for (auto& s : signals) s.emit(type);
        drive();
        for (std::size_t i = 0; i < ends.size(); ++i) {
            EXPECT_EQ(ends[i].calls, 1) << i;
            EXPECT_EQ(ends[i].ec, asio::error::operation_aborted) << i;
        }
    }
}

TEST_F(cancellation, an_unknown_type_is_ignored) {
    database db(io, path);
    queue q(db, "q");
    cancellation_signal signal;
    outcome end;
    q.async_claim("w", {.wait = 50ms}, end.handler(signal));
    signal.emit(cancellation_type::none);
    drive();
    EXPECT_EQ(end.ec, errc::timed_out);
}

TEST_F(cancellation, a_queued_write_is_taken_out_without_effect) {
    database db(io, path);
    queue q(db, "q");
    run([&]() -> awaitable<void> { co_await q.async_enqueue(payload()); });
    for (auto type : every_type) {
        raw_db lock(path);
        lock.execute("BEGIN IMMEDIATE");  // so that it stays queued
        cancellation_signal signal;
        outcome end;
        q.async_enqueue(payload(), end.handler(signal));
        outcome neighbour;
        cancellation_signal unused;
        q.async_enqueue(payload(), neighbour.handler(unused));
        ASSERT_TRUE(poll_until([&] { return db.stats().busy_retries > 0; }));
        bool parked = poll_until([&] {
            signal.emit(type);
            io.restart();
            io.poll();
            return end.calls == 1;
        });
        EXPECT_TRUE(parked);
        EXPECT_EQ(end.ec, asio::error::operation_aborted);
        lock.execute("COMMIT");
        drive();
        EXPECT_EQ(end.calls, 1);
        EXPECT_EQ(neighbour.calls, 1);
        EXPECT_FALSE(neighbour.ec);
    }
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 5);
}

TEST_F(cancellation, a_queued_transaction_is_taken_out_without_running) {
    database db(io, path);
    std::promise<void> release;
    auto const released = release.get_future().share();
    std::atomic<bool> entered{false};
    bool ran = false;
    auto first = [&](transaction&) {
        entered = true;
        released.wait();
    };
    auto second = [&](transaction&) { ran = true; };
    outcome end;
    cancellation_signal signal;
    int done = 0;
    db.async_transact(first, [&](std::exception_ptr e) { done += e ? 0 : 1; });
    db.async_transact(second,
                      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                          ++end.calls;
                          end.ec = code_of(e);
                      }));
    ASSERT_TRUE(poll_until([&] { return entered.load(); }));
    signal.emit(cancellation_type::total);
    release.set_value();
    drive();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(end.calls, 1);
    EXPECT_EQ(end.ec, asio::error::operation_aborted);
    EXPECT_FALSE(ran);
}

TEST_F(cancellation, a_running_transaction_reports_its_true_outcome) {
    database db(io, path);
    raw_db(path).execute("CREATE TABLE mine(a)");
    std::promise<void> release;
    auto const released = release.get_future().share();
    std::atomic<bool> entered{false};
    auto body = [&](transaction& tx) {
        entered = true;
        released.wait();
        tx.execute("INSERT INTO mine VALUES(1)");
    };
    outcome end;
    cancellation_signal signal;
    db.async_transact(body, asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) {
                          ++end.calls;
                          end.ec = code_of(e);
                      }));
    ASSERT_TRUE(poll_until([&] { return entered.load(); }));
    signal.emit(cancellation_type::terminal);
    release.set_value();
    drive();
    EXPECT_EQ(end.calls, 1);
    EXPECT_FALSE(end.ec);
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM mine"), 1);
}

TEST_F(cancellation, after_completion_and_before_the_handler_it_changes_nothing) {
    database db(io, path);
    queue q(db, "q");
    cancellation_signal signal;
    outcome end;
    q.async_enqueue(payload(), end.handler(signal));
    ASSERT_TRUE(
        poll_until([&] { return raw_db(path).number("SELECT count(*) FROM _honker_live") == 1; }));
    signal.emit(cancellation_type::terminal);
    drive();
    EXPECT_EQ(end.calls, 1);
    EXPECT_FALSE(end.ec);
    signal.emit(cancellation_type::terminal);
    drive();
    EXPECT_EQ(end.calls, 1);
}

TEST_F(cancellation, a_claim_that_committed_is_handed_over) {
    database db(io, path);
    queue q(db, "q");
    run([&]() -> awaitable<void> { co_await q.async_enqueue(payload()); });
    cancellation_signal signal;
    std::optional<job> got;
    q.async_claim("w", asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, job j) {
                      EXPECT_FALSE(ec);
                      got = j;
                  }));
    ASSERT_TRUE(poll_until([&] {
        return raw_db(path).number("SELECT count(*) FROM _honker_live WHERE state='processing'") ==
               1;
    }));
    signal.emit(cancellation_type::total);
    drive();
    ASSERT_TRUE(got);
    EXPECT_NE(got->id(), 0);
}

TEST_F(cancellation, a_signal_that_dies_first_is_no_cancellation) {
    database db(io, path);
    queue q(db, "q");
    outcome end;
    {
        auto signal = std::make_unique<cancellation_signal>();
        q.async_claim("w", {.wait = 50ms}, end.handler(*signal));
        io.poll();
    }
    drive();
    EXPECT_EQ(end.ec, errc::timed_out);
}

TEST_F(cancellation, a_signal_may_be_used_again) {
    database db(io, path);
    queue q(db, "q");
    cancellation_signal signal;
    for (int i = 0; i < 20; ++i) {
        outcome end;
        q.async_claim("w", end.handler(signal));
        signal.emit(cancellation_type::total);
        drive();
        EXPECT_EQ(end.ec, asio::error::operation_aborted);
    }
}

TEST_F(cancellation, an_operation_on_a_cancelled_coroutine_is_cancelled_at_its_start) {
    using namespace asio::experimental::awaitable_operators;
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        asio::steady_timer timer(io, 30ms);
        auto const result =
            co_await (q.async_wait(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
        EXPECT_EQ(result.index(), 1U);
        co_await q.async_enqueue(payload());
        asio::steady_timer long_timer(io, 1h);
        auto const second = co_await (q.async_wait(asio::use_awaitable) ||
                                      long_timer.async_wait(asio::use_awaitable));
        EXPECT_EQ(second.index(), 0U);
        job const j = co_await q.async_claim("w", {.wait = 0s});
        EXPECT_EQ(j.attempt(), 1);
    });
}

TEST_F(cancellation, an_object_may_be_destroyed_in_its_own_handler_after_a_cancel) {
    database db(io, path);
    auto q = std::make_unique<queue>(db, "q");
    bool called = false;
    q->async_claim("w", [&](error_code ec, job) {
        EXPECT_EQ(ec, asio::error::operation_aborted);
        q.reset();
        called = true;
    });
    q->cancel();
    drive();
    EXPECT_TRUE(called);
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// How a wait for a job ends.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace gander::test {
namespace {

class claims_waits : public io_test {};

TEST_F(claims_waits, without_waiting_nothing_is_timed_out_at_once) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        stopwatch const watch;
        auto const [one, j] = co_await q.async_claim("w", {.wait = 0s}, tuple);
        EXPECT_EQ(one, errc::timed_out);
        auto const [many, jobs] = co_await q.async_claim_many("w", {.max = 3, .wait = 0s}, tuple);
        EXPECT_EQ(many, errc::timed_out);
        auto const [ready] = co_await q.async_wait({.wait = 0s}, tuple);
        EXPECT_EQ(ready, errc::timed_out);
        EXPECT_EQ(ready, condition::try_again);
        EXPECT_LT(watch.elapsed(), scaled(1s));
    });
}

TEST_F(claims_waits, a_wait_ends_by_its_own_deadline) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        stopwatch const watch;
        auto const [ec, j] = co_await q.async_claim("w", {.wait = 200ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(j.id(), 0);
        EXPECT_GE(watch.elapsed(), 199ms);
        EXPECT_LT(watch.elapsed(), 200ms + scaled(1s));
    });
}

TEST_F(claims_waits, a_wait_ends_by_a_job_of_this_process_or_another) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        spawn_on(io, [&]() -> awaitable<void> { co_await q.async_enqueue(array(1)); });
        job const ours = co_await q.async_claim("w");
        EXPECT_EQ(ours.payload(), "[1]");
        asio::post(io, [&] {
            raw_db(path).execute("INSERT INTO _honker_live(queue, payload) VALUES('q','[2]')");
        });
        job const theirs = co_await q.async_claim("w");
        EXPECT_EQ(theirs.payload(), "[2]");
    });
}

TEST_F(claims_waits, waiting_claims_are_served_in_order) {
    std::vector<int> order;
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        for (int i = 0; i < 8; ++i)
            q.async_claim("w", [&order, i](error_code ec, job) {
                EXPECT_FALSE(ec);
                order.push_back(i);
            });
        for (int i = 0; i < 4; ++i) co_await q.async_enqueue(payload());
        std::vector<payload> rest(4);
        co_await q.async_enqueue_many(std::move(rest));
    });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(claims_waits, jobs_committed_together_wake_all_who_wait) {
    int woken = 0;
    run([&]() -> awaitable<void> {
        database db(io, path);
        std::vector<database> handles;
        for (int i = 0; i < 4; ++i) {
            handles.emplace_back(io, path);  // each a file of its own, as other processes are
            queue q(handles.back(), "q");
            for (int n = 0; n < 2; ++n)
                q.async_claim("w", [&](error_code ec, job) { woken += ec ? 0 : 1; });
        }
        queue q(db, "q");
        std::vector<payload> bodies(8);
        co_await q.async_enqueue_many(std::move(bodies));
    });
    EXPECT_EQ(woken, 8);
}

TEST_F(claims_waits, readiness_claims_nothing) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        spawn_on(io, [&]() -> awaitable<void> { co_await q.async_enqueue(payload()); });
        co_await q.async_wait();
        co_await q.async_wait();
        queue_sizes const s = co_await q.async_sizes();
        EXPECT_EQ(s.ready, 1);
        job const j = co_await q.async_claim("w", {.wait = 0s});
        EXPECT_EQ(j.attempt(), 1);
    });
}

TEST_F(claims_waits, queue_cancel_ends_its_own_waits_only) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue a(db, "q");
        queue copy = a;
        queue b(db, "q");
        int aborted = 0;
        int claimed = 0;
        a.async_claim("w", [&](error_code ec, job) {
            EXPECT_EQ(ec, asio::error::operation_aborted);
            ++aborted;
        });
        copy.async_wait([&](error_code ec) {
            EXPECT_EQ(ec, asio::error::operation_aborted);
            ++aborted;
        });
        b.async_claim("w", [&](error_code ec, job) {
            EXPECT_FALSE(ec);
            ++claimed;
        });
        copy.cancel();
        co_await a.async_enqueue(payload());
        while (aborted < 2 || claimed < 1) co_await pause(1ms);
        a.cancel();
    });
}

TEST_F(claims_waits, a_claim_of_one_queue_is_not_ended_by_anothers_job) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        queue other(db, "other");
        spawn_on(io, [&]() -> awaitable<void> { co_await other.async_enqueue(payload()); });
        auto const [ec, j] = co_await q.async_claim("w", {.wait = 100ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        co_await other.async_claim("w", {.wait = 0s});
    });
}

TEST_F(claims_waits, claims_wait_out_a_lock_that_somebody_holds) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        raw_db other(path);
        other.execute("BEGIN IMMEDIATE");
        asio::steady_timer later(io, 200ms);
        later.async_wait([&](error_code) { other.execute("COMMIT"); });
        stopwatch const watch;
        job const j = co_await q.async_claim("w");
        EXPECT_GE(watch.elapsed(), 150ms);
        EXPECT_NE(j.id(), 0);
        EXPECT_GT(db.stats().busy_retries, 0U);
    });
}

TEST_F(claims_waits, an_idle_claim_makes_no_commit_and_takes_no_lock) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        raw_db other(path);
        other.execute("BEGIN IMMEDIATE");  // a claim that wanted the lock would report busy
        auto const before = db.stats();
        auto const [ec, j] = co_await q.async_claim("w", {.wait = 200ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(db.stats().commits, before.commits);
        EXPECT_EQ(db.stats().busy_retries, before.busy_retries);
        other.execute("ROLLBACK");
    });
}

}  // namespace
}  // namespace gander::test

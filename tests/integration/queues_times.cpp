// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Delays, due times, leases and expiry by the real clock: a waiting claim wakes by itself.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace gander::test {
namespace {

using wall = std::chrono::system_clock;

class queues_times : public io_test {};

TEST_F(queues_times, a_delayed_job_wakes_a_waiting_claim_at_its_second_without_any_commit) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        auto const before = wall::now();
        co_await q.async_enqueue(payload(), {.delay = 500ms});
        job const j = co_await q.async_claim("w");
        auto const waited = wall::now() - before;
        EXPECT_GE(waited, 500ms) << "early";
        EXPECT_LT(waited, 1500ms + scaled(1s)) << "late";
        EXPECT_EQ(j.attempt(), 1);
    });
}

TEST_F(queues_times, a_run_at_wakes_a_waiting_claim_that_began_before_it_was_enqueued) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        auto const due = std::chrono::ceil<std::chrono::seconds>(wall::now()) + 1s;
        spawn_on(
            io, [&]() -> awaitable<void> { co_await q.async_enqueue(payload(), {.run_at = due}); });
        job const j = co_await q.async_claim("w");
        EXPECT_GE(wall::now(), due);
        EXPECT_LT(wall::now(), due + scaled(1s));
    });
}

TEST_F(queues_times, a_delayed_job_is_not_claimable_before_its_time) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload(), {.delay = 1h});
        auto const [ec, j] = co_await q.async_claim("w", {.wait = 0s}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        auto const [waited] = co_await q.async_wait({.wait = 10ms}, tuple);
        EXPECT_EQ(waited, errc::timed_out);
    });
}

TEST_F(queues_times, delay_wins_over_run_at) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload(), {.delay = 0s, .run_at = wall::now() + 1h});
        job const j = co_await q.async_claim("w", {.wait = 0s});
        EXPECT_NE(j.id(), 0);
    });
}

TEST_F(queues_times, an_ended_lease_wakes_a_waiting_claim_without_any_commit) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q", {.lease = 1s});
        co_await q.async_enqueue(payload());
        job first = co_await q.async_claim("w");
        job const second = co_await q.async_claim("w", {.lease = 1min});
        EXPECT_EQ(second.id(), first.id());
        EXPECT_EQ(second.attempt(), 2);
        EXPECT_GT(wall::now(),
                  wall::time_point(std::chrono::seconds(first.lease_expires_at())) + 999ms)
            << "before the lease had ended";
        auto const [ec] = co_await first.async_ack(tuple);
        EXPECT_EQ(ec, errc::lease_lost);
        co_await job(second).async_ack();
    });
}

TEST_F(queues_times, a_heartbeat_keeps_the_lease) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q", {.lease = 1s});
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        co_await j.async_heartbeat(1h);
        auto const [ec, stolen] = co_await q.async_claim("thief", {.wait = 2500ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        co_await j.async_ack();
    });
}

TEST_F(queues_times, a_retry_comes_back_after_its_delay) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        auto const before = wall::now();
        co_await j.async_retry("not yet", {.delay = 300ms});
        auto const [ec] = co_await j.async_ack(tuple);
        EXPECT_EQ(ec, errc::lease_lost);
        job const again = co_await q.async_claim("w");
        EXPECT_GE(wall::now() - before, 300ms);
        EXPECT_EQ(again.id(), j.id());
        EXPECT_EQ(again.attempt(), 2);
    });
}

TEST_F(queues_times, a_retry_without_delay_backs_off) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        auto const now =
            std::chrono::duration_cast<std::chrono::seconds>(wall::now().time_since_epoch())
                .count();
        co_await j.async_retry("later");
        std::int64_t const run_at = raw_db(path).number("SELECT run_at FROM _honker_live");
        EXPECT_GE(run_at, now + 1);
        EXPECT_LE(run_at, now + 4 + scaled(1s).count() / 1000) << "2 s and a fifth, rounded up";
    });
}

TEST_F(queues_times, a_retry_that_overflows_is_refused_and_changes_nothing) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        for (duration bad : {duration(-1s), duration(std::chrono::hours::max())}) {
            auto const [ec] = co_await j.async_retry("x", {.delay = bad}, tuple);
            EXPECT_EQ(ec, errc::out_of_range);
            auto const [beat] = co_await j.async_heartbeat(bad, tuple);
            EXPECT_EQ(beat, errc::out_of_range);
        }
        auto const [zero] = co_await j.async_heartbeat(0s, tuple);
        EXPECT_EQ(zero, errc::out_of_range);
        co_await j.async_ack();
    });
}

TEST_F(queues_times, an_expired_job_is_never_claimed) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        std::int64_t const at_once = co_await q.async_enqueue(payload(), {.expires = 0s});
        std::int64_t const good = co_await q.async_enqueue(payload(), {.expires = 1h});
        job const j = co_await q.async_claim("w", {.wait = 0s});
        EXPECT_EQ(j.id(), good);
        auto const [ec, none] = co_await q.async_claim("w", {.wait = 0s}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        raw_db raw(path);
        EXPECT_EQ(
            raw.text("SELECT last_error FROM _honker_dead WHERE id=" + std::to_string(at_once)),
            "expired");
    });
}

TEST_F(queues_times, a_very_long_wait_does_not_end_at_once) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        asio::steady_timer later(io, 100ms);
        later.async_wait([&](error_code) { q.cancel(); });
        auto const [ec, j] =
            co_await q.async_claim("w", {.wait = std::chrono::hours(24 * 365 * 290)}, tuple);
        EXPECT_EQ(ec, asio::error::operation_aborted) << "the sum with now overflowed";
    });
}

TEST_F(queues_times, a_due_time_near_the_end_of_time_keeps_nobody_busy) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        raw_db(path).execute(
            "INSERT INTO _honker_live(queue, payload, run_at) VALUES('q','1',9223372036854775807)");
        auto const before = db.stats();
        auto const [ec, j] = co_await q.async_claim("w", {.wait = 300ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_LE(db.stats().commits - before.commits, 2U);
    });
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Who holds a job: leases by the file's clock, which these tests set, and tokens.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"
#include "unit/sqlite/clock_vfs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gander::test {
namespace {

class claims : public io_test {
protected:
    claims() { clock_vfs::install(); }

    database open() { return database(io, path, {.vfs = clock_vfs::name}); }
    static void pass(std::chrono::seconds s) { clock_vfs::advance(s / 1ms); }

    /// The whole job table, to see that nothing changed.
    std::string rows() {
        raw_db raw(path);
        return raw.text(
                   "SELECT group_concat(id||state||ifnull(worker_id,'')||ifnull(claim_expires_at,"
                   "'')||attempts||run_at) FROM _honker_live") +
               "/" + raw.text("SELECT group_concat(id||last_error) FROM _honker_dead");
    }
};

TEST_F(claims, everything_after_the_lease_is_too_late_and_changes_nothing) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.lease = 10s});
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        pass(12s);
        std::string const before = rows();
        auto const [ack] = co_await j.async_ack(tuple);
        EXPECT_EQ(ack, errc::lease_lost);
        auto const [retry] = co_await j.async_retry("late", {.delay = 0s}, tuple);
        EXPECT_EQ(retry, errc::lease_lost);
        auto const [fail] = co_await j.async_fail("late", tuple);
        EXPECT_EQ(fail, errc::lease_lost);
        auto const [beat] = co_await j.async_heartbeat(1h, tuple);
        EXPECT_EQ(beat, errc::lease_lost);
        EXPECT_EQ(rows(), before);
    });
}

TEST_F(claims, a_late_ack_does_not_take_the_next_claim_of_the_same_worker) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.lease = 10s});
        co_await q.async_enqueue(payload());
        job first = co_await q.async_claim("w");
        pass(12s);
        job second = co_await q.async_claim("w");
        EXPECT_EQ(second.id(), first.id());
        EXPECT_NE(second.worker(), first.worker());
        std::string const before = rows();
        auto const [ack] = co_await first.async_ack(tuple);
        EXPECT_EQ(ack, errc::lease_lost);
        auto const [fail] = co_await first.async_fail("x", tuple);
        EXPECT_EQ(fail, errc::lease_lost);
        EXPECT_EQ(rows(), before);
        co_await second.async_ack();
        EXPECT_EQ(rows(), "/");
    });
}

TEST_F(claims, a_worker_that_crashes_every_time_ends_in_the_dead_letters) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.max_attempts = 3, .lease = 5s});
        co_await q.async_enqueue(payload());
        for (int attempt = 1; attempt <= 3; ++attempt) {
            job const j = co_await q.async_claim("w", {.wait = 0s});
            EXPECT_EQ(j.attempt(), attempt);
            pass(7s);
        }
        auto const [ec, none] = co_await q.async_claim("w", {.wait = 0s}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        auto const dead = co_await db.async_jobs("q", job_state::dead, 10);
        GANDER_REQUIRE(dead.size() == 1);
        EXPECT_EQ(dead[0].last_error, "max attempts exceeded");
        EXPECT_EQ(dead[0].attempts, 3);
    });
}

TEST_F(claims, the_last_attempts_failure_is_dead_with_its_own_error) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.max_attempts = 2});
        co_await q.async_enqueue(payload());
        job one = co_await q.async_claim("w");
        co_await one.async_retry("first", {.delay = 0s});
        job two = co_await q.async_claim("w", {.wait = 0s});
        co_await two.async_retry("second", {.delay = 0s});
        auto const dead = co_await db.async_jobs("q", job_state::dead, 10);
        GANDER_REQUIRE(dead.size() == 1);
        EXPECT_EQ(dead[0].last_error, "second");
    });
}

TEST_F(claims, an_error_text_is_stored_whatever_it_is) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        std::vector<std::string> const errors = {std::string("a\0b", 3), "\xff\xfe",
                                                 std::string(1 << 20, 'x'), ""};
        for (std::string const& error : errors) {
            co_await q.async_enqueue(payload());
            job j = co_await q.async_claim("w");
            auto const [ec] = co_await j.async_fail(error, tuple);
            EXPECT_FALSE(ec) << ec.message();
        }
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_dead WHERE typeof(last_error)="
                                      "'text' AND length(CAST(last_error AS BLOB))<20000"),
                  4);
    });
}

TEST_F(claims, a_held_handle_finishes_a_claim_made_elsewhere) {
    run([&]() -> awaitable<void> {
        database db = open();
        database elsewhere = open();
        queue q(db, "q");
        queue there(elsewhere, "q");
        for (int i = 0; i < 3; ++i) co_await q.async_enqueue(payload());
        job const a = co_await q.async_claim("w");
        job const b = co_await q.async_claim("w");
        job const c = co_await q.async_claim("w");
        co_await there.held(a.id(), a.worker()).async_ack();
        co_await elsewhere.held(b.id(), b.worker()).async_fail("there");
        co_await there.held(c.id(), c.worker()).async_heartbeat(1h);
        auto const [wrong] = co_await there.held(c.id(), "w").async_ack(tuple);
        EXPECT_EQ(wrong, errc::lease_lost) << "the name alone is no token";
        auto const [gone] = co_await job(a).async_ack(tuple);
        EXPECT_EQ(gone, errc::lease_lost);
        co_await job(c).async_ack();
    });
}

TEST_F(claims, keep_worker_name_stores_the_name_as_it_is) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.keep_worker_name = true});
        co_await q.async_enqueue(payload());
        job const j = co_await q.async_claim("alice");
        EXPECT_EQ(j.worker(), "alice");
        EXPECT_EQ(raw_db(path).text("SELECT worker_id FROM _honker_live"), "alice");
        co_await q.held(j.id(), "alice").async_ack();
    });
}

TEST_F(claims, a_worker_touches_no_other_queue) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q", {.lease = 1s});
        queue other(db, "other");
        co_await other.async_enqueue(payload(), {.expires = 0s});
        co_await q.async_enqueue(payload());
        co_await q.async_claim("w");
        pass(5s);
        co_await q.async_claim("w");
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live WHERE queue='other'"), 1);
    });
}

TEST_F(claims, what_honker_does_to_a_row_is_seen_at_once) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        std::int64_t const id = co_await q.async_enqueue(payload());
        raw_db honker(path);
        honker.execute(
            "UPDATE _honker_live SET state='processing', worker_id='h', "
            "claim_expires_at=unixepoch()+60, attempts=attempts+1 WHERE id=" +
            std::to_string(id));
        auto const [ec, none] = co_await q.async_claim("w", {.wait = 0s}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        honker.execute("DELETE FROM _honker_live WHERE worker_id='h'");
        honker.execute("INSERT INTO _honker_live(queue, payload) VALUES('q','\"from honker\"')");
        job j = co_await q.async_claim("w");
        EXPECT_EQ(j.payload(), "\"from honker\"");
        honker.execute("DELETE FROM _honker_live WHERE id=" + std::to_string(j.id()));
        auto const [lost] = co_await j.async_ack(tuple);
        EXPECT_EQ(lost, errc::lease_lost);
    });
}

TEST_F(claims, one_bad_row_does_not_stop_nine_good_ones) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        for (int i = 0; i < 9; ++i) co_await q.async_enqueue(payload());
        raw_db raw(path);
        raw.execute("INSERT INTO _honker_live(queue, payload, priority) VALUES('q',x'7b7d',9)");
        raw.execute(
            "INSERT INTO _honker_live(queue, payload, priority) VALUES('q',"
            "CAST(x'22ff22' AS TEXT),9)");
        raw.execute("INSERT INTO _honker_live(queue, payload, attempts) VALUES('q','1','x')");
        auto const jobs = co_await q.async_claim_many("w", {.max = 10});
        EXPECT_EQ(jobs.size(), 9U);
        for (job const& j : jobs) EXPECT_EQ(j.payload(), "null");
        EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_dead WHERE last_error<>''"), 3);
    });
}

TEST_F(claims, bad_rows_alone_do_not_wake_a_waiting_claim_again_and_again) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        raw_db raw(path);
        raw.execute("INSERT INTO _honker_live(queue, payload, priority) VALUES('q','1','high')");
        raw.execute("INSERT INTO _honker_live(queue, payload, priority) VALUES('q','1',1.5)");
        raw.execute("INSERT INTO _honker_live(queue, payload) VALUES('q',x'00')");
        auto const before = db.stats();
        auto const [ec, none] = co_await q.async_claim("w", {.wait = 300ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_LE(db.stats().commits - before.commits, 5U);
    });
}

}  // namespace
}  // namespace gander::test

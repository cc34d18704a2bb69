// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What goes into a queue comes out of it, in order, and what is wrong does not go in.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gander::test {
namespace {

class queues : public io_test {};

TEST_F(queues, a_job_is_claimed_as_it_was_enqueued) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q", {.max_attempts = 5, .priority = 7, .lease = 30s});
        std::int64_t const id =
            co_await q.async_enqueue(payload::raw(R"({ "a" : 1.0 })"), asio::deferred);
        job const j = co_await q.async_claim("w", asio::deferred);
        EXPECT_EQ(j.id(), id);
        EXPECT_EQ(j.queue(), "q");
        EXPECT_EQ(j.payload(), R"({ "a" : 1.0 })") << "not byte for byte";
        EXPECT_EQ(j.attempt(), 1);
        EXPECT_EQ(j.max_attempts(), 5);
        EXPECT_EQ(j.priority(), 7);
        EXPECT_TRUE(j.worker().starts_with("w"));
        EXPECT_GT(j.worker().size(), 8U) << "no random suffix";
        EXPECT_NEAR(static_cast<double>(j.lease_expires_at()),
                    static_cast<double>(j.created_at() + 30), 2.0);
    });
}

TEST_F(queues, order_is_priority_then_time_then_id) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        std::vector<std::int64_t> ids;
        for (std::int64_t priority : {0, 5, -1, 5, 0})
            ids.push_back(co_await q.async_enqueue(payload(), {.priority = priority}));
        auto const yesterday = std::chrono::system_clock::now() - 24h;
        ids.push_back(co_await q.async_enqueue(payload(), {.run_at = yesterday}));
        std::vector<std::int64_t> order;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            job const j = co_await q.async_claim("w");
            order.push_back(j.id());
        }
        std::vector<std::int64_t> const expected = {ids[1], ids[3], ids[5], ids[0], ids[4], ids[2]};
        EXPECT_EQ(order, expected);
    });
}

TEST_F(queues, equal_priority_is_first_in_first_out) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        std::vector<payload> bodies;
        for (int i = 0; i < 1000; ++i) bodies.push_back(payload::raw(std::to_string(i)));
        co_await q.async_enqueue_many(std::move(bodies));
        int next = 0;
        while (next < 1000) {
            auto const jobs = co_await q.async_claim_many("w", {.max = 90, .wait = 0s});
            for (job const& j : jobs) {
                GANDER_REQUIRE(j.payload() == std::to_string(next));
                ++next;
            }
        }
    });
}

TEST_F(queues, many_are_enqueued_with_consecutive_ids_in_one_commit) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        auto const before = db.stats().commits;
        std::vector<payload> bodies;
        for (int i = 0; i < 100; ++i) bodies.push_back(payload::raw(std::to_string(i)));
        auto const ids = co_await q.async_enqueue_many(std::move(bodies));
        EXPECT_EQ(db.stats().commits - before, 1U);
        GANDER_REQUIRE(ids.size() == 100);
        for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(ids[i], ids[0] + std::int64_t(i));
        auto const none = co_await q.async_enqueue_many(std::vector<payload>());
        EXPECT_TRUE(none.empty());
    });
}

TEST_F(queues, many_are_enqueued_or_none) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        raw_db(path).execute(
            "CREATE TRIGGER no_seventeen BEFORE INSERT ON _honker_live WHEN new.payload='17' "
            "BEGIN SELECT RAISE(ABORT, 'seventeen'); END");
        std::vector<payload> bodies;
        for (int i = 0; i < 40; ++i) bodies.push_back(payload::raw(std::to_string(i)));
        auto const [ec, ids] = co_await q.async_enqueue_many(std::move(bodies), tuple);
        EXPECT_EQ(ec.category(), sqlite_category());
        EXPECT_TRUE(ids.empty());
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 0);
        auto const [next, id] = co_await q.async_enqueue(payload(), tuple);
        EXPECT_FALSE(next) << "the queue does not go on after an error";
    });
}

TEST_F(queues, bad_numbers_are_refused_and_nothing_is_stored) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        std::vector<enqueue_options> const bad = {
            {.delay = -1ms},     {.delay = std::chrono::hours::max()},
            {.max_attempts = 0}, {.max_attempts = std::numeric_limits<std::int64_t>::min()},
            {.expires = -1s},    {.expires = std::chrono::seconds::max()}};
        for (auto const& options : bad) {
            auto const [ec, id] = co_await q.async_enqueue(payload(), options, tuple);
            EXPECT_EQ(ec, errc::out_of_range);
            std::vector<payload> bodies(2);
            auto const [many, ids] =
                co_await q.async_enqueue_many(std::move(bodies), options, tuple);
            EXPECT_EQ(many, errc::out_of_range);
            auto insert = [&](transaction& tx) { q.enqueue(tx, payload(), options); };
            auto const [tx] = co_await db.async_transact(insert, tuple);
            EXPECT_EQ(code_of(tx), errc::out_of_range);
        }
        std::vector<claim_options> const bad_claims = {{.max = 0},
                                                       {.lease = 0s},
                                                       {.lease = -5s},
                                                       {.lease = std::chrono::hours::max()},
                                                       {.wait = -1s}};
        for (auto const& options : bad_claims) {
            auto const [ec, jobs] = co_await q.async_claim_many("w", options, tuple);
            EXPECT_EQ(ec, errc::out_of_range);
        }
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 0);
        EXPECT_EQ(code_of([&] { queue(db, "q", {.max_attempts = 0}); }), errc::out_of_range);
        EXPECT_EQ(code_of([&] { queue(db, "q", {.lease = 0s}); }), errc::out_of_range);
    });
}

TEST_F(queues, a_time_before_1970_is_refused) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        enqueue_options options;
        options.run_at = std::chrono::system_clock::time_point(-1s);
        auto const [ec, id] = co_await q.async_enqueue(payload(), options, tuple);
        EXPECT_EQ(ec, errc::out_of_range);
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 0);
    });
}

TEST_F(queues, bad_names_are_refused) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        for (std::string const& bad :
             {std::string(), std::string("a\0b", 3), std::string("\xff")}) {
            EXPECT_EQ(code_of([&] { queue(db, bad); }), errc::invalid_name);
            queue q(db, "q");
            auto const [ec, j] = co_await q.async_claim(bad, tuple);
            EXPECT_EQ(ec, errc::invalid_name);
        }
        queue odd(db, "it's \"odd\" \\ \xf0\x9f\x98\x80");
        co_await odd.async_enqueue(payload());
        job const j = co_await odd.async_claim("o'w\"ner");
        EXPECT_EQ(j.queue(), "it's \"odd\" \\ \xf0\x9f\x98\x80");
        co_await job(j).async_ack();
    });
}

TEST_F(queues, an_empty_handle_says_closed) {
    run([&]() -> awaitable<void> {
        queue q;
        auto const [enqueue_ec, id] = co_await q.async_enqueue(payload(), tuple);
        EXPECT_EQ(enqueue_ec, errc::closed);
        auto const [claim_ec, j] = co_await q.async_claim("w", tuple);
        EXPECT_EQ(claim_ec, errc::closed);
        auto const [many_ec, jobs] = co_await q.async_claim_many("w", {.max = 2}, tuple);
        EXPECT_EQ(many_ec, errc::closed);
        auto const [wait_ec] = co_await q.async_wait(tuple);
        EXPECT_EQ(wait_ec, errc::closed);
        auto const [cancel_ec, found] = co_await q.async_cancel(1, tuple);
        EXPECT_EQ(cancel_ec, errc::closed);
        auto const [sizes_ec, sizes] = co_await q.async_sizes(tuple);
        EXPECT_EQ(sizes_ec, errc::closed);
        auto const [ack_ec] = co_await job().async_ack(tuple);
        EXPECT_EQ(ack_ec, errc::closed);
        auto const [retry_ec] = co_await job().async_retry("e", tuple);
        EXPECT_EQ(retry_ec, errc::closed);
        auto const [beat_ec] = co_await job().async_heartbeat(1s, tuple);
        EXPECT_EQ(beat_ec, errc::closed);
        q.cancel();
        EXPECT_EQ(code_of([&] { q.name(); }), errc::closed);
        EXPECT_EQ(code_of([&] { q.held(1, "w"); }), errc::closed);
        database none;
        EXPECT_EQ(code_of([&] { queue(none, "q"); }), errc::closed);
    });
}

TEST_F(queues, sizes_and_lists_tell_the_states_apart) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        for (int i = 0; i < 4; ++i) co_await q.async_enqueue(payload());
        co_await q.async_enqueue(payload(), {.delay = 1h});
        job dead = co_await q.async_claim("w");
        job held = co_await q.async_claim("w");
        co_await dead.async_fail("reason");
        queue_sizes const s = co_await q.async_sizes();
        EXPECT_EQ(s.ready, 2);
        EXPECT_EQ(s.delayed, 1);
        EXPECT_EQ(s.processing, 1);
        EXPECT_EQ(s.dead, 1);
        auto const all = co_await db.async_jobs("", job_state::any, 100);
        EXPECT_EQ(all.size(), 5U);
        auto const buried = co_await db.async_jobs("q", job_state::dead, 100);
        GANDER_REQUIRE(buried.size() == 1);
        EXPECT_EQ(buried[0].last_error, "reason");
        EXPECT_EQ(buried[0].id, dead.id());
        auto const processing = co_await db.async_jobs("q", job_state::processing, 100);
        GANDER_REQUIRE(processing.size() == 1);
        EXPECT_EQ(processing[0].worker, held.worker());
        auto const named = co_await db.async_queues();
        GANDER_REQUIRE(named.size() == 1);
        EXPECT_EQ(named[0].name, "q");
        EXPECT_EQ(named[0].sizes.dead, 1);
    });
}

TEST_F(queues, cancel_takes_back_pending_and_processing_and_nothing_else) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        std::int64_t const pending = co_await q.async_enqueue(payload(), {.delay = 1h});
        EXPECT_TRUE(co_await q.async_cancel(pending));
        EXPECT_FALSE(co_await q.async_cancel(pending));
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        EXPECT_TRUE(co_await q.async_cancel(j.id()));
        auto const [ec] = co_await j.async_heartbeat(1min, tuple);
        EXPECT_EQ(ec, errc::lease_lost);
        EXPECT_EQ(ec, condition::gone);
    });
}

TEST_F(queues, ids_beyond_fifty_three_bits_work) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        raw_db(path).execute("DELETE FROM _honker_live");
        for (std::int64_t seed : {std::int64_t{1} << 31U, std::int64_t{1} << 53U}) {
            raw_db(path).execute("UPDATE sqlite_sequence SET seq=" + std::to_string(seed));
            std::int64_t const id = co_await q.async_enqueue(payload());
            EXPECT_EQ(id, seed + 1);
            job j = co_await q.async_claim("w");
            EXPECT_EQ(j.id(), id);
            co_await j.async_ack();
        }
    });
}

TEST_F(queues, used_up_ids_are_an_error_of_their_own) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        raw_db(path).execute("UPDATE sqlite_sequence SET seq=9223372036854775807");
        auto const [ec, id] = co_await q.async_enqueue(payload(), tuple);
        EXPECT_EQ(ec, errc::id_exhausted);
    });
}

}  // namespace
}  // namespace gander::test

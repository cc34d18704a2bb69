// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Group commit: many operations, few transactions, and nobody pays for a neighbour.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace gander::test {
namespace {

class transactions_groups : public io_test {};

TEST_F(transactions_groups, many_at_once_make_far_fewer_commits_than_operations) {
    std::set<std::int64_t> ids;
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        auto const before = db.stats();
        for (int i = 0; i < 256; ++i)
            q.async_enqueue(payload(), [&](error_code ec, std::int64_t id) {
                EXPECT_FALSE(ec);
                ids.insert(id);
            });
        while (ids.size() < 256) co_await pause(1ms);
        auto const after = db.stats();
        EXPECT_EQ(after.operations - before.operations, 256U);
        EXPECT_LT(after.commits - before.commits, 64U);
        EXPECT_EQ(after.queued_writes, 0U);
    });
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 257);
}

TEST_F(transactions_groups, one_at_a_time_commits_at_once) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        for (int i = 0; i < 10; ++i) {
            auto const before = db.stats().commits;
            co_await db.async_notify("c", payload());
            EXPECT_EQ(db.stats().commits, before + 1);
        }
    });
}

TEST_F(transactions_groups, a_group_is_bounded_by_operations_and_bytes) {
    run([&]() -> awaitable<void> {
        database db(io, path, {.max_group_operations = 4, .max_group_bytes = 100});
        int done = 0;
        auto const count = [&](error_code ec, std::int64_t) { done += ec ? 0 : 1; };
        raw_db lock(path);
        lock.execute("BEGIN IMMEDIATE");
        for (int i = 0; i < 16; ++i) db.async_notify("c", payload(), count);
        for (int i = 0; i < 4; ++i)
            db.async_notify("c", payload::text(std::string(1000, 'x')), count);
        lock.execute("COMMIT");
        while (done < 20) co_await pause(1ms);
        EXPECT_GE(db.stats().commits, 8U);
    });
}

TEST_F(transactions_groups, order_of_initiation_is_order_in_the_file) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        std::vector<std::int64_t> ids;
        for (int i = 0; i < 100; ++i)
            db.async_notify("c", payload(),
                            [&](error_code, std::int64_t id) { ids.push_back(id); });
        while (ids.size() < 100) co_await pause(1ms);
        for (std::size_t i = 0; i < ids.size(); ++i)
            EXPECT_EQ(ids[i], static_cast<std::int64_t>(i) + 1);
    });
}

TEST_F(transactions_groups, a_failing_operation_fails_alone) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        raw_db(path).execute(
            "CREATE TRIGGER picky BEFORE INSERT ON _honker_notifications WHEN new.payload='13' "
            "BEGIN SELECT RAISE(ABORT, 'thirteen'); END");
        int good = 0;
        int bad = 0;
        for (int i = 0; i < 30; ++i)
            db.async_notify("c", payload::raw(std::to_string(i)),
                            [&, i](error_code ec, std::int64_t) {
                                ++(ec ? bad : good);
                                if (ec) {
                                    EXPECT_EQ(i, 13);
                                    EXPECT_EQ(ec.value(), SQLITE_CONSTRAINT_TRIGGER);
                                }
                            });
        while (good + bad < 30) co_await pause(1ms);
        EXPECT_EQ(bad, 1);
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_notifications"), 29);
    });
}

TEST_F(transactions_groups, a_deferred_constraint_that_fails_at_commit_fails_its_own_operation) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        raw_db raw(path);
        raw.execute("CREATE TABLE known(id INTEGER PRIMARY KEY)");
        raw.execute(
            "CREATE TABLE seen(payload REFERENCES known(id) DEFERRABLE INITIALLY DEFERRED)");
        raw.execute("INSERT INTO known SELECT value FROM json_each('[0,1,2,3,4,6,7,8,9]')");
        raw.execute(
            "CREATE TRIGGER note AFTER INSERT ON _honker_notifications BEGIN "
            "INSERT INTO seen VALUES(CAST(new.payload AS INTEGER)); END");
        int good = 0;
        int bad = 0;
        for (int i = 0; i < 10; ++i)
            db.async_notify("c", payload::raw(std::to_string(i)),
                            [&, i](error_code ec, std::int64_t) {
                                ++(ec ? bad : good);
                                EXPECT_EQ(ec.failed(), i == 5) << i << ' ' << ec.message();
                                if (ec) {
                                    EXPECT_EQ(ec.value(), SQLITE_CONSTRAINT_FOREIGNKEY);
                                }
                            });
        while (good + bad < 10) co_await pause(1ms);
        EXPECT_EQ(good, 9);
        EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_notifications"), 9);
        auto bad_alone = [](transaction& tx) { tx.execute("INSERT INTO seen VALUES(5)"); };
        auto const [error] = co_await db.async_transact(bad_alone, tuple);
        EXPECT_EQ(code_of(error).value(), SQLITE_CONSTRAINT_FOREIGNKEY);
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("1"), tuple);
        EXPECT_FALSE(ec);
    });
}

TEST_F(transactions_groups, transactions_and_operations_mix_without_loss) {
    asio::thread_pool pool(2);
    database db(pool, path);
    queue q(db, "q");
    raw_db(path).execute("CREATE TABLE mine(a)");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 25; ++i) {
                if (t % 2 == 0) {
                    q.async_enqueue(payload(), asio::use_future).get();
                } else {
                    auto both = [&](transaction& tx) {
                        tx.execute("INSERT INTO mine VALUES(1)");
                        q.enqueue(tx, payload());
                    };
                    db.async_transact(both, asio::use_future).get();
                }
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 100);
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM mine"), 50);
}

TEST_F(transactions_groups, several_contexts_on_one_file_see_each_other) {
    asio::io_context second;
    database here(io, path);
    database there(second, path);
    queue q(here, "q");
    queue p(there, "q");
    std::thread other([&] {
        run_on(second, [&]() -> awaitable<void> {
            for (int i = 0; i < 20; ++i) {
                job j = co_await p.async_claim("there");
                co_await j.async_ack();
                co_await there.async_notify("done", payload::raw(std::to_string(i)));
            }
        });
    });
    run([&]() -> awaitable<void> {
        listener done = here.listen("done");
        for (int i = 0; i < 20; ++i) {
            co_await q.async_enqueue(payload());
            notification const n = co_await done.async_receive();
            EXPECT_EQ(n.payload(), std::to_string(i));
        }
    });
    other.join();
}

TEST_F(transactions_groups, a_lock_held_beyond_the_deadline_is_busy_and_can_be_tried_again) {
    run([&]() -> awaitable<void> {
        database db(io, path, {.busy_deadline = 100ms});
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        job j = co_await q.async_claim("w");
        raw_db lock(path);
        lock.execute("BEGIN IMMEDIATE");
        stopwatch const watch;
        auto const [ack] = co_await j.async_ack(tuple);
        EXPECT_EQ(ack, errc::busy);
        EXPECT_EQ(ack, condition::try_again);
        EXPECT_GE(watch.elapsed(), 99ms);
        auto insert = [&](transaction& tx) { q.enqueue(tx, payload()); };
        auto const [error] = co_await db.async_transact(insert, tuple);
        EXPECT_EQ(code_of(error), errc::busy);
        auto const [beat] = co_await j.async_heartbeat(1min, tuple);
        EXPECT_EQ(beat, errc::busy);
        lock.execute("COMMIT");
        auto const [again] = co_await j.async_heartbeat(1min, tuple);
        EXPECT_FALSE(again) << "a failed heartbeat spoils the next";
        co_await j.async_ack();
    });
}

}  // namespace
}  // namespace gander::test

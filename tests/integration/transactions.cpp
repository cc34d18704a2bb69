// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The user's own SQL and gander's writes in one commit.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gander::test {
namespace {

class transactions : public io_test {
protected:
    std::int64_t number(std::string const& sql) { return raw_db(path).number(sql); }

    /// Rows in the user's table, events, jobs and notifications, as one number's digits.
    std::int64_t everything() {
        return number(
            "SELECT (SELECT count(*) FROM mine)*1000 + (SELECT count(*) FROM _honker_stream)*100 + "
            "(SELECT count(*) FROM _honker_live)*10 + (SELECT count(*) FROM "
            "_honker_notifications)");
    }

    database open() {
        database db(io, path);
        raw_db(path).execute("CREATE TABLE IF NOT EXISTS mine(a UNIQUE)");
        return db;
    }
};

struct my_error : std::runtime_error {
    my_error(std::string const& text, int n) : runtime_error(text), number(n) {}
    int number;
};

TEST_F(transactions, a_row_an_event_a_job_and_a_notification_are_one_commit) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        auto const before = db.stats().commits;
        std::int64_t job_id = 0;
        auto all = [&](transaction& tx) {
            EXPECT_EQ(tx.execute("INSERT INTO mine VALUES(?)", 42), 1);
            publish(tx, "t", array(1), "key");
            job_id = q.enqueue(tx, array(2));
            notify(tx, "c", array(3));
            EXPECT_EQ(everything(), 0) << "seen before its commit";
        };
        co_await db.async_transact(all);
        EXPECT_EQ(everything(), 1111);
        EXPECT_EQ(db.stats().commits - before, 1U);
        EXPECT_EQ(number("SELECT id FROM _honker_live"), job_id);
    });
}

TEST_F(transactions, a_throw_rolls_all_back_and_keeps_its_type) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        auto all = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            publish(tx, "t", array(1));
            q.enqueue(tx, array(2));
            notify(tx, "c", array(3));
            throw my_error("no", 7);
        };
        auto const [error] = co_await db.async_transact(all, tuple);
        EXPECT_EQ(everything(), 0);
        GANDER_REQUIRE(error != nullptr);
        try {
            std::rethrow_exception(error);
        } catch (my_error const& e) {
            EXPECT_EQ(e.number, 7);
        }
        auto const [ec, id] = co_await db.async_notify("c", payload(), tuple);
        EXPECT_FALSE(ec) << "the writer does not go on";
    });
}

TEST_F(transactions, a_result_comes_back) {
    run([&]() -> awaitable<void> {
        database db = open();
        auto insert = [](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(5)");
            return tx.last_insert_rowid();
        };
        std::int64_t const id = co_await db.async_transact(insert);
        EXPECT_EQ(id, 1);
        auto text = [](transaction& tx) {
            auto row = tx.query("SELECT 'a' || a FROM mine");
            return row.step() ? row.get<std::string>(0) : std::string();
        };
        std::string const value = co_await db.async_transact(text);
        EXPECT_EQ(value, "a5");
        auto [error, none] = co_await db.async_transact(
            [](transaction&) -> int { throw std::logic_error("x"); }, tuple);
        EXPECT_TRUE(error);
        EXPECT_EQ(none, 0);
    });
}

TEST_F(transactions, a_failing_statement_dooms_even_if_its_exception_is_caught) {
    run([&]() -> awaitable<void> {
        database db = open();
        auto caught = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            try {
                tx.execute("INSERT INTO mine VALUES(1)");
            } catch (system_error const& e) {
                EXPECT_EQ(e.code().value(), SQLITE_CONSTRAINT_UNIQUE);
            }
        };
        auto const [error] = co_await db.async_transact(caught, tuple);
        EXPECT_EQ(code_of(error), errc::transaction_doomed);
        EXPECT_EQ(everything(), 0);
        auto syntax = [&](transaction& tx) {
            try {
                tx.execute("INSERT INTO nonsense");
            } catch (system_error const&) {
            }
        };
        auto const [unprepared] = co_await db.async_transact(syntax, tuple);
        EXPECT_EQ(code_of(unprepared), errc::transaction_doomed);
    });
}

TEST_F(transactions, what_fails_in_a_savepoint_is_undone_alone) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        auto work = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            try {
                tx.savepoint([&] {
                    notify(tx, "c", array());
                    tx.execute("INSERT INTO mine VALUES(1)");
                });
                ADD_FAILURE() << "the exception does not go on";
            } catch (system_error const&) {
            }
            tx.savepoint([&] { q.enqueue(tx, payload()); });
        };
        co_await db.async_transact(work);
        EXPECT_EQ(everything(), 1010);
    });
}

TEST_F(transactions, statements_that_would_end_or_change_the_transaction_are_refused) {
    run([&]() -> awaitable<void> {
        database db = open();
        for (char const* sql :
             {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT x", "RELEASE x", "ROLLBACK TO x",
              "ATTACH ':memory:' AS other", "DETACH other", "PRAGMA journal_mode=DELETE",
              "PRAGMA synchronous=OFF", "PRAGMA wal_checkpoint(TRUNCATE)",
              "PRAGMA locking_mode=EXCLUSIVE", "VACUUM"}) {
            auto refused = [sql](transaction& tx) {
                tx.execute("INSERT INTO mine VALUES(1)");
                tx.execute(sql);
            };
            auto const [error] = co_await db.async_transact(refused, tuple);
            if (std::string(sql) == "VACUUM")
                EXPECT_TRUE(error) << sql;
            else
                EXPECT_EQ(code_of(error), errc::statement_not_allowed) << sql;
            EXPECT_EQ(everything(), 0) << sql;
        }
        auto allowed = [](transaction& tx) {
            tx.execute("CREATE TABLE another(a)");
            auto row = tx.query("PRAGMA table_info(another)");
            return row.step();
        };
        EXPECT_TRUE(co_await db.async_transact(allowed));
    });
}

TEST_F(transactions, waiting_inside_for_the_same_database_would_deadlock) {
    asio::thread_pool pool(1);
    database db(pool, path);
    queue q(db, "q");
    raw_db(path).execute("CREATE TABLE mine(a)");
    auto inside = [&](transaction& tx) {
        tx.execute("INSERT INTO mine VALUES(1)");
        EXPECT_EQ(code_of([&] { db.async_notify("c", payload(), asio::use_future).get(); }),
                  errc::would_deadlock);
        EXPECT_EQ(code_of([&] { q.async_enqueue(payload(), asio::use_future).get(); }),
                  errc::would_deadlock);
        EXPECT_EQ(code_of([&] { q.async_claim("w", asio::use_future).get(); }),
                  errc::would_deadlock);
        EXPECT_EQ(code_of([&] { db.async_transact([](transaction&) {}, asio::use_future).get(); }),
                  errc::would_deadlock);
    };
    db.async_transact(inside, asio::use_future).get();
    EXPECT_EQ(number("SELECT count(*) FROM mine"), 1);
}

TEST_F(transactions, the_callable_runs_on_a_thread_of_its_own) {
    run([&]() -> awaitable<void> {
        database db = open();
        auto const io_thread = std::this_thread::get_id();
        auto const where = [](transaction&) { return std::this_thread::get_id(); };
        std::thread::id const there = co_await db.async_transact(where);
        EXPECT_NE(there, io_thread);
        EXPECT_EQ(std::this_thread::get_id(), io_thread) << "the handler is back where it belongs";
    });
}

TEST_F(transactions, a_job_and_an_offset_end_with_the_users_rows_or_not_at_all) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        consumer c(db, "t", "c");
        co_await db.async_publish("t", array(1));
        co_await q.async_enqueue(array(2));
        batch const read = co_await c.async_read();
        job const j = co_await q.async_claim("w");
        auto no = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            j.ack(tx);
            c.commit(tx, read);
            throw my_error("no", 1);
        };
        auto const [error] = co_await db.async_transact(no, tuple);
        EXPECT_TRUE(error);
        EXPECT_EQ(everything(), 110);
        EXPECT_EQ(co_await c.async_offset(), 0);
        auto yes = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            j.ack(tx);
            c.commit(tx, read);
            q.enqueue(tx, array(3));
        };
        co_await db.async_transact(yes);
        EXPECT_EQ(everything(), 1110);
        EXPECT_EQ(co_await c.async_offset(), read.ends_at());
        EXPECT_EQ(raw_db(path).text("SELECT payload FROM _honker_live"), "[3]");
    });
}

TEST_F(transactions, a_lost_lease_rolls_all_back) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        co_await q.async_enqueue(payload());
        job const j = co_await q.async_claim("w");
        co_await q.async_cancel(j.id());
        for (int how = 0; how < 3; ++how) {
            auto late = [&](transaction& tx) {
                tx.execute("INSERT INTO mine VALUES(1)");
                if (how == 0) j.ack(tx);
                if (how == 1) j.retry(tx, "x");
                if (how == 2) j.fail(tx, "x");
            };
            auto const [error] = co_await db.async_transact(late, tuple);
            EXPECT_EQ(code_of(error), errc::lease_lost);
            EXPECT_EQ(everything(), 0);
        }
        EXPECT_EQ(number("SELECT count(*) FROM _honker_dead"), 0);
    });
}

TEST_F(transactions, a_moved_offset_rolls_all_back) {
    run([&]() -> awaitable<void> {
        database db = open();
        co_await db.async_publish("t", array(1));
        consumer a(db, "t", "c");
        consumer b(db, "t", "c");
        batch const first = co_await a.async_read();
        batch const second = co_await b.async_read();
        co_await a.async_commit(first);
        auto late = [&](transaction& tx) {
            tx.execute("INSERT INTO mine VALUES(1)");
            b.commit(tx, second);
        };
        auto const [error] = co_await db.async_transact(late, tuple);
        EXPECT_EQ(code_of(error), errc::offset_moved);
        EXPECT_EQ(number("SELECT count(*) FROM mine"), 0);
    });
}

TEST_F(transactions, retry_and_fail_inside_end_the_claim) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        for (int i = 0; i < 2; ++i) co_await q.async_enqueue(payload());
        job const a = co_await q.async_claim("w");
        job const b = co_await q.async_claim("w");
        auto end = [&](transaction& tx) {
            a.retry(tx, "again", {.delay = 1h});
            b.fail(tx, "never");
        };
        co_await db.async_transact(end);
        queue_sizes const s = co_await q.async_sizes();
        EXPECT_EQ(s.delayed, 1);
        EXPECT_EQ(s.dead, 1);
        EXPECT_EQ(s.processing, 0);
    });
}

TEST_F(transactions, a_connection_of_the_users_enqueues_and_wakes_a_claim) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        asio::post(io, [&] {
            raw_db raw(path);
            transaction tx(raw.handle());
            raw.execute("BEGIN IMMEDIATE");
            tx.execute("INSERT INTO mine VALUES(1)");
            q.enqueue(tx, array(7));
            raw.execute("COMMIT");
        });
        job const j = co_await q.async_claim("w");
        EXPECT_EQ(j.payload(), "[7]");
        raw_db raw(path);
        raw.execute("BEGIN IMMEDIATE");
        transaction tx(raw.handle());
        j.ack(tx);
        raw.execute("ROLLBACK");
        EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 1);
        raw.execute("BEGIN IMMEDIATE");
        j.ack(tx);
        raw.execute("COMMIT");
        EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
    });
}

TEST_F(transactions, a_stale_read_of_the_users_is_a_busy_snapshot_that_says_so) {
    run([&]() -> awaitable<void> {
        database db = open();
        queue q(db, "q");
        raw_db raw(path);
        raw.execute("BEGIN");
        raw.number("SELECT count(*) FROM mine");
        co_await db.async_notify("c", payload());
        transaction tx(raw.handle());
        error_code const ec = code_of([&] { q.enqueue(tx, payload()); });
        EXPECT_EQ(ec.value(), SQLITE_BUSY_SNAPSHOT);
        EXPECT_EQ(ec, condition::try_again);
        raw.execute("ROLLBACK");
    });
}

}  // namespace
}  // namespace gander::test

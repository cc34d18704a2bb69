// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Objects and contexts destroyed in every order, with operations in every state.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gander::test {
namespace {

class shutdown : public ::testing::Test {
protected:
    temp_db file;
    std::string const& path = file.path();
};

/// Says when it is destroyed, and must never be called.
struct never_called {
    std::shared_ptr<int> alive;
    template <class... Args>
    void operator()(Args&&...) const {
        ADD_FAILURE() << "a handler was called by the shutdown";
    }
};

TEST_F(shutdown, objects_destroyed_first_their_waits_end_or_go_on_as_documented) {
    asio::io_context io;
    int aborted = 0;
    int done = 0;
    {
        database db(io, path);
        queue q(db, "q");
        listener l = db.listen("c");
        consumer c(db, "t", "c");
        l.async_receive([&](error_code ec, notification) {
            EXPECT_EQ(ec, asio::error::operation_aborted);
            ++aborted;
        });
        c.async_read([&](error_code ec, batch) {
            EXPECT_EQ(ec, asio::error::operation_aborted);
            ++aborted;
        });
        q.async_claim("w", [&](error_code ec, job) {
            EXPECT_FALSE(ec);
            ++done;
        });
        q.async_enqueue(payload(), [&](error_code ec, std::int64_t) {
            EXPECT_FALSE(ec);
            ++done;
        });
        db.async_transact([](transaction&) {}, [&](std::exception_ptr e) { done += e ? 0 : 1; });
    }
    io.run_for(patience);
    EXPECT_TRUE(io.stopped());
    EXPECT_EQ(aborted, 2);
    EXPECT_EQ(done, 3);
}

TEST_F(shutdown, the_context_first_destroys_waiting_handlers_uncalled) {
    auto const alive = std::make_shared<int>();
    auto io = std::make_unique<asio::io_context>();
    database db(*io, path);
    queue q(db, "q");
    listener l = db.listen("c");
    consumer c(db, "t", "c");
    q.async_claim("w", never_called{alive});
    q.async_claim_many("w", {.max = 2}, never_called{alive});
    q.async_claim("w", {.wait = 1h}, never_called{alive});
    q.async_wait(never_called{alive});
    l.async_receive(never_called{alive});
    l.async_wait(never_called{alive});
    c.async_read(never_called{alive});
    io->poll();
    EXPECT_GT(alive.use_count(), 1);
    io.reset();
    EXPECT_EQ(alive.use_count(), 1);
    q.cancel();
    l.cancel();
    c.cancel();
}

TEST_F(shutdown, handles_are_harmless_after_their_context) {
    auto io = std::make_unique<asio::io_context>();
    database db(*io, path);
    queue q(db, "q");
    listener l = db.listen("c");
    run_on(*io, [&]() -> awaitable<void> {
        co_await q.async_enqueue(payload());
        co_await db.async_notify("c", payload());
    });
    io.reset();
    q.cancel();
    (void)l.position();
    (void)db.stats();
    (void)q.held(1, "w");
    queue copy = q;
    database other = db;
}

TEST_F(shutdown, a_queued_write_is_dropped_without_being_run_and_its_handler_destroyed) {
    auto const alive = std::make_shared<int>();
    auto io = std::make_unique<asio::io_context>();
    {
        database db(*io, path);
        queue q(db, "q");
        raw_db lock(path);
        lock.execute("BEGIN IMMEDIATE");
        for (int i = 0; i < 10; ++i) q.async_enqueue(payload(), never_called{alive});
        db.async_transact([](transaction&) { ADD_FAILURE() << "it ran"; }, never_called{alive});
        ASSERT_TRUE(poll_until([&] { return db.stats().busy_retries > 0; }));
        io.reset();
        EXPECT_EQ(alive.use_count(), 1);
        lock.execute("COMMIT");
    }
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 0);
}

TEST_F(shutdown, a_running_transaction_is_waited_for) {
    auto const alive = std::make_shared<int>();
    auto io = std::make_unique<asio::io_context>();
    database db(*io, path);
    raw_db(path).execute("CREATE TABLE mine(a)");
    std::atomic<bool> entered{false};
    std::promise<void> release;
    auto const released = release.get_future().share();
    std::atomic<bool> left{false};
    auto body = [&](transaction& tx) {
        entered = true;
        released.wait();
        tx.execute("INSERT INTO mine VALUES(1)");
        left = true;
    };
    db.async_transact(body, never_called{alive});
    ASSERT_TRUE(poll_until([&] { return entered.load(); }));
    auto destroyed = std::async(std::launch::async, [&] {
        io.reset();
        EXPECT_TRUE(left) << "the context went away under a running transaction";
    });
    release.set_value();
    ASSERT_EQ(destroyed.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(alive.use_count(), 1);
    std::int64_t const rows = raw_db(path).number("SELECT count(*) FROM mine");
    EXPECT_LE(rows, 1);
}

TEST_F(shutdown, a_handler_that_owns_the_objects_breaks_no_circle_of_its_own) {
    auto const alive = std::make_shared<int>();
    {
        asio::io_context io;
        struct owner {
            owner(asio::io_context& context, std::string const& p)
                : db(context, p), q(db, "q"), l(db.listen("c")), c(db, "t", "c") {}
            database db;
            queue q;
            listener l;
            consumer c;
        };
        auto const all = std::make_shared<owner>(io, path);
        all->q.async_claim("w", [all, alive](error_code, job) {});
        all->l.async_receive([all, alive](error_code, notification) {});
        all->c.async_read([all, alive](error_code, batch) {});
        all->q.async_enqueue(payload(), [all, alive](error_code, std::int64_t) {});
        all->db.async_transact([all](transaction&) {}, [all, alive](std::exception_ptr) {});
    }
    EXPECT_TRUE(poll_until([&] { return alive.use_count() == 1; }));
}

TEST_F(shutdown, suspended_coroutines_are_destroyed_with_the_context) {
    auto const alive = std::make_shared<int>();
    {
        asio::io_context io;
        auto body = [&path = path](asio::io_context& context,
                                   std::shared_ptr<int> kept) -> awaitable<void> {
            database db(context, path);
            queue q(db, "q");
            listener l = db.listen("c");
            (void)kept;
            co_await q.async_claim("w");
        };
        asio::co_spawn(io, body(io, alive), asio::detached);
        auto listening = [&path = path](asio::io_context& context,
                                        std::shared_ptr<int> kept) -> awaitable<void> {
            database db(context, path);
            listener l = db.listen("c");
            (void)kept;
            co_await l.async_receive();
        };
        asio::co_spawn(io, listening(io, alive), asio::detached);
        io.run_for(50ms);
    }
    EXPECT_TRUE(poll_until([&] { return alive.use_count() == 1; }));
}

TEST_F(shutdown, a_completed_operation_whose_handler_never_ran_loses_nothing_but_its_call) {
    {
        asio::io_context io;
        database db(io, path);
        queue q(db, "q");
        auto const alive = std::make_shared<int>();
        q.async_enqueue(payload(), never_called{alive});
        ASSERT_TRUE(poll_until(
            [&] { return raw_db(path).number("SELECT count(*) FROM _honker_live") == 1; }));
    }
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 1);
}

TEST_F(shutdown, contexts_come_and_go_under_load) {
    for (int i = 0; i < (slowness > 1 ? 40 : 150); ++i) {
        asio::io_context io;
        database db(io, path, {.synchronous = synchronous::normal});
        queue q(db, "q");
        listener l = db.listen("c");
        for (int n = 0; n < 5; ++n) {
            q.async_enqueue(payload(), asio::detached);
            q.async_claim("w", asio::detached);
            l.async_receive(asio::detached);
            db.async_notify("c", payload(), asio::detached);
            q.async_sizes(asio::detached);
            db.async_transact([](transaction& tx) { notify(tx, "c", payload()); },
                              [](std::exception_ptr) {});
        }
        if (i % 3 == 0) io.poll();
        if (i % 3 == 1) io.run_for(milliseconds(i % 5));
    }
    EXPECT_EQ(raw_db(path).text("PRAGMA integrity_check"), "ok");
}

TEST_F(shutdown, an_opening_under_way_is_waited_for_or_dropped) {
    for (int i = 0; i < 30; ++i) {
        auto const alive = std::make_shared<int>();
        {
            asio::io_context io;
            database::async_open(io.get_executor(), path, [alive](std::exception_ptr, database) {});
            if (i % 2 == 0) io.run_for(milliseconds(i % 4));
        }
        EXPECT_TRUE(poll_until([&] { return alive.use_count() == 1; })) << i;
    }
}

TEST_F(shutdown, a_thread_pool_joins_when_its_operations_have_ended) {
    asio::thread_pool pool(2);
    database db(pool, path);
    queue q(db, "q");
    std::atomic<int> done{0};
    for (int i = 0; i < 20; ++i) {
        q.async_claim("w", [&](error_code ec, job) { done += ec ? 0 : 1; });
        q.async_enqueue(payload(), [&](error_code ec, std::int64_t) { done += ec ? 0 : 1; });
    }
    pool.join();
    EXPECT_EQ(done, 40);
}

TEST_F(shutdown, stopping_a_thread_pool_with_waits_outstanding_ends) {
    auto const alive = std::make_shared<int>();
    {
        asio::thread_pool pool(2);
        database db(pool, path);
        queue q(db, "q");
        q.async_claim("w", never_called{alive});
        q.async_sizes(asio::use_future).get();
        pool.stop();
    }
    EXPECT_TRUE(poll_until([&] { return alive.use_count() == 1; }));
}

/// Descriptors of this process on the file and what stands beside it.
int descriptors_on(std::string const& path) {
    int count = 0;
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        auto const target = std::filesystem::read_symlink(entry.path(), gone).string();
        count += !gone && target.starts_with(path) ? 1 : 0;
    }
    return count;
}

TEST_F(shutdown, nothing_of_the_file_is_left_open) {
    for (int i = 0; i < 20; ++i) {
        asio::io_context io;
        database db(io, path);
        queue q(db, "q");
        listener l = db.listen("c");
        run_on(io, [&]() -> awaitable<void> {
            co_await q.async_enqueue(payload());
            job j = co_await q.async_claim("w");
            co_await j.async_ack();
            co_await q.async_sizes();
        });
        EXPECT_GT(descriptors_on(path), 0);
    }
    EXPECT_TRUE(poll_until([&] { return descriptors_on(path) == 0; })) << descriptors_on(path);
    EXPECT_FALSE(exists(file.beside("-wal"))) << "the writer closes last, and checkpoints";
}

}  // namespace
}  // namespace gander::test

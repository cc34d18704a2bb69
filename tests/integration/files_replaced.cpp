// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The file is taken away under those who use it: every waiter and every later call hears of it, and
/// nothing of ours gets into what is there instead.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <filesystem>
#include <map>

namespace gander::test {
namespace {

namespace fs = std::filesystem;

struct loss {
    char const* name;
    void (*happen)(std::string const& path);

    friend void PrintTo(loss const& of, std::ostream* to) { *to << of.name; }
};

void make_other(std::string const& path) {
    raw_db other(path);
    other.text("PRAGMA journal_mode=wal");
    other.execute("CREATE TABLE stranger(a); INSERT INTO stranger VALUES(1)");
}

void rename_over(std::string const& path) {
    make_other(path + ".new");
    fs::rename(path + ".new", path);
}

void rename_away(std::string const& path) { fs::rename(path, path + ".old"); }
void unlink_file(std::string const& path) { fs::remove(path); }

void unlink_and_recreate(std::string const& path) {
    fs::remove(path);
    write_file(path, "");
}

void delete_wal(std::string const& path) { fs::remove(path + "-wal"); }
void delete_shm(std::string const& path) { fs::remove(path + "-shm"); }

class files_replaced : public io_test, public ::testing::WithParamInterface<loss> {
protected:
    void lose() {
        GetParam().happen(path);
        since_ = stopwatch();
    }

    /// A handler that notes how `what` ended, and how long after the loss.
    auto noting(std::string what) {
        return [this, what = std::move(what)](error_code const& ec, auto const&...) {
            EXPECT_TRUE(ended_.emplace(what, ec).second) << what << " ended twice";
            slowest_ = std::max(slowest_, since_.elapsed());
        };
    }

    void expect_all_replaced(std::size_t count) {
        EXPECT_EQ(ended_.size(), count);
        for (auto const& [what, ec] : ended_) EXPECT_EQ(ec, errc::file_replaced) << what;
        EXPECT_LT(slowest_, scaled(500ms));
        ended_.clear();
        slowest_ = {};
    }

    /// Opens the file and sends itself a notification.
    awaitable<error_code> notify_anew() {
        auto const [e, opened] =
            co_await database::async_open(io.get_executor(), path, open_options{}, tuple);
        if (e) co_return code_of(e);
        database db = opened;
        auto [refused, l] = co_await db.async_listen("c", tuple);
        if (refused) co_return code_of(refused);
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("3"), tuple);
        if (ec) co_return ec;
        auto const [received, n] = co_await l.async_receive({.wait = patience}, tuple);
        EXPECT_TRUE(received || n.id() == id);
        co_return received;
    }

    std::map<std::string, error_code> ended_;
    milliseconds slowest_{0};
    stopwatch since_;
};

TEST_P(files_replaced, every_waiter_and_every_later_call_ends_with_a_typed_error) {
    database db(io, path);
    listener l = db.listen("c");
    listener other = db.listen("d*");
    consumer c(db, "t", "n");
    queue q(db, "q");
    job held;
    run([&]() -> awaitable<void> {
        co_await q.async_enqueue(payload::raw("1"), asio::deferred);
        held = co_await q.async_claim("w", asio::deferred);
    });
    notifier n(io, path);

    l.async_receive(noting("receive"));
    other.async_wait(noting("listener wait"));
    c.async_read(noting("read"));
    c.async_wait(noting("consumer wait"));
    q.async_claim("w", noting("claim"));
    q.async_wait(noting("queue wait"));
    bool const wal_only = std::string(GetParam().name).starts_with("delete_");
    if (!wal_only) n.async_wait(noting("notifier"));
    asio::steady_timer timer(io, 50ms);
    timer.async_wait([&](error_code const&) { lose(); });
    io.restart();
    io.run_for(patience);
    ASSERT_TRUE(io.stopped());
    expect_all_replaced(wal_only ? 6 : 7);

    since_ = stopwatch();
    l.async_receive(noting("receive"));
    c.async_read(noting("read"));
    c.async_offset(noting("offset"));
    c.async_seek(0, noting("seek"));
    q.async_claim("w", noting("claim"));
    q.async_enqueue(payload::raw("2"), noting("enqueue"));
    q.async_sizes(noting("sizes"));
    held.async_ack(noting("ack"));
    db.async_notify("c", payload::raw("2"), noting("notify"));
    db.async_publish("t", payload::raw("2"), noting("publish"));
    db.async_queues(noting("queues"));
    if (!wal_only) n.async_wait(noting("notifier"));
    io.restart();
    io.run_for(patience);
    ASSERT_TRUE(io.stopped());
    expect_all_replaced(wal_only ? 11 : 12);
    EXPECT_EQ(code_of([&] { db.listen("c"); }), errc::file_replaced);
    run([&]() -> awaitable<void> {
        auto const f = [](transaction& tx) { tx.execute("DELETE FROM _honker_live"); };
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(f, tuple));
        EXPECT_EQ(code_of(e), errc::file_replaced);
        auto const [refused, none] = co_await db.async_listen("c", tuple);
        EXPECT_EQ(code_of(refused), errc::file_replaced);
    });
}

TEST_P(files_replaced, a_write_that_comes_first_is_refused) {
    database db(io, path);
    run([&]() -> awaitable<void> {
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        lose();
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
        EXPECT_EQ(ec, errc::file_replaced);
    });
}

TEST_P(files_replaced, a_loss_right_after_listening_began_is_noticed) {
    database db(io, path);
    listener l = db.listen("c");
    lose();
    run([&]() -> awaitable<void> {
        auto const [ec, n] = co_await l.async_receive(tuple);
        EXPECT_EQ(ec, errc::file_replaced);
        EXPECT_LT(since_.elapsed(), scaled(500ms));
    });
}

TEST_P(files_replaced, it_can_be_opened_anew_beside_the_lost_one) {
    database old(io, path);
    run([&]() -> awaitable<void> {
        co_await old.async_notify("c", payload::raw("1"), asio::deferred);
        lose();
        auto const [ec, id] = co_await old.async_notify("c", payload::raw("2"), tuple);
        EXPECT_EQ(ec, errc::file_replaced);
    });
    old = database();
    // Its connections are closed on a thread of the library. Until then whoever opens the file in
    // this process shares their -shm, so where only that or the -wal is lost it may take a moment.
    bool const again = poll_until([&] {
        error_code ec;
        run([&]() -> awaitable<void> { ec = co_await notify_anew(); });
        return !ec;
    });
    EXPECT_TRUE(again);
    EXPECT_EQ(raw_db(path).text("PRAGMA integrity_check"), "ok");
}

INSTANTIATE_TEST_SUITE_P(
    any_loss, files_replaced,
    ::testing::Values(loss{"rename_over", rename_over}, loss{"rename_away", rename_away},
                      loss{"unlink", unlink_file}, loss{"unlink_and_recreate", unlink_and_recreate},
                      loss{"delete_wal", delete_wal}, loss{"delete_shm", delete_shm}),
    [](auto const& of) { return std::string(of.param.name); });

class files_after : public io_test {};

TEST_F(files_after, nothing_is_written_to_the_file_that_took_the_name) {
    make_other(file.beside(".new"));
    std::string const before = contents(file.beside(".new"));
    {
        database db(io, path);
        run([&]() -> awaitable<void> {
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
            fs::rename(file.beside(".new"), path);
            for (int i = 0; i < 5; ++i) {
                auto const [ec, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
                EXPECT_EQ(ec, errc::file_replaced);
                auto const f = [](transaction& tx) { tx.execute("CREATE TABLE x(a)"); };
                std::exception_ptr const e = std::get<0>(co_await db.async_transact(f, tuple));
                EXPECT_EQ(code_of(e), errc::file_replaced);
            }
        });
    }
    EXPECT_EQ(contents(path), before);
}

TEST_F(files_after, in_a_rollback_journal_mode_a_replaced_file_is_noticed_as_well) {
    make_foreign_file(path, "delete");
    { raw_db(file.beside(".new")).execute("CREATE TABLE stranger(a)"); }
    std::string const before = contents(file.beside(".new"));
    {
        database db(io, path);
        listener l = db.listen("c");
        run([&]() -> awaitable<void> {
            co_await db.async_notify("d", payload::raw("1"), asio::deferred);
            asio::post(io, [&] { fs::rename(file.beside(".new"), path); });
            stopwatch const watch;
            auto const [ec, n] = co_await l.async_receive(tuple);
            EXPECT_EQ(ec, errc::file_replaced);
            EXPECT_LT(watch.elapsed(), scaled(500ms));
            auto const [later, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
            EXPECT_EQ(later, errc::file_replaced);
        });
    }
    EXPECT_EQ(contents(path), before);
}

TEST_F(files_after, the_side_file_may_be_lost_at_any_time) {
    database db(io, path);
    listener l = db.listen("c");
    run([&]() -> awaitable<void> {
        for (int i = 0; i < 5; ++i) {
            fs::remove(file.beside("-gander"));
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            EXPECT_FALSE(ec);
        }
    });
}

TEST_F(files_after, a_restore_into_the_open_file_wakes_and_nobody_hangs) {
    // The backup API writes the old content through SQLite: the file stays the same one.
    run([&]() -> awaitable<void> {
        std::string const copy = file.beside(".copy");
        {
            database db(io, path);
            co_await db.async_publish("t", payload::raw("1"), asio::deferred);
            raw_db(path).execute("VACUUM INTO '" + copy + "'");
            std::vector<payload> bodies(10);
            co_await db.async_publish_many("t", bodies, asio::deferred);
            consumer c(db, "t", "n");
            batch const b = co_await c.async_read(asio::deferred);
            co_await c.async_commit(b, asio::deferred);
            child restore = python(
                "import sqlite3, sys\n"
                "sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))\n"
                "d = sqlite3.connect(sys.argv[2]); d.execute(\"INSERT INTO"
                " _honker_stream_consumers VALUES('n', 't', 11)\"); d.commit()\n",
                {copy, path});
            EXPECT_EQ(restore.wait(), 0);
            consumer again(db, "t", "n");
            auto const [ec, none] = co_await again.async_read({.wait = patience}, tuple);
            EXPECT_EQ(ec, errc::offset_out_of_range);
        }
    });
}

}  // namespace
}  // namespace gander::test

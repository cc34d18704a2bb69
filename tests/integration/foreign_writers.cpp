// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Plain SQLite beside us: a process that has never heard of gander writes rows, and listeners,
/// consumers and workers wake. With any journal mode that the file's maker has chosen.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <algorithm>
#include <optional>

namespace gander::test {
namespace {

std::string insert(std::string const& payload) {
    return "INSERT INTO _honker_notifications(channel, payload) VALUES('c', '" + payload + "')";
}

/// The safety poll would hide a missed wake: with this interval it comes too late for any test.
constexpr open_options events_only{.poll_interval = 1h};

struct foreign_case {
    char const* journal_mode;
    foreign_writer::kind writer;

    friend void PrintTo(foreign_case const& of, std::ostream* to) { *to << of.journal_mode; }
};

class foreign_writers : public io_test, public ::testing::WithParamInterface<foreign_case> {
protected:
    void SetUp() override {
        make_foreign_file(path, GetParam().journal_mode);
        writer_.emplace(path, GetParam().writer);
        // Only WAL is a property of the file; the others are the connection's own.
        writer_->run(std::string("PRAGMA journal_mode=") + GetParam().journal_mode);
    }

    std::string write(std::string_view sql) { return writer_->run(sql); }

private:
    std::optional<foreign_writer> writer_;
};

TEST_P(foreign_writers, an_insert_of_theirs_wakes_a_listener_and_their_journal_mode_stays) {
    run([&]() -> awaitable<void> {
        database db(io, path, events_only);
        listener l = db.listen("c");
        milliseconds worst{0};
        for (int i = 0; i < 50; ++i) {
            stopwatch watch;
            // From a handler, so that the receive has begun; `run` returns when they committed.
            asio::steady_timer timer(io, milliseconds(i % 5));
            timer.async_wait([&](error_code const&) {
                write(insert(std::to_string(i)));
                watch = stopwatch();
            });
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
            EXPECT_EQ(n.payload(), std::to_string(i));
            worst = std::max(worst, watch.elapsed());
        }
        EXPECT_LT(worst, scaled(1s));
    });
    EXPECT_EQ(write("PRAGMA journal_mode"), GetParam().journal_mode);
    EXPECT_EQ(exists(file.beside("-wal")), std::string(GetParam().journal_mode) == "wal");
}

TEST_P(foreign_writers, a_rollback_of_theirs_publishes_nothing) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        write("BEGIN IMMEDIATE");
        write(insert("1"));
        write("ROLLBACK");
        write(insert("2"));
        auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
        EXPECT_EQ(n.payload(), "2");
    });
}

TEST_P(foreign_writers, ours_and_theirs_reach_each_other) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        for (int i = 0; i < 20; ++i) {
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
            EXPECT_EQ(write("SELECT count(*) FROM _honker_notifications"),
                      std::to_string(2 * i + 1));
            write(insert("2"));
            for (char const* wanted : {"1", "2"}) {
                auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
                EXPECT_EQ(n.payload(), wanted);
            }
        }
    });
}

TEST_P(foreign_writers, commits_under_an_exclusive_lock_are_all_delivered) {
    run([&]() -> awaitable<void> {
        database db(io, path, events_only);
        listener l = db.listen("c");
        for (int i = 0; i < 20; ++i) {
            asio::post(io, [&] {
                write("BEGIN EXCLUSIVE");
                write(insert("1"));
                // The look that the lock was met by has given up meanwhile.
                asio::post(io, [&] { write("COMMIT"); });
            });
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(any_journal_mode, foreign_writers,
                         ::testing::Values(foreign_case{"wal", foreign_writer::kind::python},
                                           foreign_case{"delete", foreign_writer::kind::python},
                                           foreign_case{"truncate", foreign_writer::kind::python},
                                           foreign_case{"persist", foreign_writer::kind::python},
                                           foreign_case{"wal", foreign_writer::kind::sqlite},
                                           foreign_case{"delete", foreign_writer::kind::sqlite}),
                         [](auto const& of) {
                             return std::string(of.param.journal_mode) +
                                    (of.param.writer == foreign_writer::kind::python ? "_python"
                                                                                     : "_sqlite");
                         });

class foreign_processes : public io_test {};

TEST_F(foreign_processes, writers_that_open_write_and_close_are_heard_each_time) {
    run([&]() -> awaitable<void> {
        database db(io, path, events_only);
        listener l = db.listen("c");
        for (int i = 0; i < 100; ++i) {
            asio::post(io, [&] { raw_db(path).execute(insert(std::to_string(i))); });
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
            EXPECT_EQ(n.payload(), std::to_string(i));
        }
        for (int i = 0; i < 5; ++i) {
            child const script = python(
                "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("
                "\"INSERT INTO _honker_notifications(channel, payload) VALUES('c', '7')\");"
                "db.commit(); db.close()",
                {path});
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
            EXPECT_EQ(n.payload(), "7");
        }
    });
}

TEST_F(foreign_processes, a_vacuum_or_a_checkpoint_of_theirs_disturbs_nobody) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        foreign_writer writer(path);
        for (char const* sql :
             {"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "REINDEX", "ANALYZE"}) {
            writer.run(insert("1"));
            auto const [ec, n] = co_await l.async_receive({.wait = patience}, tuple);
            EXPECT_FALSE(ec);
            writer.run(sql);
            auto const [none, m] = co_await l.async_receive({.wait = 20ms}, tuple);
            EXPECT_EQ(none, errc::timed_out) << sql;
        }
    });
}

TEST_F(foreign_processes, their_insert_into_the_stream_and_the_queue_wakes_consumer_and_worker) {
    run([&]() -> awaitable<void> {
        database db(io, path, events_only);
        foreign_writer writer(path);
        consumer c(db, "t", "n");
        queue q(db, "q");
        asio::post(
            io, [&] { writer.run("INSERT INTO _honker_stream(topic, payload) VALUES('t', '1')"); });
        auto const [read, b] = co_await c.async_read({.wait = patience}, tuple);
        EXPECT_FALSE(read);
        EXPECT_EQ(b.size(), 1U);
        asio::post(
            io, [&] { writer.run("INSERT INTO _honker_live(queue, payload) VALUES('q', '1')"); });
        auto const [claimed, j] = co_await q.async_claim("w", {.wait = patience}, tuple);
        EXPECT_FALSE(claimed);
        EXPECT_EQ(j.payload(), "1");
    });
}

TEST_F(foreign_processes, ten_thousand_notifications_of_four_processes_reach_eight_listening_ones) {
    constexpr int writers = 4;
    constexpr int listeners = 8;
    constexpr int each = 2500;
    { database const made(io, path); }
    std::string const n = std::to_string(each);

    std::vector<child> listening;
    for (int i = 0; i < listeners; ++i)
        listening.push_back(peer({"listen", path, "c", std::to_string(writers * each)}));
    for (child& l : listening) l.expect("ready");
    std::vector<child> writing;
    for (int i = 1; i < writers; ++i) writing.push_back(peer({"notify", path, "c", n}));
    writing.push_back(python(
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n"
        "print('ready'); sys.stdin.readline()\n"
        "for i in range(1, int(sys.argv[2]) + 1):\n"
        "    db.execute('INSERT INTO _honker_notifications(channel, payload) VALUES(?, ?)',\n"
        "               ('c', str(i)))\n"
        "print('done')\n",
        {path, n}));
    for (child& w : writing) w.expect("ready");
    for (child& w : writing) w.say("go");

    // What the file says, in id order, is what each must have received.
    std::vector<std::string> wanted;
    for (child& l : listening) {
        std::vector<std::string> got = l.rest(scaled(60s));
        ASSERT_EQ(l.wait(), 0);
        ASSERT_FALSE(got.empty());
        EXPECT_EQ(got.back(), "done");
        got.pop_back();
        if (wanted.empty()) {
            raw_db db(path);
            for (int id = 1; id <= writers * each; ++id)
                wanted.push_back(std::to_string(id) + ' ' +
                                 db.text("SELECT payload FROM _honker_notifications WHERE id = " +
                                         std::to_string(id)));
        }
        EXPECT_TRUE(got == wanted) << got.size() << " lines";
    }
    for (child& w : writing) {
        w.expect("done");
        EXPECT_EQ(w.wait(), 0);
    }
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_notifications"), writers * each);
}

}  // namespace
}  // namespace gander::test

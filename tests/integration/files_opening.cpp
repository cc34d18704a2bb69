// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Opening: what is refused and how, and many processes at once.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace gander::test {
namespace {

constexpr int sqlite_readonly = 8;
constexpr int sqlite_cantopen = 14;
constexpr int sqlite_notadb = 26;

class files_opening : public io_test {
protected:
    /// The error of both ways to open, which must be the same and name the file.
    error_code open_error(std::string const& name, open_options options = {}) {
        error_code blocking;
        try {
            database const db(io, name, options);
        } catch (system_error const& e) {
            blocking = e.code();
            if (e.code().category() == sqlite_category()) {
                EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
            }
        }
        error_code later;
        run([&]() -> awaitable<void> {
            auto const [e, db] =
                co_await database::async_open(io.get_executor(), name, options, tuple);
            later = code_of(e);
            EXPECT_EQ(static_cast<bool>(db), !e);
        });
        EXPECT_EQ(blocking, later);
        return blocking;
    }

    static int primary(error_code const& ec) {
        return ec.category() == sqlite_category() ? ec.value() & 0xff : -1;
    }

    /// Everything in the directory of the file, by name.
    std::vector<std::string> beside() const {
        std::vector<std::string> names;
        for (auto const& e : std::filesystem::directory_iterator(file.dir().path()))
            names.push_back(e.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }
};

TEST_F(files_opening, a_missing_file_is_created_in_wal_mode_with_the_shared_tables) {
    database const db(io, path);
    EXPECT_EQ(db.path(), path);
    raw_db raw(path);
    EXPECT_EQ(raw.text("PRAGMA journal_mode"), "wal");
    EXPECT_EQ(raw.number("SELECT count(*) FROM sqlite_master WHERE name IN ("
                         "'_honker_notifications', '_honker_live', '_honker_dead',"
                         "'_honker_locks', '_honker_rate_limits', '_honker_scheduler_tasks',"
                         "'_honker_results', '_honker_stream', '_honker_stream_consumers')"),
              9);
    EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
}

TEST_F(files_opening, memory_has_no_file_to_share) {
    for (char const* name : {"", ":memory:", "file::memory:", "file::memory:?cache=shared"})
        EXPECT_EQ(open_error(name), errc::not_a_file) << name;
}

TEST_F(files_opening, a_path_that_cannot_be_a_database_is_an_error_that_names_it) {
    EXPECT_EQ(primary(open_error(file.dir().path())), sqlite_cantopen);
    EXPECT_EQ(primary(open_error(file.dir().file("none/app.db"))), sqlite_cantopen);
    EXPECT_EQ(primary(open_error(path, {.mode = open_mode::existing})), sqlite_cantopen);
    EXPECT_EQ(primary(open_error(path, {.mode = open_mode::read_only})), sqlite_cantopen);
    EXPECT_EQ(open_error(std::string("a\0b", 3)), errc::not_a_file);
    EXPECT_TRUE(beside().empty()) << "a refused opening leaves nothing";
}

TEST_F(files_opening, what_is_no_database_is_refused_and_not_touched) {
    std::string const text(5000, 'x');
    write_file(path, text);
    for (auto const mode : {open_mode::create, open_mode::existing, open_mode::read_only})
        EXPECT_EQ(primary(open_error(path, {.mode = mode})), sqlite_notadb);
    EXPECT_EQ(contents(path), text);
    EXPECT_EQ(beside(), std::vector<std::string>{"app.db"});
}

TEST_F(files_opening, a_newer_schema_is_refused_and_not_touched) {
    { database const made(io, path); }
    {
        raw_db raw(path);
        ASSERT_EQ(raw.number("SELECT count(*) FROM _gander_schema"), 1);
        raw.execute("UPDATE _gander_schema SET version = version + 1");
    }
    std::string const before = contents(path);
    EXPECT_EQ(open_error(path), errc::schema_too_new);
    EXPECT_EQ(open_error(path, {.mode = open_mode::existing}), errc::schema_too_new);
    EXPECT_EQ(contents(path), before);
}

TEST_F(files_opening, options_out_of_range_are_refused) {
    EXPECT_EQ(open_error(path, {.busy_deadline = -1s}), errc::out_of_range);
    EXPECT_EQ(open_error(path, {.max_group_operations = 0}), errc::out_of_range);
    EXPECT_EQ(open_error(path, {.max_group_bytes = 0}), errc::out_of_range);
    EXPECT_EQ(open_error(path, {.poll_interval = 0s}), errc::out_of_range);
    EXPECT_EQ(open_error(path, {.read_mmap = -1}), errc::out_of_range);
    EXPECT_FALSE(exists(path));
}

TEST_F(files_opening, a_symbolic_link_and_its_file_have_one_canonical_path) {
    database const real(io, path);
    std::string const link = file.dir().file("link.db");
    ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
    database linked(io, link);
    EXPECT_EQ(linked.path(), real.path());
    EXPECT_FALSE(exists(link + "-wal"));
    EXPECT_FALSE(exists(link + "-gander"));
    run([&]() -> awaitable<void> {
        database db = real;
        listener l = db.listen("c");
        co_await linked.async_notify("c", payload::raw("1"), asio::deferred);
        EXPECT_EQ((co_await l.async_receive({.wait = patience}, asio::deferred)).payload(), "1");
    });
}

TEST_F(files_opening, a_read_only_handle_listens_and_reads_and_refuses_every_write) {
    {
        database db(io, path);
        run([&]() -> awaitable<void> {
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
            co_await db.async_publish("t", payload::raw("2"), asio::deferred);
            queue q(db, "q");
            co_await q.async_enqueue(payload::raw("3"), asio::deferred);
        });
    }
    child reader = peer({"use", path, "read_only"});
    EXPECT_EQ(reader.rest(), (std::vector<std::string>{
                                 "opened ok", "notify gander:10", "publish gander:10",
                                 "enqueue gander:10", "claim gander:10", "receive ok", "read ok"}));
    EXPECT_EQ(reader.wait(), 0);
    run([&]() -> awaitable<void> {
        database db(io, path, {.mode = open_mode::read_only});
        auto const f = [](transaction& tx) { tx.execute("DELETE FROM _honker_live"); };
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(f, tuple));
        EXPECT_EQ(code_of(e), errc::read_only);
        consumer c(db, "t", "n");
        batch const b = co_await c.async_read(asio::deferred);
        EXPECT_EQ(b.size(), 1U);
        auto const [ec] = co_await c.async_commit(b, tuple);
        EXPECT_EQ(ec, errc::read_only);
        // It hears what others commit.
        listener l = db.listen("c");
        raw_db(path).execute("INSERT INTO _honker_notifications(channel, payload) VALUES('c', 4)");
        EXPECT_EQ((co_await l.async_receive({.wait = patience}, asio::deferred)).payload(), "4");
    });
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 1);
}

TEST_F(files_opening, a_file_that_may_only_be_read_is_refused_for_writing) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    { database const made(io, path); }
    ::chmod(path.c_str(), 0444);
    for (char const* mode : {"create", "existing"}) {
        child nobody = peer({"as-nobody", "open", path, mode});
        nobody.expect("ready");
        nobody.say("go");
        auto const answer = nobody.line();
        ASSERT_TRUE(answer);
        EXPECT_TRUE(answer->starts_with("error sqlite:" + std::to_string(sqlite_readonly)) ||
                    answer->starts_with("error sqlite:14"))
            << *answer;
        EXPECT_NE(answer->find(path), std::string::npos) << *answer;
    }
    child reader = peer({"as-nobody", "open", path, "read_only"});
    reader.expect("ready");
    reader.say("go");
    EXPECT_EQ(reader.line(), "ok");
}

TEST_F(files_opening, a_directory_without_permission_is_an_error_that_names_the_file) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    std::string const inner = file.dir().file("closed");
    ASSERT_EQ(::mkdir(inner.c_str(), 0700), 0);
    child nobody = peer({"as-nobody", "open", inner + "/app.db", "create"});
    nobody.expect("ready");
    nobody.say("go");
    auto const answer = nobody.line();
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->starts_with("error sqlite:14 ")) << *answer;
    EXPECT_NE(answer->find("Permission denied"), std::string::npos) << *answer;
}

TEST_F(files_opening, sixteen_processes_that_open_one_fresh_file_together_all_succeed) {
    for (int round = 0; round < 3; ++round) {
        std::string const fresh = file.dir().file("fresh" + std::to_string(round));
        std::vector<child> all;
        for (int i = 0; i < 16; ++i) all.push_back(peer({"open", fresh, "create"}));
        for (child& c : all) c.expect("ready");
        for (child& c : all) c.say("go");
        for (child& c : all) EXPECT_EQ(c.line(), "ok");
        for (child& c : all) {
            c.close_input();
            EXPECT_EQ(c.wait(), 0);
        }
        raw_db raw(fresh);
        EXPECT_EQ(raw.text("PRAGMA journal_mode"), "wal");
        EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
        EXPECT_EQ(raw.number("SELECT count(*) FROM _gander_schema"), 1);
    }
}

TEST_F(files_opening, sixteen_processes_that_open_one_older_file_together_all_succeed) {
    {
        raw_db old(path);
        old.execute(
            "CREATE TABLE _honker_scheduler_tasks(name TEXT PRIMARY KEY, queue TEXT NOT NULL,"
            " cron_expr TEXT NOT NULL, payload TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 0,"
            " expires_s INTEGER, next_fire_at INTEGER NOT NULL)");
        old.execute(
            "INSERT INTO _honker_scheduler_tasks VALUES('a', 'q', '* * * * *', '1', 0, NULL, 5)");
    }
    std::vector<child> all;
    for (int i = 0; i < 16; ++i) all.push_back(peer({"open", path, "create"}));
    for (child& c : all) c.expect("ready");
    for (child& c : all) c.say("go");
    for (child& c : all) EXPECT_EQ(c.line(), "ok");
    raw_db raw(path);
    EXPECT_EQ(raw.text("SELECT name || enabled || max_attempts FROM _honker_scheduler_tasks"),
              "a13");
}

TEST_F(files_opening, the_directory_holds_only_what_belongs_to_the_file) {
    {
        database db(io, path);
        run([&]() -> awaitable<void> {
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        });
        EXPECT_EQ(beside(), (std::vector<std::string>{"app.db", "app.db-gander", "app.db-shm",
                                                      "app.db-wal"}));
        struct stat database_file {};
        struct stat side {};
        ASSERT_EQ(::stat(path.c_str(), &database_file), 0);
        ASSERT_EQ(::stat(file.beside("-gander").c_str(), &side), 0);
        EXPECT_EQ(side.st_mode, database_file.st_mode);
        EXPECT_EQ(side.st_uid, database_file.st_uid);
    }
}

TEST_F(files_opening, failed_openings_leave_no_descriptor_and_the_next_one_works) {
    write_file(path, std::string(5000, 'x'));
    EXPECT_EQ(primary(open_error(path)), sqlite_notadb);
    int const descriptors = open_descriptors();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(primary(open_error(path)), sqlite_notadb);
    EXPECT_LE(open_descriptors(), descriptors);
    std::filesystem::remove(path);
    EXPECT_EQ(open_error(path), error_code());
}

}  // namespace
}  // namespace gander::test

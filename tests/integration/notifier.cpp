// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The notifier alone, on a file that has nothing of gander's in it.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <filesystem>
#include <set>

namespace gander::test {
namespace {

/// The safety poll would hide a missed wake: with this interval it comes too late for any test.
constexpr notifier_options events_only{.poll_interval = 1h};

class notifier_on_any_file : public io_test, public ::testing::WithParamInterface<char const*> {
protected:
    void SetUp() override {
        raw_db db(path);
        ASSERT_EQ(db.text(choose_mode()), GetParam());
        db.execute("CREATE TABLE t(a)");
    }

    /// Only WAL is a property of the file; the others are the connection's own.
    static std::string choose_mode() { return std::string("PRAGMA journal_mode=") + GetParam(); }
};

TEST_P(notifier_on_any_file, a_commit_of_another_process_is_a_tick) {
    foreign_writer writer(path);
    writer.run(choose_mode());
    run([&]() -> awaitable<void> {
        notifier n(io, path, events_only);
        std::int64_t last = 0;
        for (int i = 0; i < 30; ++i) {
            asio::steady_timer timer(io, milliseconds(i % 4));
            timer.async_wait([&](error_code const&) { writer.run("INSERT INTO t VALUES(1)"); });
            auto const [ec, version] = co_await n.async_wait({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
            EXPECT_NE(version, last);
            last = version;
        }
    });
}

TEST_P(notifier_on_any_file, a_commit_of_this_process_is_a_tick) {
    raw_db writer(path);
    writer.text(choose_mode());
    run([&]() -> awaitable<void> {
        notifier n(io, path, events_only);
        for (int i = 0; i < 30; ++i) {
            asio::post(io, [&] { writer.execute("INSERT INTO t VALUES(1)"); });
            auto const [ec, version] = co_await n.async_wait({.wait = patience}, tuple);
            GANDER_REQUIRE(!ec);
        }
    });
}

TEST_P(notifier_on_any_file, a_commit_before_the_wait_is_a_tick_at_once_and_only_one) {
    raw_db writer(path);
    writer.text(choose_mode());
    run([&]() -> awaitable<void> {
        notifier n(io, path, events_only);
        for (int i = 0; i < 10; ++i) writer.execute("INSERT INTO t VALUES(1)");
        auto const [ec, version] = co_await n.async_wait({.wait = patience}, tuple);
        EXPECT_FALSE(ec);
        auto const [none, v] = co_await n.async_wait({.wait = 50ms}, tuple);
        EXPECT_EQ(none, errc::timed_out);
    });
}

TEST_P(notifier_on_any_file, neither_a_rollback_nor_a_transaction_that_changes_nothing_is_a_tick) {
    foreign_writer writer(path);
    writer.run(choose_mode());
    run([&]() -> awaitable<void> {
        notifier n(io, path);
        for (char const* sql : {"BEGIN IMMEDIATE", "INSERT INTO t VALUES(1)", "ROLLBACK",
                                "BEGIN IMMEDIATE", "COMMIT", "DELETE FROM t WHERE a = 99"})
            writer.run(sql);
        auto const [ec, v] = co_await n.async_wait({.wait = 100ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
    });
}

TEST_P(notifier_on_any_file, all_outstanding_waits_complete_with_one_tick) {
    raw_db writer(path);
    writer.text(choose_mode());
    run([&]() -> awaitable<void> {
        notifier n(io, path, events_only);
        int completed = 0;
        for (int i = 0; i < 5; ++i)
            n.async_wait({.wait = patience}, [&](error_code const& ec, std::int64_t) {
                EXPECT_FALSE(ec);
                ++completed;
            });
        writer.execute("INSERT INTO t VALUES(1)");
        while (completed < 5) co_await pause(1ms);
    });
}

TEST_P(notifier_on_any_file, it_changes_nothing_in_the_file_and_puts_none_beside_it) {
    auto const names = [&] {
        std::set<std::string> all;
        for (auto const& e : std::filesystem::directory_iterator(file.dir().path()))
            all.insert(e.path().filename().string());
        // These are SQLite's own: whoever reads a file in WAL mode makes them.
        for (char const* own : {"app.db-wal", "app.db-shm"}) all.erase(own);
        return all;
    };
    auto const names_before = names();
    std::string const before = contents(path);
    run([&]() -> awaitable<void> {
        notifier n(io, path);
        auto const [ec, v] = co_await n.async_wait({.wait = 20ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(names(), names_before);
    });
    EXPECT_EQ(names(), names_before);
    EXPECT_EQ(contents(path), before);
}

INSTANTIATE_TEST_SUITE_P(any_journal_mode, notifier_on_any_file,
                         ::testing::Values("wal", "delete", "truncate", "persist"),
                         [](auto const& of) { return std::string(of.param); });

class notifier_waits : public io_test {
protected:
    void SetUp() override {
        raw_db db(path);
        db.text("PRAGMA journal_mode=wal");
        db.execute("CREATE TABLE t(a)");
    }
};

TEST_F(notifier_waits, the_version_is_what_data_version_reads) {
    // Another connection that was opened after the same commits counts the same changes.
    raw_db writer(path);
    run([&]() -> awaitable<void> {
        notifier n(io, path);
        raw_db reader(path);
        std::int64_t const base = reader.number("PRAGMA data_version");
        writer.execute("INSERT INTO t VALUES(1)");
        std::int64_t const first = co_await n.async_wait(asio::deferred);
        std::int64_t const read = reader.number("PRAGMA data_version");
        EXPECT_NE(read, base);
        writer.execute("INSERT INTO t VALUES(1)");
        std::int64_t const second = co_await n.async_wait(asio::deferred);
        EXPECT_NE(second, first);
        EXPECT_EQ(second - first, reader.number("PRAGMA data_version") - read);
    });
}

TEST_F(notifier_waits, waits_end_by_deadline_and_cancellation_and_leave_nothing) {
    run([&]() -> awaitable<void> {
        notifier n(io, path);
        auto const [ec, v] = co_await n.async_wait({.wait = 20ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        auto const [at_once, w] = co_await n.async_wait({.wait = 0s}, tuple);
        EXPECT_EQ(at_once, errc::timed_out);
        asio::post(io, [&] { n.cancel(); });
        auto const [cancelled, x] = co_await n.async_wait(tuple);
        EXPECT_EQ(cancelled, asio::error::operation_aborted);
        asio::cancellation_signal signal;
        asio::post(io, [&] { signal.emit(asio::cancellation_type::total); });
        auto const [by_signal, y] = co_await n.async_wait(tuple_with(signal));
        EXPECT_EQ(by_signal, asio::error::operation_aborted);
        auto const [bad, z] = co_await n.async_wait({.wait = -1ms}, tuple);
        EXPECT_EQ(bad, errc::out_of_range);
        notifier none;
        auto const [closed, u] = co_await none.async_wait(tuple);
        EXPECT_EQ(closed, errc::closed);
        notifier moved = std::move(n);
        asio::post(io, [&] { moved = notifier(); });
        auto const [destroyed, s] = co_await moved.async_wait(tuple);
        EXPECT_EQ(destroyed, asio::error::operation_aborted);
    });
}

TEST_F(notifier_waits, a_commit_by_the_poll_alone_is_a_tick) {
    raw_db writer(path);
    run([&]() -> awaitable<void> {
        notifier n(io, path, {.wake = wake_source::poll, .poll_interval = 10ms});
        for (int i = 0; i < 10; ++i) {
            asio::steady_timer timer(io, 3ms);
            timer.async_wait([&](error_code const&) { writer.execute("INSERT INTO t VALUES(1)"); });
            auto const [ec, v] = co_await n.async_wait({.wait = scaled(1s)}, tuple);
            EXPECT_FALSE(ec);
        }
    });
}

TEST_F(notifier_waits, thousands_of_waits_leave_no_thread_and_no_descriptor) {
    notifier n(io, path);
    auto const waits = [&](int count) {
        run([&, count]() -> awaitable<void> {
            for (int i = 0; i < count; ++i) {
                auto const [ec, v] = co_await n.async_wait({.wait = 1ms}, tuple);
                EXPECT_EQ(ec, errc::timed_out);
            }
        });
    };
    waits(10);
    int const threads = running_threads();
    int const descriptors = open_descriptors();
    waits(1000);
    // The rest of the fixed pool may have started meanwhile.
    EXPECT_LE(running_threads(), threads + 4);
    EXPECT_LE(open_descriptors(), descriptors);
}

TEST_F(notifier_waits, a_replaced_or_deleted_file_is_an_error_now_and_ever_after) {
    for (bool const deleted : {false, true}) {
        temp_db other;
        { raw_db(other.path()).execute("CREATE TABLE t(a)"); }
        { raw_db(other.beside(".new")).execute("CREATE TABLE u(a)"); }
        notifier n(io, other.path());
        run([&]() -> awaitable<void> {
            stopwatch watch;
            asio::steady_timer timer(io, 10ms);
            timer.async_wait([&](error_code const&) {
                if (deleted)
                    std::filesystem::remove(other.path());
                else
                    std::filesystem::rename(other.beside(".new"), other.path());
                watch = stopwatch();
            });
            auto const [ec, v] = co_await n.async_wait(tuple);
            EXPECT_EQ(ec, errc::file_replaced);
            EXPECT_LT(watch.elapsed(), scaled(500ms));
            auto const [later, w] = co_await n.async_wait(tuple);
            EXPECT_EQ(later, errc::file_replaced);
        });
    }
}

TEST_F(notifier_waits, opening_what_is_no_database_names_file_and_cause) {
    temp_dir const dir;
    write_file(dir.file("text"), std::string(5000, 'x'));
    struct {
        std::string path;
        int code;
    } const cases[] = {{dir.file("missing"), 14}, {dir.path(), 14}, {dir.file("text"), 26}};
    for (auto const& c : cases) {
        try {
            notifier const n(io, c.path);
            ADD_FAILURE() << c.path;
        } catch (system_error const& e) {
            EXPECT_EQ(e.code().category(), sqlite_category());
            EXPECT_EQ(e.code().value() & 0xff, c.code) << e.what();
            EXPECT_NE(std::string(e.what()).find(c.path), std::string::npos) << e.what();
        }
    }
    EXPECT_FALSE(exists(dir.file("missing")));
}

}  // namespace
}  // namespace gander::test

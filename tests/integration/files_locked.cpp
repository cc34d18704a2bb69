// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A lock that another process holds for long, even a stopped one: it delays its own file alone, and
/// there each operation ends at its deadline with nothing changed.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <map>

namespace gander::test {
namespace {

constexpr open_options one_second{.busy_deadline = 1s};

class files_locked : public io_test {
protected:
    temp_db other;
};

TEST_F(files_locked, a_lock_held_for_ten_seconds_on_one_file_delays_no_operation_on_another) {
    foreign_writer holder(path);
    foreign_writer second_holder(file.beside("2"));
    database locked(io, path, {.busy_deadline = 30s});
    database locked_too(io, file.beside("2"), {.busy_deadline = 30s});
    holder.run("BEGIN IMMEDIATE");
    second_holder.run("BEGIN IMMEDIATE");
    holder.process().freeze();
    second_holder.process().freeze();
    // More of them than there are threads.
    int delayed = 0;
    for (database* db : {&locked, &locked_too})
        for (int i = 0; i < 20; ++i)
            db->async_notify("c", payload::raw("1"), [&](error_code const& ec, std::int64_t) {
                EXPECT_FALSE(ec) << ec.message();
                ++delayed;
            });
    database db(io, other.path());
    milliseconds worst{0};
    int operations = 0;
    run(
        [&]() -> awaitable<void> {
            stopwatch const all;
            auto const timed = [&](stopwatch const& one) {
                worst = std::max(worst, one.elapsed());
                ++operations;
            };
            listener l = db.listen("c");
            consumer c(db, "t", "n");
            queue q(db, "q");
            while (all.elapsed() < 10s) {
                stopwatch watch;
                co_await db.async_notify("c", payload::raw("1"), asio::deferred);
                timed(watch);
                watch = stopwatch();
                co_await l.async_receive(asio::deferred);
                timed(watch);
                watch = stopwatch();
                co_await db.async_publish("t", payload::raw("1"), asio::deferred);
                timed(watch);
                watch = stopwatch();
                batch const b = co_await c.async_read(asio::deferred);
                co_await c.async_commit(b, asio::deferred);
                timed(watch);
                watch = stopwatch();
                co_await q.async_enqueue(payload::raw("1"), asio::deferred);
                job j = co_await q.async_claim("w", asio::deferred);
                co_await j.async_ack(asio::deferred);
                timed(watch);
                watch = stopwatch();
                auto const f = [](transaction& tx) { tx.query("SELECT 1").step(); };
                co_await db.async_transact(f, asio::deferred);
                timed(watch);
                co_await pause(20ms);
            }
            EXPECT_EQ(delayed, 0);
            holder.process().thaw();
            second_holder.process().thaw();
            holder.run("ROLLBACK");
            second_holder.run("ROLLBACK");
        },
        10s + patience);
    EXPECT_EQ(delayed, 40);
    EXPECT_GT(operations, 100);
    EXPECT_LT(worst, scaled(500ms));
}

TEST_F(files_locked, every_write_ends_at_its_deadline_with_nothing_changed_and_works_later) {
    database db(io, path, one_second);
    queue q(db, "q");
    consumer c(db, "t", "n");
    listener l = db.listen("c");
    job held;
    batch read;
    run([&]() -> awaitable<void> {
        co_await q.async_enqueue(payload::raw("1"), asio::deferred);
        co_await q.async_enqueue(payload::raw("2"), asio::deferred);
        held = co_await q.async_claim("w", asio::deferred);
        co_await db.async_publish("t", payload::raw("1"), asio::deferred);
        read = co_await c.async_read(asio::deferred);
    });
    std::string const state =
        "SELECT (SELECT group_concat(id || state || attempts) FROM _honker_live) || "
        "(SELECT count(*) FROM _honker_notifications) || (SELECT count(*) FROM _honker_stream) || "
        "(SELECT count(*) FROM _honker_stream_consumers)";
    std::string const before = raw_db(path).text(state);

    foreign_writer holder(path);
    holder.run("BEGIN IMMEDIATE");
    std::map<std::string, error_code> ended;
    stopwatch const watch;
    milliseconds soonest = patience;
    milliseconds latest{0};
    auto const noting = [&](std::string const& what) {
        return [&, what](error_code const& ec, auto const&...) {
            ended[what] = ec;
            soonest = std::min(soonest, watch.elapsed());
            latest = std::max(latest, watch.elapsed());
        };
    };
    db.async_notify("c", payload::raw("1"), noting("notify"));
    db.async_publish("t", payload::raw("2"), noting("publish"));
    q.async_enqueue(payload::raw("3"), noting("enqueue"));
    held.async_ack(noting("ack"));
    c.async_commit(read, noting("commit"));
    c.async_seek(0, noting("seek"));
    q.async_cancel(held.id(), noting("cancel"));
    db.async_transact([](transaction& tx) { tx.execute("DELETE FROM _honker_live"); },
                      [&](std::exception_ptr const& e) { noting("transact")(code_of(e)); });
    io.restart();
    io.run_for(patience);
    ASSERT_TRUE(io.stopped());
    EXPECT_EQ(ended.size(), 8U);
    for (auto const& [what, ec] : ended) {
        EXPECT_EQ(ec, errc::busy) << what;
        EXPECT_EQ(ec, condition::try_again) << what;
    }
    EXPECT_GE(soonest, 950ms);
    EXPECT_LT(latest, scaled(2s));
    holder.run("ROLLBACK");
    EXPECT_EQ(raw_db(path).text(state), before);

    run([&]() -> awaitable<void> {
        co_await held.async_ack(asio::deferred);
        co_await c.async_commit(read, asio::deferred);
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        co_await l.async_receive({.wait = patience}, asio::deferred);
    });
}

TEST_F(files_locked, a_lock_released_before_the_deadline_only_delays) {
    database db(io, path, {.busy_deadline = 20s});
    foreign_writer holder(path);
    holder.run("BEGIN IMMEDIATE");
    run([&]() -> awaitable<void> {
        spawn_on(io, [&]() -> awaitable<void> {
            co_await pause(100ms);
            holder.run("COMMIT");
        });
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("1"), tuple);
        EXPECT_FALSE(ec);
        EXPECT_EQ(id, 1);
        EXPECT_GT(db.stats().busy_retries, 0U);
    });
}

TEST_F(files_locked, reads_and_waits_go_on_under_a_write_lock) {
    database db(io, path, one_second);
    run([&]() -> awaitable<void> {
        queue q(db, "q");
        consumer c(db, "t", "n");
        co_await db.async_publish("t", payload::raw("1"), asio::deferred);
        co_await q.async_enqueue(payload::raw("1"), asio::deferred);
        foreign_writer holder(path);
        holder.run("BEGIN IMMEDIATE");
        batch const b = co_await c.async_read({.wait = patience}, asio::deferred);
        EXPECT_EQ(b.size(), 1U);
        queue_sizes const sizes = co_await q.async_sizes(asio::deferred);
        EXPECT_EQ(sizes.ready, 1);
        listener l = db.listen("c");
        auto const [ec, n] = co_await l.async_receive({.wait = 20ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        // What the holder commits in the end is heard.
        holder.run("INSERT INTO _honker_notifications(channel, payload) VALUES('c', '7')");
        holder.run("COMMIT");
        EXPECT_EQ((co_await l.async_receive({.wait = patience}, asio::deferred)).payload(), "7");
    });
}

TEST_F(files_locked, opening_a_file_that_stays_locked_ends_at_the_deadline) {
    make_foreign_file(path, "delete");
    foreign_writer holder(path);
    holder.run("BEGIN EXCLUSIVE");
    stopwatch const watch;
    EXPECT_EQ(code_of([&] { database const db(io, path, one_second); }), errc::busy);
    EXPECT_GE(watch.elapsed(), 950ms);
    EXPECT_LT(watch.elapsed(), scaled(2s));
    holder.run("ROLLBACK");
    EXPECT_EQ(code_of([&] { database const db(io, path, one_second); }), error_code());
}

TEST_F(files_locked, a_stopped_process_in_a_rollback_journal_mode_is_waited_out_as_well) {
    make_foreign_file(path, "delete");
    foreign_writer holder(path);
    database db(io, path, one_second);
    run([&]() -> awaitable<void> {
        // A reader that was stopped in the middle: it holds up the commit, not the beginning.
        holder.run("BEGIN");
        holder.run("SELECT count(*) FROM _honker_notifications");
        holder.process().freeze();
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("1"), tuple);
        EXPECT_EQ(ec, errc::busy);
        holder.process().thaw();
        holder.run("COMMIT");
        auto const [later, second] = co_await db.async_notify("c", payload::raw("2"), tuple);
        EXPECT_FALSE(later);
        EXPECT_EQ(holder.run("SELECT group_concat(payload) FROM _honker_notifications"), "2");
    });
}

}  // namespace
}  // namespace gander::test

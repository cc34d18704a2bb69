// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Events and the durable offsets of their consumers.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <map>

namespace gander::test {
namespace {

class streams : public io_test {
protected:
    /// Publishes events with the payloads `from` to `to` to topic "t".
    static awaitable<void> publish(database& db, int from, int to) {
        std::vector<payload> bodies;
        for (int i = from; i <= to; ++i) bodies.push_back(payload::raw(std::to_string(i)));
        co_await db.async_publish_many("t", bodies, asio::deferred);
    }

    static std::string payloads(batch const& b) {
        std::string all;
        for (event const& e : b) all += (all.empty() ? "" : " ") + std::string(e.payload());
        return all;
    }

    /// What `c` has to give now.
    static awaitable<std::string> read(consumer& c, std::size_t max = 100) {
        auto const [ec, b] = co_await c.async_read({.max = max, .wait = 0s}, tuple);
        co_return ec == errc::timed_out ? "nothing" : ec ? ec.message() : payloads(b);
    }
};

TEST_F(streams, events_are_read_in_offset_order_with_topic_key_and_time) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        std::int64_t const first =
            co_await db.async_publish("t", payload::raw("1"), "k", asio::deferred);
        co_await db.async_publish("other", payload::raw("9"), asio::deferred);
        co_await db.async_publish("t", payload::raw("2"), asio::deferred);
        consumer c(db, "t", "n");
        batch const b = co_await c.async_read(asio::deferred);
        GANDER_REQUIRE(b.size() == 2);
        EXPECT_EQ(payloads(b), "1 2");
        EXPECT_EQ(b[0].offset(), first);
        EXPECT_EQ(b[0].topic(), "t");
        EXPECT_EQ(b[0].key(), "k");
        EXPECT_EQ(b[1].key(), std::nullopt);
        EXPECT_GT(b[1].offset(), b[0].offset());
        EXPECT_NEAR(static_cast<double>(b[0].created_at()), static_cast<double>(::time(nullptr)),
                    60);
        EXPECT_EQ(b.began_at(), 0);
        EXPECT_EQ(b.ends_at(), b[1].offset());
        EXPECT_TRUE(b.first());
    });
}

TEST_F(streams, many_in_one_call_have_consecutive_offsets) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        std::vector<payload> bodies(500, payload::raw("1"));
        auto const offsets = co_await db.async_publish_many("t", bodies, asio::deferred);
        GANDER_REQUIRE(offsets.size() == 500);
        for (std::size_t i = 1; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], offsets[i - 1] + 1);
        bodies.clear();
        auto const [ec, none] = co_await db.async_publish_many("t", bodies, tuple);
        EXPECT_FALSE(ec);
        EXPECT_TRUE(none.empty());
    });
}

TEST_F(streams, a_rolled_back_event_has_no_offset_and_none_reads_it) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        consumer c(db, "t", "n");
        auto const thrown = [](transaction& tx) {
            gander::publish(tx, "t", payload::raw("1"), "k");
            throw std::runtime_error("no");
        };
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(thrown, tuple));
        EXPECT_TRUE(e);
        EXPECT_EQ(co_await read(c), "nothing");
        auto const kept = [](transaction& tx) { gander::publish(tx, "t", payload::raw("2"), "k"); };
        co_await db.async_transact(kept, asio::deferred);
        batch const b = co_await c.async_read(asio::deferred);
        EXPECT_EQ(payloads(b), "2");
        EXPECT_EQ(b[0].key(), "k");
    });
}

TEST_F(streams, a_read_waits_for_the_next_event) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        consumer c(db, "t", "n");
        auto const [none, b] = co_await c.async_read({.wait = 20ms}, tuple);
        EXPECT_EQ(none, errc::timed_out);
        spawn_on(io, [&]() -> awaitable<void> {
            co_await pause(5ms);
            co_await db.async_publish("t", payload::raw("1"), asio::deferred);
        });
        co_await c.async_wait(asio::deferred);
        EXPECT_EQ(payloads(co_await c.async_read(asio::deferred)), "1");
        auto const [bad, x] = co_await c.async_read({.max = 0}, tuple);
        EXPECT_EQ(bad, errc::out_of_range);
    });
}

TEST_F(streams, the_offset_is_durable_and_only_what_was_committed_is_skipped) {
    run([&]() -> awaitable<void> {
        {
            database db(io, path);
            co_await publish(db, 1, 5);
            consumer c(db, "t", "n");
            batch const b = co_await c.async_read({.max = 2}, asio::deferred);
            co_await c.async_commit(b, asio::deferred);
            EXPECT_EQ(co_await c.async_offset(asio::deferred), b.ends_at());
            EXPECT_EQ(co_await read(c, 2), "3 4");  // read, and not committed
        }
        database db(io, path);
        consumer c(db, "t", "n");
        batch const b = co_await c.async_read(asio::deferred);
        EXPECT_EQ(payloads(b), "3 4 5");
        EXPECT_FALSE(b.first());
        consumer other(db, "t", "other");
        EXPECT_EQ(co_await read(other), "1 2 3 4 5");
    });
}

TEST_F(streams, stopping_within_a_batch_at_any_point_goes_on_behind_it) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 4);
        for (std::size_t k = 0; k <= 4; ++k) {
            std::string const name = "n" + std::to_string(k);
            consumer c(db, "t", name);
            batch const b = co_await c.async_read(asio::deferred);
            GANDER_REQUIRE(b.size() == 4);
            co_await c.async_commit(b.prefix(k), asio::deferred);
            EXPECT_EQ(co_await c.async_offset(asio::deferred), static_cast<std::int64_t>(k));
            consumer next(db, "t", name);
            std::string wanted;
            for (std::size_t i = k + 1; i <= 4; ++i)
                wanted += (wanted.empty() ? "" : " ") + std::to_string(i);
            if (k == 4) wanted = "nothing";
            EXPECT_EQ(co_await read(next), wanted);
        }
    });
}

TEST_F(streams, batches_committed_one_after_the_other_move_the_offset_on) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 10);
        consumer c(db, "t", "n");
        for (std::string const wanted : {"1 2 3", "4 5 6", "7 8 9", "10"}) {
            batch const b = co_await c.async_read({.max = 3}, asio::deferred);
            EXPECT_EQ(payloads(b), wanted);
            co_await c.async_commit(b, asio::deferred);
            EXPECT_EQ(co_await c.async_offset(asio::deferred), b.ends_at());
        }
    });
}

TEST_F(streams, two_handles_of_one_name_each_read_everything_and_one_of_them_commits) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 4);
        consumer a(db, "t", "n");
        consumer b(db, "t", "n");
        batch const of_a = co_await a.async_read({.max = 3}, asio::deferred);
        batch const of_b = co_await b.async_read(asio::deferred);
        EXPECT_EQ(payloads(of_a), "1 2 3");
        EXPECT_EQ(payloads(of_b), "1 2 3 4");
        co_await a.async_commit(of_a, asio::deferred);
        auto const [late] = co_await b.async_commit(of_b, tuple);
        EXPECT_EQ(late, errc::offset_moved);
        EXPECT_EQ(late, condition::gone);
        EXPECT_EQ(co_await a.async_offset(asio::deferred), 3);
        // Not a second time either.
        auto const [again] = co_await a.async_commit(of_a, tuple);
        EXPECT_EQ(again, errc::offset_moved);
        EXPECT_EQ(co_await a.async_offset(asio::deferred), 3);
    });
}

TEST_F(streams, a_commit_never_goes_back) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 10);
        consumer c(db, "t", "n");
        batch const first = co_await c.async_read({.max = 5}, asio::deferred);
        batch const second = co_await c.async_read({.max = 5}, asio::deferred);
        co_await c.async_commit(first, asio::deferred);
        co_await c.async_commit(second, asio::deferred);
        for (batch const& old : {first, first.prefix(2)}) {
            auto const [ec] = co_await c.async_commit(old, tuple);
            EXPECT_EQ(ec, errc::offset_moved);
        }
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 10);
    });
}

TEST_F(streams, a_batch_out_of_turn_cannot_take_the_one_before_it_with_it) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 4);
        consumer c(db, "t", "n");
        batch const first = co_await c.async_read({.max = 2}, asio::deferred);
        batch const second = co_await c.async_read({.max = 2}, asio::deferred);
        auto const [early] = co_await c.async_commit(second, tuple);
        EXPECT_EQ(early, errc::offset_moved);
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 0);
        co_await c.async_commit(first, asio::deferred);
        co_await c.async_commit(second, asio::deferred);
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 4);
    });
}

TEST_F(streams, the_offset_and_the_rows_of_the_handler_are_one_commit) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 3);
        consumer c(db, "t", "n");
        batch const b = co_await c.async_read(asio::deferred);
        auto const store = [&](transaction& tx) {
            tx.execute("CREATE TABLE IF NOT EXISTS seen(payload)");
            for (event const& e : b) tx.execute("INSERT INTO seen VALUES(?)", e.payload());
            c.commit(tx, b);
        };
        co_await db.async_transact(store, asio::deferred);
        // The second time the offset has moved: nothing of it stays.
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(store, tuple));
        EXPECT_EQ(code_of(e), errc::offset_moved);
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM seen"), 3);
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 3);
    });
}

TEST_F(streams, a_seek_moves_offset_and_position_both_ways) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 6);
        consumer c(db, "t", "n");
        EXPECT_EQ(co_await read(c, 2), "1 2");
        co_await c.async_seek(4, asio::deferred);
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 4);
        batch const b = co_await c.async_read(asio::deferred);
        EXPECT_EQ(payloads(b), "5 6");
        co_await c.async_commit(b, asio::deferred);
        co_await c.async_seek(1, asio::deferred);
        EXPECT_EQ(co_await read(c), "2 3 4 5 6");
        co_await c.async_seek(6, asio::deferred);
        EXPECT_EQ(co_await read(c), "nothing");
        for (std::int64_t const bad : {std::int64_t{-1}, std::int64_t{7}}) {
            auto const [ec] = co_await c.async_seek(bad, tuple);
            EXPECT_EQ(ec, errc::offset_out_of_range);
        }
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 6);
    });
}

TEST_F(streams, a_consumer_without_an_offset_begins_where_its_options_say) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 4);
        raw_db(path).execute(
            "UPDATE _honker_stream SET created_at = 1000 + offset WHERE topic = 't'");
        consumer earliest(db, "t", "a", {.start = start::earliest});
        consumer latest(db, "t", "b", {.start = start::latest});
        consumer at(db, "t", "c",
                    {.start = start::at(std::chrono::system_clock::time_point(1003s))});
        consumer after(db, "t", "d", {.start = start::after(3)});
        consumer beyond(db, "t", "e", {.start = start::after(5)});
        EXPECT_EQ(co_await read(earliest), "1 2 3 4");
        EXPECT_EQ(co_await read(latest), "nothing");
        EXPECT_EQ(co_await read(at), "3 4");
        EXPECT_EQ(co_await read(after), "4");
        auto const [ec, b] = co_await beyond.async_read(tuple);
        EXPECT_EQ(ec, errc::offset_out_of_range);
        co_await publish(db, 5, 5);
        EXPECT_EQ(co_await read(latest), "5");
        // The saved offset wins over the option.
        co_await earliest.async_seek(2, asio::deferred);
        consumer again(db, "t", "a", {.start = start::latest});
        EXPECT_EQ(co_await read(again), "3 4 5");
    });
}

TEST_F(streams, a_reader_without_a_name_saves_nothing) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 3);
        consumer reader(db, "t", consumer_options{.start = start::after(1)});
        batch const b = co_await reader.async_read(asio::deferred);
        EXPECT_EQ(payloads(b), "2 3");
        auto const [ec] = co_await reader.async_commit(b, tuple);
        EXPECT_EQ(ec, errc::invalid_name);
        co_await reader.async_seek(0, asio::deferred);
        EXPECT_EQ(co_await read(reader), "1 2 3");
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_stream_consumers"), 0);
    });
}

TEST_F(streams, a_saved_offset_beyond_the_end_is_an_error_and_a_seek_mends_it) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 10);
        raw_db(path).execute("INSERT INTO _honker_stream_consumers VALUES('n', 't', 1000)");
        consumer c(db, "t", "n");
        auto const [ec, b] = co_await c.async_read(tuple);
        EXPECT_EQ(ec, errc::offset_out_of_range);
        auto const [waited] = co_await c.async_wait(tuple);
        EXPECT_EQ(waited, errc::offset_out_of_range);
        co_await c.async_seek(8, asio::deferred);
        EXPECT_EQ(co_await read(c), "9 10");
    });
}

TEST_F(streams, pruned_events_are_skipped) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await publish(db, 1, 5);
        consumer c(db, "t", "n");
        raw_db(path).execute("DELETE FROM _honker_stream WHERE offset < 4");
        batch const b = co_await c.async_read(asio::deferred);
        EXPECT_EQ(payloads(b), "4 5");
        co_await c.async_commit(b, asio::deferred);
        raw_db(path).execute("DELETE FROM _honker_stream");
        consumer again(db, "t", "n");
        EXPECT_EQ(co_await read(again), "nothing");
        co_await publish(db, 6, 6);
        EXPECT_EQ(co_await read(again), "6");
    });
}

TEST_F(streams, an_offset_that_could_not_be_saved_for_a_lock_can_be_saved_later) {
    run([&]() -> awaitable<void> {
        database db(io, path, {.busy_deadline = 100ms});
        co_await publish(db, 1, 4);
        consumer c(db, "t", "n");
        batch const b = co_await c.async_read({.max = 2}, asio::deferred);
        foreign_writer holder(path);
        holder.run("BEGIN IMMEDIATE");
        auto const [ec] = co_await c.async_commit(b, tuple);
        EXPECT_EQ(ec, errc::busy);
        EXPECT_EQ(ec, condition::try_again);
        EXPECT_EQ(co_await read(c), "3 4");  // reading goes on
        holder.run("ROLLBACK");
        co_await c.async_commit(b, asio::deferred);
        EXPECT_EQ(co_await c.async_offset(asio::deferred), 2);
    });
}

TEST_F(streams, a_backlog_larger_than_any_shared_read_is_read_whole) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        raw_db(path).execute(
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 20000) "
            "INSERT INTO _honker_stream(topic, payload) SELECT iif(i % 4, 'x', 't'), i FROM s");
        consumer c(db, "t", "n");
        int wanted = 0;
        while (wanted < 20000) {
            batch const b = co_await c.async_read({.max = 700, .wait = patience}, asio::deferred);
            for (event const& e : b) EXPECT_EQ(e.payload(), std::to_string(wanted += 4));
        }
        EXPECT_EQ(co_await read(c), "nothing");
    });
}

TEST_F(streams, names_are_checked) {
    database db(io, path);
    EXPECT_EQ(code_of([&] { consumer(db, "", "n"); }), errc::invalid_name);
    EXPECT_EQ(code_of([&] { consumer(db, "t", ""); }), errc::invalid_name);
    run([&]() -> awaitable<void> {
        auto const [ec, offset] = co_await db.async_publish("", payload::raw("1"), tuple);
        EXPECT_EQ(ec, errc::invalid_name);
        consumer none;
        auto const [closed, b] = co_await none.async_read(tuple);
        EXPECT_EQ(closed, errc::closed);
    });
}

TEST_F(streams, four_publishing_processes_are_read_by_two_others_in_the_order_of_each) {
    constexpr int writers = 4;
    constexpr int each = 250;
    { database const made(io, path); }
    std::vector<child> consuming;
    for (char const* name : {"a", "b"})
        consuming.push_back(peer({"consume", path, "t", name, std::to_string(writers * each)}));
    for (child& c : consuming) c.expect("ready");
    std::vector<child> publishing;
    for (int i = 0; i < writers; ++i)
        publishing.push_back(peer({"publish", path, "t", std::to_string(each)}));
    for (child& p : publishing) p.expect("ready");
    for (child& p : publishing) p.say("go");

    for (child& c : consuming) {
        std::vector<std::string> lines = c.rest(scaled(60s));
        ASSERT_EQ(lines.size(), writers * each + 1U);
        EXPECT_EQ(lines.back(), "done");
        lines.pop_back();
        raw_db db(path);
        std::map<std::string, int> last;
        std::int64_t offset = 0;
        for (std::string const& line : lines) {
            std::size_t const blank = line.find(' ');
            std::int64_t const here = std::stoll(line.substr(0, blank));
            EXPECT_GT(here, offset);
            offset = here;
            std::string const key =
                db.text("SELECT key FROM _honker_stream WHERE offset = " + line.substr(0, blank));
            EXPECT_EQ(line.substr(blank + 1), std::to_string(++last[key]));
        }
        EXPECT_EQ(last.size(), static_cast<std::size_t>(writers));
        EXPECT_EQ(c.wait(), 0);
    }
    EXPECT_EQ(raw_db(path).text("SELECT group_concat(offset) FROM _honker_stream_consumers"),
              std::to_string(writers * each) + ',' + std::to_string(writers * each));
}

}  // namespace
}  // namespace gander::test

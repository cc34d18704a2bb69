// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What a listener receives: which notifications, in which order, how often.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <set>

namespace gander::test {
namespace {

class channels : public io_test {
protected:
    /// Commits `n` notifications on `channel` at once, payloads 1 to n.
    static void fill(raw_db& db, std::string const& channel, int n) {
        db.execute("WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < " +
                   std::to_string(n) +
                   ") INSERT INTO _honker_notifications(channel, payload) SELECT '" + channel +
                   "', i FROM s");
    }
};

awaitable<std::string> next(listener& l) {
    notification const n = co_await l.async_receive({.wait = patience}, asio::deferred);
    co_return std::string(n.payload());
}

/// Nothing is there: what is not delivered at once would be delivered by no later look either,
/// since a look reads all there is.
awaitable<bool> nothing_more(listener& l) {
    auto const [ec, n] = co_await l.async_receive({.wait = 0s}, tuple);
    co_return ec == errc::timed_out;
}

TEST_F(channels, a_listener_receives_what_commits_after_it_was_made_and_nothing_before) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        listener l = db.listen("c");
        std::int64_t const id = co_await db.async_notify("c", payload::raw("2"), asio::deferred);
        notification const n = co_await l.async_receive(asio::deferred);
        EXPECT_EQ(n.id(), id);
        EXPECT_EQ(n.channel(), "c");
        EXPECT_EQ(n.payload(), "2");
        EXPECT_EQ(l.position(), id);
        EXPECT_TRUE(co_await nothing_more(l));
    });
}

TEST_F(channels, what_commits_between_making_a_listener_and_its_first_receive_is_received) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener here = db.listen("c");
        listener there = co_await db.async_listen("c", asio::deferred);
        raw_db foreign(path);
        fill(foreign, "c", 3);
        for (listener* l : {&here, &there})
            for (char const* wanted : {"1", "2", "3"}) EXPECT_EQ(co_await next(*l), wanted);
    });
}

TEST_F(channels, notifications_come_in_id_order_each_once) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        constexpr int count = 1000;
        for (int i = 0; i < count; ++i)
            db.async_notify("c", payload::raw(std::to_string(i)),
                            [](error_code const& ec, std::int64_t) { EXPECT_FALSE(ec); });
        std::int64_t last = 0;
        std::set<std::string> seen;
        for (int i = 0; i < count; ++i) {
            notification const n = co_await l.async_receive({.wait = patience}, asio::deferred);
            EXPECT_GT(n.id(), last);
            last = n.id();
            seen.insert(std::string(n.payload()));
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
        EXPECT_TRUE(co_await nothing_more(l));
    });
}

TEST_F(channels, a_star_at_the_end_is_a_prefix_and_elsewhere_it_is_literal) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener prefix = db.listen("or*");
        listener all = db.listen("*");
        listener inner = db.listen("o*r");
        listener exact = db.listen_exact("or*");
        for (char const* channel : {"or", "orders", "o*r", "or*", "OR", "other"})
            co_await db.async_notify(channel, payload::text(channel), asio::deferred);
        for (char const* wanted : {"\"or\"", "\"orders\"", "\"or*\""})
            EXPECT_EQ(co_await next(prefix), wanted);
        for (char const* wanted :
             {"\"or\"", "\"orders\"", "\"o*r\"", "\"or*\"", "\"OR\"", "\"other\""})
            EXPECT_EQ(co_await next(all), wanted);
        EXPECT_EQ(co_await next(inner), "\"o*r\"");
        EXPECT_EQ(co_await next(exact), "\"or*\"");
        for (listener* l : {&prefix, &all, &inner, &exact}) EXPECT_TRUE(co_await nothing_more(*l));
    });
}

TEST_F(channels, since_goes_on_from_where_another_listener_stopped) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener first = db.listen("c");
        raw_db foreign(path);
        fill(foreign, "c", 5);
        for (char const* wanted : {"1", "2"}) EXPECT_EQ(co_await next(first), wanted);
        listener second = db.listen("c", {.since = first.position()});
        for (char const* wanted : {"3", "4", "5"}) EXPECT_EQ(co_await next(second), wanted);
        listener all = db.listen("c", {.since = 0});
        for (char const* wanted : {"1", "2", "3", "4", "5"}) EXPECT_EQ(co_await next(all), wanted);
        EXPECT_EQ(code_of([&] { db.listen("c", {.since = -1}); }), errc::out_of_range);
        EXPECT_EQ(code_of([&] { db.listen("c", {.since = 6}); }), errc::offset_out_of_range);
    });
}

TEST_F(channels, a_rollback_publishes_nothing) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        auto const thrown = [](transaction& tx) {
            notify(tx, "c", payload::raw("1"));
            throw std::runtime_error("no");
        };
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(thrown, tuple));
        EXPECT_TRUE(e);
        raw_db foreign(path);
        foreign.execute("BEGIN");
        fill(foreign, "c", 3);
        foreign.execute("ROLLBACK");
        auto const kept = [](transaction& tx) { notify(tx, "c", payload::raw("2")); };
        co_await db.async_transact(kept, asio::deferred);
        EXPECT_EQ(co_await next(l), "2");
        EXPECT_TRUE(co_await nothing_more(l));
    });
}

TEST_F(channels, nothing_of_a_transaction_is_received_before_it_commits) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        raw_db foreign(path);
        foreign.execute("BEGIN IMMEDIATE");
        fill(foreign, "c", 2);
        auto const [ec, n] = co_await l.async_receive({.wait = 50ms}, tuple);
        EXPECT_EQ(ec, errc::timed_out);
        foreign.execute("COMMIT");
        EXPECT_EQ(co_await next(l), "1");
        EXPECT_EQ(co_await next(l), "2");
    });
}

TEST_F(channels, a_busy_channel_drops_nothing_of_a_quiet_one) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener cold = db.listen("cold");
        listener hot = db.listen("hot");
        raw_db foreign(path);
        EXPECT_TRUE(co_await nothing_more(cold));
        fill(foreign, "hot", 2500);
        fill(foreign, "cold", 1);
        fill(foreign, "hot", 2500);
        for (int round = 0; round < 2; ++round)
            for (int i = 1; i <= 2500; ++i) EXPECT_EQ(co_await next(hot), std::to_string(i));
        EXPECT_EQ(co_await next(cold), "1");
    });
}

TEST_F(channels, a_listener_that_falls_behind_receives_every_notification) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener slow = db.listen("c");
        listener quick = db.listen("c");
        raw_db foreign(path);
        constexpr int rounds = 100;
        constexpr int each = 100;
        bool ended = false;
        spawn_on(io, [&]() -> awaitable<void> {
            for (int i = 0; i < rounds * each; ++i)
                EXPECT_EQ(co_await next(quick), std::to_string(i % each + 1));
            ended = true;
        });
        // The slow one takes one for each hundred that commit, and what is left afterwards.
        int taken = 0;
        for (int round = 0; round < rounds; ++round) {
            fill(foreign, "c", each);
            EXPECT_EQ(co_await next(slow), std::to_string(taken++ % each + 1));
        }
        for (; taken < rounds * each; ++taken)
            EXPECT_EQ(co_await next(slow), std::to_string(taken % each + 1));
        EXPECT_TRUE(co_await nothing_more(slow));
        while (!ended) co_await pause(1ms);
    });
}

TEST_F(channels, rows_pruned_before_they_were_read_are_reported_once_and_the_rest_follows) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        raw_db foreign(path);
        fill(foreign, "c", 5000);
        EXPECT_EQ(co_await next(l), "1");
        foreign.execute("DELETE FROM _honker_notifications");
        fill(foreign, "c", 3);
        // The rows of the last read are still in hand.
        int before = 1;
        error_code ec;
        notification n;
        while (!ec) {
            std::tie(ec, n) = co_await l.async_receive({.wait = patience}, tuple);
            if (!ec) {
                EXPECT_EQ(n.payload(), std::to_string(++before));
            }
        }
        EXPECT_EQ(ec, errc::lagged);
        for (char const* wanted : {"1", "2", "3"}) EXPECT_EQ(co_await next(l), wanted);
        EXPECT_TRUE(co_await nothing_more(l));
    });
}

TEST_F(channels, pruning_what_was_read_or_is_of_other_channels_is_no_gap) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        raw_db foreign(path);
        fill(foreign, "c", 2);
        EXPECT_EQ(co_await next(l), "1");
        EXPECT_EQ(co_await next(l), "2");
        foreign.execute("DELETE FROM _honker_notifications");
        fill(foreign, "c", 1);
        EXPECT_EQ(co_await next(l), "1");
        EXPECT_TRUE(co_await nothing_more(l));
    });
}

TEST_F(channels, the_payload_is_delivered_byte_for_byte) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        listener l = db.listen("c");
        std::vector<std::string> const texts = {"\"42\"",
                                                "42",
                                                "null",
                                                "\"\"",
                                                " { \"a\" : 1e2 } ",
                                                "\"a\\u0000b\"",
                                                "\"\\ud83e\\udebf\"",
                                                "1.000000000000000000001"};
        for (std::string const& t : texts)
            co_await db.async_notify("c", payload::raw(t), asio::deferred);
        for (std::string const& t : texts) EXPECT_EQ(co_await next(l), t);
    });
}

TEST_F(channels, a_name_that_is_empty_or_holds_nul_or_is_not_utf8_is_refused) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        using std::string_view_literals::operator""sv;
        for (std::string_view bad : {""sv, "a\0b"sv, "\xff"sv}) {
            EXPECT_EQ(code_of([&] { db.listen(bad); }), errc::invalid_name);
            auto const [ec, id] = co_await db.async_notify(bad, payload::raw("1"), tuple);
            EXPECT_EQ(ec, errc::invalid_name);
            auto const [e, l] = co_await db.async_listen(bad, tuple);
            EXPECT_EQ(code_of(e), errc::invalid_name);
        }
    });
}

}  // namespace
}  // namespace gander::test

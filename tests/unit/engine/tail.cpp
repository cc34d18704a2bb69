// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/tail.hpp"

#include <gander/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gander::engine {
namespace {

using row = detail::notification_row;
using subscriber = subscription<row>;
using tail_type = tail<row>;
using need = tail_type::need;

class fake_subscriber final : public subscriber {
public:
    using subscription::subscription;
    void serve() override { ++served; }
    int served = 0;
};

/// A table of rows in memory, and a tail over it that is driven by hand.
class Tail : public ::testing::Test {
protected:
    using ids = std::vector<std::int64_t>;
    using ready_list = std::vector<std::shared_ptr<subscriber>>;

    Tail() { t.report_pruned(errc::lagged); }

    std::shared_ptr<fake_subscriber> make(std::string channel, std::int64_t from = 0,
                                          bool prefix = false) {
        auto s = std::make_shared<fake_subscriber>(
            sqlite::channel_pattern{std::move(channel), prefix}, from);
        s->owned_by(s);
        return s;
    }

    void commit(std::string const& channel) {
        std::int64_t const id = ++newest;
        table[id] = channel;
        t.mark_stale();
    }

    page<row> read(std::int64_t after, std::size_t limit = 1000,
                   sqlite::channel_pattern const* pattern = nullptr) {
        page<row> p;
        p.after = p.end = after;
        for (auto at = table.upper_bound(after); at != table.end(); ++at) {
            if (p.rows->size() == limit) {
                p.more = true;
                return p;
            }
            p.end = at->first;
            if (pattern != nullptr && !pattern->matches(at->second)) continue;
            p.rows->push_back({at->first, at->second, "{}", 0});
        }
        p.end = std::max(after, newest);
        return p;
    }

    /// Catches up as the file does: one read, and on while told to.
    void catch_up(subscriber& s) {
        ready_list ready;
        while (t.end_catch_up(s, read(t.examined(s), 1000, &s.pattern()), ready)) {
        }
    }

    /// Waits, and does what the wait needs.
    void wait(fake_subscriber& s) {
        need const what = t.wait(s);
        if (what == need::catch_up) catch_up(s);
        if (t.needs_read()) shared_read();
    }

    void shared_read(std::size_t limit = 1000) {
        ready_list ready;
        while (t.begin_shared_read())
            if (!t.end_shared_read(read(t.cursor(), limit), ready)) break;
        last_ready = ready.size();
    }

    static ids taken(subscriber& s) {
        ids all;
        while (s.has_row()) all.push_back(s.take_row()->id);
        return all;
    }

    tail_type t;
    std::map<std::int64_t, std::string> table;
    std::int64_t newest = 0;
    std::size_t last_ready = 0;
};

TEST_F(Tail, OneReadServesAllWhoWait) {
    auto const a = make("a");
    auto const b = make("b");
    auto const all = make("", 0, true);
    for (auto const& s : {a, b, all}) wait(*s);
    EXPECT_TRUE(t.wanted());
    commit("a");
    commit("b");
    commit("a");
    shared_read();
    EXPECT_EQ(last_ready, 3U);
    EXPECT_EQ(taken(*a), (ids{1, 3}));
    EXPECT_EQ(taken(*b), (ids{2}));
    EXPECT_EQ(taken(*all), (ids{1, 2, 3}));
}

TEST_F(Tail, NothingIsReadWhenNobodyWaits) {
    auto const a = make("a");
    commit("a");
    EXPECT_FALSE(t.needs_read());
    EXPECT_FALSE(t.begin_shared_read());
    wait(*a);
    EXPECT_EQ(taken(*a), (ids{1}));
}

TEST_F(Tail, WhoIsBehindCatchesUpBeforeItJoins) {
    auto const a = make("a");
    wait(*a);
    for (int i = 0; i < 5; ++i) commit("a");
    shared_read();
    auto const late = make("a", 2);
    EXPECT_EQ(t.wait(*late), need::catch_up);
    catch_up(*late);
    EXPECT_EQ(taken(*late), (ids{3, 4, 5}));
    wait(*late);
    commit("a");
    shared_read();
    EXPECT_EQ(taken(*late), (ids{6}));
}

TEST_F(Tail, AJoinedSubscriberGetsNothingTwiceWhenTheCursorIsBehindIt) {
    auto const behind = make("a", 0);
    wait(*behind);
    for (int i = 0; i < 4; ++i) table[++newest] = "a";
    auto const ahead = make("a", 3);
    EXPECT_NE(t.wait(*ahead), need::catch_up) << "it is at or beyond the cursor";
    shared_read();
    EXPECT_EQ(taken(*ahead), (ids{4}));
    EXPECT_EQ(taken(*behind), (ids{1, 2, 3, 4}));
}

TEST_F(Tail, WhoDoesNotTakeItsRowsDropsOutAndLosesNothing) {
    auto const slow = make("a");
    auto const quick = make("a");
    wait(*slow);
    wait(*quick);
    commit("a");
    shared_read();
    EXPECT_EQ(taken(*quick), (ids{1}));
    for (int i = 0; i < 10; ++i) {
        wait(*quick);
        commit("a");
        shared_read();
        EXPECT_EQ(taken(*quick).size(), 1U);
    }
    EXPECT_EQ(taken(*slow), (ids{1})) << "it holds no more than one read's rows";
    wait(*slow);
    EXPECT_EQ(taken(*slow), (ids{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(Tail, AnIdleSubscriberOfAQuietChannelIsNotHeldBackByABusyOne) {
    auto const quiet = make("cold");
    auto const busy = make("hot");
    wait(*quiet);
    wait(*busy);
    for (int i = 0; i < 500; ++i) {
        commit("hot");
        shared_read();
        taken(*busy);
        wait(*busy);
    }
    commit("cold");
    shared_read();
    EXPECT_EQ(taken(*quiet), (ids{501}));
}

TEST_F(Tail, ALimitedReadGoesOnWhereItEnded) {
    auto const a = make("a");
    wait(*a);
    for (int i = 0; i < 10; ++i) commit("a");
    ids all;
    for (int rounds = 0; all.size() < 10 && rounds < 100; ++rounds) {
        shared_read(3);
        for (std::int64_t id : taken(*a)) all.push_back(id);
        if (t.wait(*a) == need::catch_up) catch_up(*a);
        for (std::int64_t id : taken(*a)) all.push_back(id);
    }
    EXPECT_EQ(all, (ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST_F(Tail, ACommitDuringAReadMakesItGoRoundAgain) {
    auto const a = make("a");
    wait(*a);
    commit("a");
    ASSERT_TRUE(t.begin_shared_read());
    auto const p = read(t.cursor());
    commit("b");
    EXPECT_FALSE(t.begin_shared_read()) << "one read at a time";
    ready_list ready;
    auto const b = make("b", 1);
    t.wait(*b);
    EXPECT_TRUE(t.end_shared_read(p, ready)) << "the commit during the read would be missed";
    shared_read();
    EXPECT_EQ(taken(*b), (ids{2}));
}

TEST_F(Tail, WhoJoinsFromFurtherBackDuringAReadMissesNothing) {
    auto const a = make("a");
    wait(*a);
    for (int i = 0; i < 3; ++i) commit("a");
    shared_read();
    taken(*a);
    wait(*a);
    commit("a");
    ASSERT_TRUE(t.begin_shared_read());
    auto const p = read(t.cursor());
    t.remove(*a);  // everybody leaves
    auto const back = make("a", 1);
    if (t.wait(*back) == need::catch_up) catch_up(*back);
    ready_list ready;
    if (t.end_shared_read(p, ready)) shared_read();
    ids got = taken(*back);
    wait(*back);
    for (std::int64_t id : taken(*back)) got.push_back(id);
    EXPECT_EQ(got, (ids{2, 3, 4}));
}

TEST_F(Tail, AMovedSubscriberReadsFromItsNewPlace) {
    auto const a = make("a");
    for (int i = 0; i < 5; ++i) commit("a");
    wait(*a);
    EXPECT_EQ(taken(*a).size(), 5U);
    t.reposition(*a, 2);
    EXPECT_FALSE(a->has_row());
    wait(*a);
    EXPECT_EQ(taken(*a), (ids{3, 4, 5}));
    t.reposition(*a, 5);
    wait(*a);
    EXPECT_FALSE(a->has_row());
    commit("a");
    shared_read();
    EXPECT_EQ(taken(*a), (ids{6}));
}

TEST_F(Tail, AMoveDuringACatchUpReadsAgain) {
    auto const other = make("x");
    for (int i = 0; i < 5; ++i) commit("a");
    wait(*other);
    auto const a = make("a", 0);
    ASSERT_EQ(t.wait(*a), need::catch_up);
    auto const p = read(t.examined(*a), 1000, &a->pattern());
    t.reposition(*a, 3);
    ready_list ready;
    EXPECT_TRUE(t.end_catch_up(*a, p, ready)) << "rows from the old place were handed out";
    catch_up(*a);
    EXPECT_EQ(taken(*a), (ids{4, 5}));
}

TEST_F(Tail, RowsPrunedAwayAreReportedAsAGapOnce) {
    auto const a = make("a");
    wait(*a);
    for (int i = 0; i < 5; ++i) commit("a");
    table.erase(1);
    table.erase(2);
    ASSERT_TRUE(t.begin_shared_read());
    auto p = read(t.cursor());
    p.pruned = 2;
    ready_list ready;
    t.end_shared_read(p, ready);
    EXPECT_EQ(ready.size(), 1U);
    EXPECT_EQ(a->take_error(), errc::lagged);
    EXPECT_FALSE(a->take_error());
    EXPECT_EQ(taken(*a), (ids{3, 4, 5}));
}

TEST_F(Tail, AGapIsReportedByACatchUpToo) {
    auto const other = make("x", 9);
    wait(*other);
    auto const a = make("a", 1);
    ASSERT_EQ(t.wait(*a), need::catch_up);
    page<row> p;
    p.after = 1;
    p.end = 9;
    p.pruned = 6;
    ready_list ready;
    EXPECT_FALSE(t.end_catch_up(*a, p, ready));
    EXPECT_EQ(ready.size(), 1U);
    EXPECT_EQ(a->take_error(), errc::lagged);
}

TEST_F(Tail, AFailedReadIsToldToThoseWhoWaitAndReadAgainLater) {
    auto const a = make("a");
    auto const idle = make("a");
    wait(*a);
    commit("a");
    ASSERT_TRUE(t.begin_shared_read());
    ready_list ready;
    t.fail_shared_read(errc::file_replaced, ready);
    EXPECT_EQ(ready.size(), 1U);
    EXPECT_EQ(a->take_error(), errc::file_replaced);
    EXPECT_FALSE(idle->has_error());
    wait(*a);
    EXPECT_EQ(taken(*a), (ids{1}));
}

TEST_F(Tail, AWaitForNowIsToldThatThereIsNothing) {
    auto const a = make("a");
    ASSERT_EQ(t.wait_once(*a), need::catch_up);
    ready_list ready;
    EXPECT_FALSE(t.end_catch_up(*a, read(0, 1000, &a->pattern()), ready));
    EXPECT_EQ(ready.size(), 1U);
    EXPECT_TRUE(a->take_nothing_there());
    EXPECT_FALSE(a->take_nothing_there());
    commit("a");
    ASSERT_EQ(t.wait_once(*a), need::catch_up);
    ready.clear();
    t.end_catch_up(*a, read(0, 1000, &a->pattern()), ready);
    EXPECT_FALSE(a->take_nothing_there());
    EXPECT_EQ(taken(*a), (ids{1}));
}

TEST_F(Tail, WhoIsDestroyedWhileJoinedIsForgotten) {
    auto const keep = make("a");
    wait(*keep);
    {
        auto const gone = make("a");
        wait(*gone);
        t.remove(*gone);
    }
    commit("a");
    shared_read();
    EXPECT_EQ(taken(*keep), (ids{1}));
}

TEST_F(Tail, RandomHistoriesDeliverEachRowOnceInOrder) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);  // NOLINT: the same every time
        tail_type fresh;
        std::swap(t, fresh);
        table.clear();
        newest = 0;
        std::vector<std::shared_ptr<fake_subscriber>> all;
        std::map<fake_subscriber*, std::pair<ids, std::int64_t>> got;
        auto const take = [&](fake_subscriber& s) {
            for (std::int64_t id : taken(s)) got[&s].first.push_back(id);
        };
        for (int step = 0; step < 300; ++step) {
            switch (random() % 6) {
                case 0:
                    if (all.size() < 6) {
                        auto const s = make(random() % 3 == 0   ? ""
                                            : random() % 2 == 0 ? "a"
                                                                : "b",
                                            newest, false);
                        all.push_back(s);
                        got[s.get()].second = newest;
                    }
                    break;
                case 1:
                    commit(random() % 2 == 0 ? "a" : "b");
                    break;
                case 2:
                    if (t.needs_read()) shared_read(1 + random() % 4);
                    break;
                default:
                    if (all.empty()) break;
                    auto& s = *all[random() % all.size()];
                    if (random() % 2 == 0) take(s);
                    if (!s.has_row() && t.wait(s) == need::catch_up) catch_up(s);
                    break;
            }
        }
        for (auto const& s : all) {
            for (int i = 0; i < 3; ++i) {
                take(*s);
                wait(*s);
            }
            take(*s);
            ids expected;
            for (auto const& [id, channel] : table)
                if (id > got[s.get()].second && s->pattern().matches(channel))
                    expected.push_back(id);
            ASSERT_EQ(got[s.get()].first, expected) << "seed " << seed;
        }
        for (auto const& s : all) t.remove(*s);
    }
}

}  // namespace
}  // namespace gander::engine

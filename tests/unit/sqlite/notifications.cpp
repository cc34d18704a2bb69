// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/sequence.hpp"
#include "unit/sqlite/store_test.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

class Notifications : public test::store_test {
protected:
    using ids = std::vector<std::int64_t>;

    static constexpr read_limit all{1000, 1 << 20};

    ids read(std::int64_t after, read_limit limit = all, bool* more = nullptr) {
        std::vector<notification_row> rows;
        bool const cut = store.notifications.read(after, limit, rows);
        if (more != nullptr) *more = cut;
        return ids_of(rows);
    }

    ids read(channel_pattern const& pattern, std::int64_t after, std::int64_t until,
             read_limit limit = all, bool* more = nullptr) {
        std::vector<notification_row> rows;
        bool const cut = store.notifications.read(pattern, after, until, limit, rows);
        if (more != nullptr) *more = cut;
        return ids_of(rows);
    }

    static ids ids_of(std::vector<notification_row> const& rows) {
        ids result;
        for (auto const& r : rows) result.push_back(r.id);
        return result;
    }
};

TEST_F(Notifications, AreReadBackAsTheyWereWritten) {
    std::int64_t const id = store.notifications.add("orders", "{\"a\":1}");
    std::vector<notification_row> rows;
    EXPECT_FALSE(store.notifications.read(0, all, rows));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].id, id);
    EXPECT_EQ(rows[0].channel, "orders");
    EXPECT_EQ(rows[0].payload, "{\"a\":1}");
    EXPECT_EQ(rows[0].created_at, start);
}

TEST_F(Notifications, ReadAfterAPositionInIdOrderUpToTheLimits) {
    for (int i = 0; i < 5; ++i) store.notifications.add("c", "123456789");
    bool more = false;
    EXPECT_EQ(read(0, {2, 1 << 20}, &more), (ids{1, 2}));
    EXPECT_TRUE(more);
    EXPECT_EQ(read(2, {3, 1 << 20}, &more), (ids{3, 4, 5}));
    EXPECT_EQ(read(5, all, &more), ids{});
    EXPECT_FALSE(more);
    EXPECT_EQ(read(0, {100, 1}, &more), (ids{1})) << "one row always fits";
    EXPECT_TRUE(more);
    EXPECT_EQ(read(0, {100, 20}, &more), (ids{1, 2}));
}

TEST_F(Notifications, APatternTakesItsChannelOrItsPrefix) {
    store.notifications.add("orders", "1");
    store.notifications.add("orders-eu", "1");
    store.notifications.add("orders*", "1");
    store.notifications.add("other", "1");
    EXPECT_EQ(read({"orders", false}, 0, 100), (ids{1}));
    EXPECT_EQ(read({"orders", true}, 0, 100), (ids{1, 2, 3}));
    EXPECT_EQ(read({"orders*", false}, 0, 100), (ids{3}));
    EXPECT_EQ(read({"", true}, 0, 100), (ids{1, 2, 3, 4}));
    EXPECT_EQ(read({"orders", true}, 1, 2), (ids{2}));
}

TEST_F(Notifications, APatternsLimitsCountItsOwnRows) {
    for (int i = 0; i < 10; ++i) store.notifications.add(i % 2 == 0 ? "a" : "b", "1");
    bool more = false;
    EXPECT_EQ(read({"b", false}, 0, 100, {2, 1 << 20}, &more), (ids{2, 4}));
    EXPECT_TRUE(more);
    EXPECT_EQ(read({"b", true}, 4, 100, {2, 1 << 20}, &more), (ids{6, 8}));
    EXPECT_TRUE(more);
}

TEST_F(Notifications, TheNewestIdSurvivesPruning) {
    EXPECT_EQ(store.notifications.newest(), 0);
    EXPECT_EQ(store.notifications.oldest(), 1);
    for (int i = 0; i < 3; ++i) store.notifications.add("c", "1");
    store.db.execute("DELETE FROM _honker_notifications WHERE id=1");
    EXPECT_EQ(store.notifications.oldest(), 2);
    store.db.execute("DELETE FROM _honker_notifications");
    EXPECT_EQ(store.notifications.newest(), 3);
    EXPECT_EQ(store.notifications.oldest(), 4);
    EXPECT_EQ(store.notifications.add("c", "1"), 4);
}

TEST_F(Notifications, ARolledBackIdWasNeverGivenOut) {
    store.notifications.add("c", "1");
    store.db.execute("BEGIN");
    store.notifications.add("c", "2");
    store.db.execute("ROLLBACK");
    EXPECT_EQ(store.notifications.newest(), 1);
}

TEST_F(Notifications, IdsBeyondFiftyThreeBitsAreExact) {
    store.notifications.add("c", "1");
    store.db.execute("UPDATE sqlite_sequence SET seq=9007199254740992");
    EXPECT_EQ(store.notifications.add("c", "1"), 9007199254740993);
    EXPECT_EQ(store.notifications.newest(), 9007199254740993);
    EXPECT_EQ(read(9007199254740992), (ids{9007199254740993}));
}

TEST_F(Notifications, AnIdThatSomebodyChoseCountsToo) {
    store.db.execute("INSERT INTO _honker_notifications(id, channel, payload) VALUES(77,'c','1')");
    EXPECT_EQ(store.notifications.newest(), 77);
    store.db.execute("DELETE FROM sqlite_sequence");
    EXPECT_EQ(store.notifications.newest(), 77);
}

TEST_F(Notifications, ReadsLeaveNoReadOpen) {
    for (int i = 0; i < 5; ++i) store.notifications.add("c", "1");
    read(0, {1, 1});
    (void)store.notifications.oldest();
    test::raw_db other(file.path());
    std::string const before = text("PRAGMA data_version");
    other.execute("DELETE FROM _honker_notifications");
    EXPECT_NE(text("PRAGMA data_version"), before) << "an open read hides commits";
}

}  // namespace
}  // namespace gander::sqlite

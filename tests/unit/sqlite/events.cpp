// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "unit/sqlite/store_test.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

class Events : public test::store_test {
protected:
    static constexpr read_limit all{1000, 1 << 20};

    std::vector<event_row> read(std::string const& topic, std::int64_t after,
                                std::int64_t until = 1000) {
        std::vector<event_row> rows;
        store.events.read(topic, after, until, all, rows);
        return rows;
    }
};

TEST_F(Events, AreReadBackAsTheyWereWritten) {
    std::int64_t const a = store.events.publish("t", std::nullopt, "1");
    std::int64_t const b = store.events.publish("t", "key", "{}");
    std::int64_t const c = store.events.publish("t", "", "2");
    store.events.publish("u", std::nullopt, "3");
    auto const rows = read("t", 0);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].offset, a);
    EXPECT_FALSE(rows[0].key);
    EXPECT_EQ(rows[1].offset, b);
    EXPECT_EQ(rows[1].key, "key");
    EXPECT_EQ(rows[1].payload, "{}");
    EXPECT_EQ(rows[1].created_at, start);
    EXPECT_EQ(rows[2].offset, c);
    EXPECT_EQ(rows[2].key, "");
}

TEST_F(Events, ManyGetConsecutiveOffsets) {
    std::vector<std::string> payloads;
    for (int i = 0; i < 37; ++i) payloads.push_back(std::to_string(i));
    store.events.publish("u", std::nullopt, "0");
    std::int64_t const first = store.events.publish_many("t", payloads);
    auto const rows = read("t", 0);
    ASSERT_EQ(rows.size(), payloads.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].offset, first + static_cast<std::int64_t>(i));
        EXPECT_EQ(rows[i].payload, payloads[i]);
        EXPECT_FALSE(rows[i].key);
    }
    EXPECT_EQ(store.events.publish_many("t", {}), 0);
}

TEST_F(Events, AReadStopsAtUntilAndAtItsLimits) {
    for (int i = 0; i < 10; ++i) store.events.publish(i % 2 == 0 ? "a" : "b", std::nullopt, "1");
    EXPECT_EQ(read("a", 0, 5).size(), 3U);
    std::vector<event_row> rows;
    EXPECT_TRUE(store.events.read(0, {4, 1 << 20}, rows));
    EXPECT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1].topic, "b");
}

TEST_F(Events, TheSavedOffsetMovesOnlyFromWhereItIs) {
    EXPECT_FALSE(store.events.saved_offset("c", "t"));
    EXPECT_FALSE(store.events.advance("c", "t", 0, 5, false)) << "none was saved";
    EXPECT_TRUE(store.events.advance("c", "t", 0, 5, true));
    EXPECT_EQ(store.events.saved_offset("c", "t"), 5);
    EXPECT_FALSE(store.events.advance("c", "t", 0, 9, true)) << "somebody else was first";
    EXPECT_FALSE(store.events.advance("c", "t", 4, 9, false));
    EXPECT_TRUE(store.events.advance("c", "t", 5, 9, false));
    EXPECT_EQ(store.events.saved_offset("c", "t"), 9);
    EXPECT_FALSE(store.events.saved_offset("c", "other"));
    EXPECT_FALSE(store.events.saved_offset("other", "t"));
}

TEST_F(Events, SeekGoesBothWays) {
    store.events.seek("c", "t", 10);
    EXPECT_EQ(store.events.saved_offset("c", "t"), 10);
    store.events.seek("c", "t", 3);
    EXPECT_EQ(store.events.saved_offset("c", "t"), 3);
}

TEST_F(Events, TheNewestOffsetSurvivesPruning) {
    EXPECT_EQ(store.events.newest(), 0);
    store.events.publish("t", std::nullopt, "1");
    store.events.publish("t", std::nullopt, "1");
    store.db.execute("DELETE FROM _honker_stream");
    EXPECT_EQ(store.events.newest(), 2);
}

TEST_F(Events, TheOffsetBeforeATimeIsFoundForEveryTime) {
    std::vector<std::int64_t> times = {start, start, start + 1, start + 5, start + 5, start + 9};
    for (std::int64_t t : times) {
        test::clock_vfs::stop_at(t * 1000);
        store.events.publish("noise", std::nullopt, "1");
        store.events.publish("t", std::nullopt, "1");
    }
    for (std::int64_t t = start - 2; t < start + 12; ++t) {
        std::int64_t const before = store.events.offset_before("t", t);
        std::size_t const expected = static_cast<std::size_t>(
            std::count_if(times.begin(), times.end(), [&](std::int64_t at) { return at >= t; }));
        EXPECT_EQ(read("t", before).size(), expected) << t - start;
    }
    EXPECT_EQ(read("none", store.events.offset_before("none", start)).size(), 0U);
}

}  // namespace
}  // namespace gander::sqlite

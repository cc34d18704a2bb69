// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Rows that no client of ours would write: whatever they hold, they are set aside with a reason and
// nine good neighbours are claimed.
#include "unit/sqlite/store_test.hpp"

#include <string>

namespace gander::sqlite {
namespace {

struct hostile {
    char const* what;
    char const* column;
    char const* value;
};

void PrintTo(hostile const& row, std::ostream* to) { *to << row.what; }

class HostileRow : public test::store_test, public ::testing::WithParamInterface<hostile> {
protected:
    void insert() {
        std::string const sql = "INSERT INTO _honker_live(queue, payload) VALUES('q','\"bad\"')";
        store.db.execute(sql.c_str());
        bad = store.db.last_insert_rowid();
        store.db.execute("UPDATE _honker_live SET run_at=1700000000, created_at=1700000000");
        store.db.execute((std::string("UPDATE _honker_live SET ") + GetParam().column + "=" +
                          GetParam().value + " WHERE id=" + std::to_string(bad))
                             .c_str());
    }

    std::int64_t bad = 0;
};

TEST_P(HostileRow, IsBuriedAndNineNeighboursFlow) {
    for (int i = 0; i < 4; ++i) store.jobs.enqueue("q", "1", due());
    insert();
    for (int i = 0; i < 5; ++i) store.jobs.enqueue("q", "1", due());
    std::size_t claimed = 0;
    for (int i = 0; i < 3; ++i)
        for (auto const& job : store.claims.claim("q", "w", 10, 60)) {
            EXPECT_NE(job.id, bad);
            ++claimed;
        }
    EXPECT_EQ(claimed, 9U);
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live WHERE id=" + std::to_string(bad)), 0)
        << "still in the queue, where nothing will ever happen to it";
    EXPECT_NE(text("SELECT last_error FROM _honker_dead WHERE id=" + std::to_string(bad)), "");
    EXPECT_FALSE(store.claims.claimable("q")) << "a claim would be tried again and again";
}

TEST_P(HostileRow, AloneKeepsNobodyBusy) {
    insert();
    EXPECT_TRUE(store.claims.claim("q", "w", 10, 60).empty());
    EXPECT_FALSE(store.claims.claimable("q"));
}

TEST_P(HostileRow, CanBeCountedAndListed) {
    insert();
    job_counts const n = store.jobs.count("q");
    EXPECT_EQ(n.ready + n.delayed + n.processing, 1);
    EXPECT_EQ(store.jobs.list("q", job_filter::any, 10).size(), 1U);
    EXPECT_TRUE(store.jobs.cancel(bad));
}

INSTANTIATE_TEST_SUITE_P(Rows, HostileRow,
                         ::testing::Values(hostile{"BlobPayload", "payload", "x'7b7d'"},
                                           hostile{"NumberlikeBlobPayload", "payload", "x'00'"},
                                           hostile{"InvalidUtf8Payload", "payload",
                                                   "CAST(x'22ff22' AS TEXT)"},
                                           hostile{"TextAttempts", "attempts", "'many'"},
                                           hostile{"RealAttempts", "attempts", "1.5"},
                                           hostile{"BlobAttempts", "attempts", "x'01'"},
                                           hostile{"TextMaxAttempts", "max_attempts", "'x'"},
                                           hostile{"RealMaxAttempts", "max_attempts", "9.3e18"},
                                           hostile{"TextCreatedAt", "created_at", "'yesterday'"},
                                           hostile{"TextExpiresAt", "expires_at", "'never'"},
                                           hostile{"RealExpiresAt", "expires_at", "9.3e18"},
                                           hostile{"TextPriority", "priority", "'high'"},
                                           hostile{"RealPriority", "priority", "1.5"},
                                           hostile{"BlobPriority", "priority", "x'ff'"},
                                           hostile{"HugePriority", "priority", "1e300"},
                                           hostile{"RealRunAt", "run_at", "1.5"}),
                         [](auto const& row) { return std::string(row.param.what); });

class OddRow : public test::store_test {};

TEST_F(OddRow, ARunAtThatIsNoTimeHoldsUpNobody) {
    for (char const* run_at : {"'soon'", "x'00'", "9.3e18"}) {
        store.db.execute("DELETE FROM _honker_live");
        store.db.execute((std::string("INSERT INTO _honker_live(queue, payload, run_at) "
                                      "VALUES('q','1',") +
                          run_at + ")")
                             .c_str());
        EXPECT_FALSE(store.claims.claimable("q"));
        EXPECT_FALSE(store.claims.next_claim_at("q"));
        store.jobs.enqueue("q", "1", due());
        EXPECT_EQ(store.claims.claim("q", "w", 10, 60).size(), 1U);
        EXPECT_EQ(store.jobs.count("q").delayed, 1) << "it can be seen";
    }
}

TEST_F(OddRow, AnUnknownStateIsInNobodysWay) {
    store.jobs.enqueue("q", "1", due());
    store.db.execute("UPDATE _honker_live SET state='Processing'");
    EXPECT_TRUE(store.claims.claim("q", "w", 10, 60).empty());
    EXPECT_FALSE(store.claims.claimable("q"));
    EXPECT_EQ(store.jobs.list("q", job_filter::any, 10).size(), 1U);
}

TEST_F(OddRow, AClaimThatEndsNeverOrAtNoTimeIsLeftAlone) {
    for (char const* until : {"NULL", "'soon'", "9.3e18"}) {
        store.db.execute("DELETE FROM _honker_live");
        store.jobs.enqueue("q", "1", due());
        store.db.execute((std::string("UPDATE _honker_live SET state='processing', "
                                      "worker_id='w', claim_expires_at=") +
                          until)
                             .c_str());
        EXPECT_TRUE(store.claims.claim("q", "w", 10, 60).empty());
        EXPECT_FALSE(store.claims.next_claim_at("q"));
        EXPECT_EQ(store.jobs.count("q").processing, 1);
    }
}

TEST_F(OddRow, NulInAPayloadIsKept) {
    store.db.execute(
        "INSERT INTO _honker_live(queue, payload, run_at) VALUES('q', "
        "CAST(x'22610062' AS TEXT), 0)");
    auto const taken = store.claims.claim("q", "w", 1, 60);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].payload, std::string("\"a\0b", 4));
}

}  // namespace
}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a claim costs: the plan of every statement that it runs, taken from the statements
// themselves, and the pages and rows that SQLite walks over in files of each unpleasant shape.
#include "unit/sqlite/store_test.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

class ClaimPlan : public test::store_test {
protected:
    /// The SELECTs and UPDATEs on the job table that `f` runs.
    template <class F>
    std::set<std::string> statements_of(F f) {
        std::set<std::string> seen;
        sqlite3_trace_v2(
            store.db.handle(), SQLITE_TRACE_STMT,
            [](unsigned, void* into, void* stmt, void*) {
                char const* sql = sqlite3_sql(static_cast<sqlite3_stmt*>(stmt));
                std::string const text = sql != nullptr ? sql : "";
                if (text.find("_honker_live") != std::string::npos)
                    static_cast<std::set<std::string>*>(into)->insert(text);
                return 0;
            },
            &seen);
        f();
        sqlite3_trace_v2(store.db.handle(), 0, nullptr, nullptr);
        return seen;
    }

    /// Every step of the plan that touches the job table, a line each.
    std::vector<std::string> plan(std::string const& sql) {
        std::vector<std::string> lines;
        sqlite3_stmt* stmt = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(store.db.handle(), ("EXPLAIN QUERY PLAN " + sql).c_str(), -1,
                                     &stmt, nullptr),
                  SQLITE_OK)
            << sqlite3_errmsg(store.db.handle());
        while (sqlite3_step(stmt) == SQLITE_ROW)
            lines.emplace_back(reinterpret_cast<char const*>(sqlite3_column_text(stmt, 3)));
        sqlite3_finalize(stmt);
        return lines;
    }

    void expect_seeks_only() {
        auto const all = statements_of([&] {
            (void)store.claims.claimable("q");
            (void)store.claims.next_claim_at("q");
            (void)store.claims.claim("q", "w", 2, 1);
            pass(2);
            (void)store.claims.claim("q", "w", 2, 1);
        });
        EXPECT_GE(all.size(), 7U);
        for (auto const& sql : all)
            for (auto const& line : plan(sql)) {
                if (line.find("_honker_live") == std::string::npos) continue;
                EXPECT_EQ(line.find("SCAN"), std::string::npos) << line << "\n" << sql;
                EXPECT_NE(line.find("SEARCH"), std::string::npos) << line << "\n" << sql;
                EXPECT_EQ(line.find("(queue=?)"), std::string::npos)
                    << "walks over a whole queue: " << line << "\n"
                    << sql;
            }
    }

    /// Instructions that SQLite executes in `f`: what a row more costs, without a clock.
    template <class F>
    std::int64_t work(F f) {
        std::int64_t steps = 0;
        sqlite3_progress_handler(
            store.db.handle(), 10,
            [](void* count) {
                ++*static_cast<std::int64_t*>(count);
                return 0;
            },
            &steps);
        f();
        sqlite3_progress_handler(store.db.handle(), 0, nullptr, nullptr);
        return steps * 10;
    }

    void fill(std::string const& values, int count = 20'000) {
        store.db.execute(
            ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" +
             std::to_string(count) +
             ") INSERT INTO _honker_live(queue, payload, state, priority, run_at, worker_id, "
             "claim_expires_at, attempts, max_attempts) SELECT " +
             values + " FROM n")
                .c_str());
    }

    /// A claim of one due job in front of, or behind, what was filled in.
    void expect_a_cheap_claim(std::int64_t priority = 0) {
        store.jobs.enqueue("q", "1", due(priority));
        std::size_t claimed = 0;
        std::int64_t const cost = work([&] {
            EXPECT_TRUE(store.claims.claimable("q"));
            claimed = store.claims.claim("q", "w", 1, 60).size();
            (void)store.claims.next_claim_at("q");
        });
        EXPECT_EQ(claimed, 1U);
        EXPECT_LT(cost, 2000) << "SQLite's instructions for one claim";
    }
};

TEST_F(ClaimPlan, EveryStatementSeeksInAnIndex) {
    for (int i = 0; i < 4; ++i) store.jobs.enqueue("q", "1", due());
    expect_seeks_only();
}

TEST_F(ClaimPlan, AnAnalyzeOfAnyShapeChangesNoPlan) {
    fill("'q','1','pending',i%7,1700000000,NULL,NULL,0,3", 2000);
    fill("'other'||i,'1','processing',0,1700000000,'x',1800000000,1,3", 2000);
    store.db.execute("ANALYZE");
    sqlite::store fresh(settings(file.path()));  // reads sqlite_stat1 when it opens
    expect_seeks_only();
    store.db.execute("UPDATE sqlite_stat1 SET stat='1000000 1000000 1 1 1'");
    store.db.execute("ANALYZE sqlite_master");
    expect_seeks_only();
}

TEST_F(ClaimPlan, TheClaimReadsTheReadyIndex) {
    store.jobs.enqueue("q", "1", due());
    auto const all = statements_of([&] { (void)store.claims.claim("q", "w", 1, 1); });
    int found = 0;
    for (auto const& sql : all)
        for (auto const& line : plan(sql))
            found += line.find("_gander_live_ready") != std::string::npos ? 1 : 0;
    EXPECT_GE(found, 2);
}

TEST_F(ClaimPlan, ReadyRowsCostNothing) {
    fill("'q','1','pending',0,1700000000,NULL,NULL,0,3");
    expect_a_cheap_claim(-1);
}

TEST_F(ClaimPlan, DelayedRowsCostNothing) {
    fill("'q','1','pending',0,1800000000+i,NULL,NULL,0,3");
    expect_a_cheap_claim();
}

TEST_F(ClaimPlan, DelayedRowsOfHigherPriorityCostNothing) {
    fill("'q','1','pending',9,1800000000+i,NULL,NULL,0,3");
    expect_a_cheap_claim();
}

TEST_F(ClaimPlan, RowsInFlightCostNothing) {
    fill("'q','1','processing',0,1700000000,'x',1800000000,1,3");
    expect_a_cheap_claim();
}

TEST_F(ClaimPlan, OtherQueuesCostNothing) {
    fill("'z'||(i%1000),'1','pending',0,1700000000,NULL,NULL,0,3");
    expect_a_cheap_claim();
}

TEST_F(ClaimPlan, DeadRowsCostNothing) {
    store.db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE "
        "i<20000) INSERT INTO _honker_dead(queue, payload) SELECT 'q','1' FROM n");
    expect_a_cheap_claim();
}

TEST_F(ClaimPlan, ManyPrioritiesCostASeekEachAtMostUntilOneIsDue) {
    fill("'q','1','pending',i,1700000000,NULL,NULL,0,3");
    expect_a_cheap_claim(1'000'000);
}

TEST_F(ClaimPlan, EndedLeasesAreTakenUpAThousandAtATime) {
    fill("'q','1','processing',0,1700000000,'x',1600000000,1,3", 5000);
    EXPECT_EQ(store.claims.claim("q", "w", 1, 60).size(), 1U);
    std::int64_t const left =
        number("SELECT count(*) FROM _honker_live WHERE state='processing' AND worker_id='x'");
    EXPECT_GT(left, 0) << "all were taken up under one write lock";
    EXPECT_LT(left, 5000);
    std::size_t all = 1;
    while (auto const n = store.claims.claim("q", "w", 500, 60).size()) all += n;
    EXPECT_EQ(all, 5000U);
}

}  // namespace
}  // namespace gander::sqlite

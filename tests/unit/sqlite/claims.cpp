// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "unit/sqlite/store_test.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

class Claims : public test::store_test {
protected:
    std::int64_t enqueue(new_job const& job, std::string_view queue = "q") {
        return store.jobs.enqueue(queue, "{}", job);
    }

    std::vector<std::int64_t> claim(std::size_t max = 1, std::int64_t lease = 60,
                                    std::string_view worker = "w") {
        std::vector<std::int64_t> all;
        for (auto const& job : store.claims.claim("q", worker, max, lease)) all.push_back(job.id);
        return all;
    }

    std::string dead(std::int64_t id) {
        return text("SELECT last_error FROM _honker_dead WHERE id=" + std::to_string(id));
    }

    using ids = std::vector<std::int64_t>;
};

TEST_F(Claims, AnEmptyQueueHasNothing) {
    EXPECT_TRUE(claim(10).empty());
    EXPECT_FALSE(store.claims.claimable("q"));
    EXPECT_FALSE(store.claims.next_claim_at("q"));
}

TEST_F(Claims, TheRowSaysWhatTheFileSays) {
    enqueue(due(4, 5));
    pass(1);
    auto const taken = store.claims.claim("q", "w~1", 1, 30);
    ASSERT_EQ(taken.size(), 1U);
    job_row const& job = taken[0];
    EXPECT_EQ(job.queue, "q");
    EXPECT_EQ(job.payload, "{}");
    EXPECT_EQ(job.priority, 4);
    EXPECT_EQ(job.attempts, 1);
    EXPECT_EQ(job.max_attempts, 5);
    EXPECT_EQ(job.worker, "w~1");
    EXPECT_EQ(job.claim_expires_at, start + 31);
    EXPECT_EQ(text("SELECT state||'|'||worker_id||'|'||claim_expires_at||'|'||attempts FROM "
                   "_honker_live"),
              "processing|w~1|1700000031|1");
}

TEST_F(Claims, OrderIsPriorityThenDueTimeThenId) {
    new_job early = due(1);
    early.run_at = start - 10;
    std::int64_t const a = enqueue(due(0));
    std::int64_t const b = enqueue(due(1));
    std::int64_t const c = enqueue(due(1));
    std::int64_t const d = enqueue(early);
    std::int64_t const e = enqueue(due(-5));
    std::int64_t const f = enqueue(due(9));
    EXPECT_EQ(claim(10), (ids{f, d, b, c, a, e}));
}

TEST_F(Claims, ExtremePrioritiesSortAsNumbers) {
    std::int64_t const low = enqueue(due(std::numeric_limits<std::int64_t>::min()));
    std::int64_t const high = enqueue(due(std::numeric_limits<std::int64_t>::max()));
    std::int64_t const middle = enqueue(due(0));
    std::int64_t const low2 = enqueue(due(std::numeric_limits<std::int64_t>::min() + 1));
    EXPECT_EQ(claim(10), (ids{high, middle, low2, low}));
}

TEST_F(Claims, ThousandOfEqualPriorityComeInIdOrder) {
    std::vector<std::string> const bodies(1000, "1");
    store.db.execute("BEGIN");
    std::int64_t next = store.jobs.enqueue_many("q", bodies, due());
    store.db.execute("COMMIT");
    while (true) {
        auto const some = claim(7);
        for (std::int64_t id : some) ASSERT_EQ(id, next++);
        if (some.empty()) break;
    }
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live WHERE state='pending'"), 0);
}

TEST_F(Claims, NoMoreThanAskedForAndOnlyOfItsQueue) {
    for (int i = 0; i < 5; ++i) enqueue(due());
    enqueue(due(100), "other");
    EXPECT_EQ(claim(2).size(), 2U);
    EXPECT_EQ(claim(100).size(), 3U);
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live WHERE queue='other' AND state='pending'"),
              1);
}

TEST_F(Claims, ADelayedJobIsNotDueBeforeItsSecond) {
    new_job later = due(100);
    later.run_at = start + 5;
    std::int64_t const id = enqueue(later);
    std::int64_t const now = enqueue(due(0));
    EXPECT_EQ(claim(10), (ids{now})) << "a delayed job of higher priority hides nobody";
    EXPECT_FALSE(store.claims.claimable("q"));
    EXPECT_EQ(store.claims.next_claim_at("q"), start + 5);
    pass(4);
    EXPECT_TRUE(claim().empty());
    pass(1);
    EXPECT_TRUE(store.claims.claimable("q"));
    EXPECT_EQ(claim(), (ids{id}));
}

TEST_F(Claims, AnEndedLeaseIsClaimedAgainOneSecondAfterItsEnd) {
    std::int64_t const id = enqueue(due());
    EXPECT_EQ(claim(1, 10), (ids{id}));
    EXPECT_EQ(store.claims.next_claim_at("q"), start + 11);
    pass(10);
    EXPECT_FALSE(store.claims.claimable("q"));
    EXPECT_TRUE(claim().empty());
    pass(1);
    EXPECT_TRUE(store.claims.claimable("q"));
    EXPECT_EQ(claim(1, 10, "next"), (ids{id}));
    EXPECT_EQ(number("SELECT attempts FROM _honker_live"), 2);
}

TEST_F(Claims, AReclaimedJobKeepsItsPlace) {
    std::int64_t const first = enqueue(due());
    std::int64_t const second = enqueue(due());
    EXPECT_EQ(claim(1, 1), (ids{first}));
    pass(2);
    EXPECT_EQ(claim(2), (ids{first, second}));
}

TEST_F(Claims, AWorkerThatCrashesEveryTimeUsesUpTheAttempts) {
    std::int64_t const id = enqueue(due(0, 3));
    for (int attempt = 1; attempt <= 3; ++attempt) {
        EXPECT_EQ(claim(1, 1), (ids{id}));
        EXPECT_EQ(number("SELECT attempts FROM _honker_live"), attempt);
        pass(2);
    }
    EXPECT_TRUE(claim(1, 1).empty());
    EXPECT_EQ(dead(id), "max attempts exceeded");
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
}

TEST_F(Claims, AnExpiredJobIsNeverClaimed) {
    new_job job = due();
    job.expires_at = start + 5;
    std::int64_t const a = enqueue(job);
    job.expires_at = start;  // expires at once
    std::int64_t const b = enqueue(job);
    EXPECT_EQ(claim(10), (ids{a}));
    EXPECT_EQ(dead(b), "expired");
    store.jobs.retry(a, "w", 0, "again");
    pass(5);
    EXPECT_TRUE(claim().empty());
    EXPECT_EQ(dead(a), "expired");
}

TEST_F(Claims, AJobWhoseLeaseAndLifeHaveEndedIsBuried) {
    new_job job = due();
    job.expires_at = start + 5;
    std::int64_t const id = enqueue(job);
    EXPECT_EQ(claim(1, 2), (ids{id}));
    pass(10);
    EXPECT_TRUE(claim().empty());
    EXPECT_EQ(dead(id), "expired");
}

TEST_F(Claims, ExhaustedAndExpiredRowsDoNotUseUpABatch) {
    ids good;
    new_job expired = due(5);
    expired.expires_at = start - 1;
    for (int i = 0; i < 10; ++i) {
        enqueue(expired);
        good.push_back(enqueue(due(5)));
    }
    EXPECT_EQ(claim(10), good);
    EXPECT_EQ(number("SELECT count(*) FROM _honker_dead"), 10);
}

TEST_F(Claims, ALeaseThatOverflowsClaimsNothing) {
    enqueue(due());
    EXPECT_THROW(claim(1, std::numeric_limits<std::int64_t>::max()), system_error);
    EXPECT_EQ(text("SELECT state||attempts FROM _honker_live"), "pending0");
}

TEST_F(Claims, WorkWithoutTheIndexToo) {
    store.db.execute("DROP INDEX _gander_live_ready");
    std::int64_t const low = enqueue(due(0));
    std::int64_t const high = enqueue(due(1));
    EXPECT_TRUE(store.claims.claimable("q"));
    EXPECT_EQ(claim(10), (ids{high, low}));
}

TEST_F(Claims, AnIndexThatIsDroppedWhileInUseIsGoneWithout) {
    std::int64_t const a = enqueue(due());
    std::int64_t const b = enqueue(due());
    EXPECT_EQ(claim(), (ids{a}));
    test::raw_db(file.path()).execute("DROP INDEX _gander_live_ready");
    EXPECT_EQ(claim(), (ids{b}));
}

TEST_F(Claims, ARunAtNearTheEndOfTimeIsNeverDueAndBreaksNothing) {
    new_job never = due();
    never.run_at = std::numeric_limits<std::int64_t>::max();
    enqueue(never);
    EXPECT_TRUE(claim().empty());
    EXPECT_EQ(store.claims.next_claim_at("q"), never.run_at);
    store.db.execute(
        "UPDATE _honker_live SET state='processing', worker_id='w', "
        "claim_expires_at=9223372036854775807");
    EXPECT_TRUE(claim().empty());
    EXPECT_FALSE(store.claims.next_claim_at("q"));
}

TEST_F(Claims, WhatHonkerDoesToARowLeavesNothingWrong) {
    std::int64_t const a = enqueue(due());
    std::int64_t const b = enqueue(due());
    std::int64_t const c = enqueue(due());
    test::raw_db honker(file.path());
    honker.execute(
        "UPDATE _honker_live SET state='processing', worker_id='h', "
        "claim_expires_at=" +
        std::to_string(start + 10) + ", attempts=attempts+1 WHERE id=" + std::to_string(a));
    EXPECT_EQ(claim(10), (ids{b, c}));
    EXPECT_FALSE(store.jobs.ack(a, "w"));
    // acks its own, cancels ours, buries another of ours
    honker.execute("DELETE FROM _honker_live WHERE id=" + std::to_string(a) + " AND worker_id='h'");
    honker.execute("DELETE FROM _honker_live WHERE id=" + std::to_string(b));
    honker.execute(
        "INSERT INTO _honker_dead(id, queue, payload) SELECT id, queue, payload FROM "
        "_honker_live WHERE id=" +
        std::to_string(c));
    honker.execute("DELETE FROM _honker_live WHERE id=" + std::to_string(c));
    EXPECT_FALSE(store.jobs.ack(b, "w"));
    EXPECT_FALSE(store.jobs.heartbeat(c, "w", 5));
    EXPECT_TRUE(claim(10).empty());
    EXPECT_EQ(store.jobs.count("q").dead, 1);
    EXPECT_EQ(store.jobs.count("q").processing, 0);
    EXPECT_EQ(text("PRAGMA integrity_check"), "ok");
}

TEST_F(Claims, AHonkerClientFinishesOurClaimByItsToken) {
    std::int64_t const id = enqueue(due());
    EXPECT_EQ(claim(1, 60, "w~abc"), (ids{id}));
    test::raw_db honker(file.path());
    honker.execute("DELETE FROM _honker_live WHERE id=" + std::to_string(id) +
                   " AND worker_id='w~abc' AND claim_expires_at>=" + std::to_string(start));
    EXPECT_EQ(honker.number("SELECT changes()"), 1);
}

}  // namespace
}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "unit/sqlite/store_test.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max();

class Jobs : public test::store_test {
protected:
    /// Enqueues one and claims it.
    std::int64_t claimed(std::string_view worker, std::int64_t lease = 60,
                         std::int64_t max_attempts = 3) {
        std::int64_t const id = store.jobs.enqueue("q", "{}", due(0, max_attempts));
        auto const taken = store.claims.claim("q", worker, 1, lease);
        EXPECT_EQ(taken.size(), 1U);
        return id;
    }

    std::string row(std::int64_t id) {
        return text(
            "SELECT state || '|' || ifnull(worker_id,'-') || '|' || "
            "ifnull(claim_expires_at,'-') || '|' || attempts || '|' || run_at FROM "
            "_honker_live WHERE id=" +
            std::to_string(id));
    }
};

TEST_F(Jobs, EnqueueStoresWhatItWasGiven) {
    new_job job = due(5, 7);
    job.run_at = start + 10;
    job.expires_at = start + 20;
    std::int64_t const id = store.jobs.enqueue("q", "{\"a\":1}", job);
    EXPECT_EQ(text("SELECT queue||'|'||payload||'|'||state||'|'||priority||'|'||run_at||'|'||"
                   "attempts||'|'||max_attempts||'|'||created_at||'|'||expires_at FROM "
                   "_honker_live WHERE id=" +
                   std::to_string(id)),
              "q|{\"a\":1}|pending|5|1700000010|0|7|1700000000|1700000020");
}

TEST_F(Jobs, EnqueueManyGivesConsecutiveIdsInOrderForAnyCount) {
    for (std::size_t count : {0U, 1U, 15U, 16U, 17U, 32U, 100U}) {
        store.db.execute("DELETE FROM _honker_live");
        std::vector<std::string> payloads;
        for (std::size_t i = 0; i < count; ++i) payloads.push_back(std::to_string(i));
        store.db.execute("BEGIN IMMEDIATE");
        std::int64_t const first = store.jobs.enqueue_many("q", payloads, due());
        store.db.execute("COMMIT");
        auto const rows = store.jobs.list("q", job_filter::any, 1000);
        ASSERT_EQ(rows.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(rows[i].id, first + static_cast<std::int64_t>(i));
            EXPECT_EQ(rows[i].payload, payloads[i]);
        }
    }
}

TEST_F(Jobs, AckRemovesTheJobOfItsHolderOnly) {
    std::int64_t const id = claimed("w");
    EXPECT_FALSE(store.jobs.ack(id, "other"));
    EXPECT_FALSE(store.jobs.ack(id + 1, "w"));
    EXPECT_FALSE(store.jobs.ack(id, ""));
    EXPECT_TRUE(store.jobs.ack(id, "w"));
    EXPECT_FALSE(store.jobs.ack(id, "w"));
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
}

TEST_F(Jobs, TheLeaseHoldsThroughItsLastSecondAndNoLonger) {
    std::int64_t const id = claimed("w", 10);
    pass(10);
    std::string const before = row(id);
    EXPECT_TRUE(store.claims.claim("q", "thief", 1, 10).empty());
    EXPECT_TRUE(store.jobs.heartbeat(id, "w", 1));
    pass(2);
    std::string const late = row(id);
    EXPECT_FALSE(store.jobs.heartbeat(id, "w", 60));
    EXPECT_FALSE(store.jobs.ack(id, "w"));
    EXPECT_FALSE(store.jobs.retry(id, "w", 0, "late"));
    EXPECT_FALSE(store.jobs.fail(id, "w", "late"));
    EXPECT_EQ(row(id), late) << "a late call changed the row";
    EXPECT_EQ(number("SELECT count(*) FROM _honker_dead"), 0);
    EXPECT_EQ(store.claims.claim("q", "thief", 1, 10).size(), 1U);
}

TEST_F(Jobs, HeartbeatMovesTheLeasesEnd) {
    std::int64_t const id = claimed("w", 10);
    pass(8);
    EXPECT_TRUE(store.jobs.heartbeat(id, "w", 10));
    EXPECT_EQ(row(id), "processing|w|1700000018|1|1700000000");
    EXPECT_THROW(store.jobs.heartbeat(id, "w", max64), system_error);
    EXPECT_EQ(row(id), "processing|w|1700000018|1|1700000000");
}

TEST_F(Jobs, RetryMakesItPendingAfterItsDelay) {
    std::int64_t const id = claimed("w");
    EXPECT_TRUE(store.jobs.retry(id, "w", 2500, "again"));
    EXPECT_EQ(row(id), "pending|-|-|1|1700000003");
    EXPECT_FALSE(store.jobs.retry(id, "w", 0, "again")) << "not processing any more";
}

TEST_F(Jobs, RetryWithoutDelayBacksOffByTheAttempt) {
    std::int64_t const id = claimed("w");
    EXPECT_TRUE(store.jobs.retry(id, "w", std::nullopt, "again"));
    std::int64_t const run_at = number("SELECT run_at FROM _honker_live");
    EXPECT_GE(run_at, start + 2);  // 1.6 s to 2.4 s, rounded up
    EXPECT_LE(run_at, start + 3);
    EXPECT_EQ(number("SELECT id FROM _honker_live"), id);
}

TEST_F(Jobs, ADelayThatOverflowsChangesNothing) {
    std::int64_t const id = claimed("w");
    std::string const before = row(id);
    EXPECT_THROW(store.jobs.retry(id, "w", max64, "x"), system_error);
    EXPECT_EQ(row(id), before);
}

TEST_F(Jobs, TheLastAttemptsFailureIsDeadWithItsError) {
    std::int64_t const id = claimed("w", 60, 1);
    EXPECT_TRUE(store.jobs.retry(id, "w", 0, "the reason"));
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
    EXPECT_EQ(text("SELECT id||'|'||queue||'|'||payload||'|'||attempts||'|'||max_attempts||'|'||"
                   "last_error||'|'||created_at||'|'||died_at FROM _honker_dead"),
              std::to_string(id) + "|q|{}|1|1|the reason|1700000000|1700000000");
}

TEST_F(Jobs, FailMovesItToTheDeadLetters) {
    std::int64_t const id = claimed("w");
    EXPECT_FALSE(store.jobs.fail(id, "other", "no"));
    EXPECT_EQ(number("SELECT count(*) FROM _honker_dead"), 0);
    EXPECT_TRUE(store.jobs.fail(id, "w", "broken"));
    EXPECT_EQ(text("SELECT last_error FROM _honker_dead"), "broken");
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
}

TEST_F(Jobs, AnIdThatIsDeadAlreadyDoesNotStopTheQueue) {
    std::int64_t const id = claimed("w");
    store.db.execute(("INSERT INTO _honker_dead(id, queue, payload) VALUES(" + std::to_string(id) +
                      ",'q','old')")
                         .c_str());
    EXPECT_TRUE(store.jobs.fail(id, "w", "new"));
    EXPECT_EQ(number("SELECT count(*) FROM _honker_live"), 0);
    EXPECT_EQ(text("SELECT last_error FROM _honker_dead"), "new");
}

TEST_F(Jobs, CancelTakesBackPendingAndProcessing) {
    std::int64_t const pending = store.jobs.enqueue("q", "1", due());
    EXPECT_TRUE(store.jobs.cancel(pending));
    EXPECT_FALSE(store.jobs.cancel(pending));
    std::int64_t const held = claimed("w");
    EXPECT_TRUE(store.jobs.cancel(held));
    EXPECT_FALSE(store.jobs.ack(held, "w"));
    EXPECT_FALSE(store.jobs.cancel(12345));
}

TEST_F(Jobs, CountsByState) {
    store.jobs.enqueue("q", "1", due());
    store.jobs.enqueue("q", "2", due());
    new_job later = due();
    later.run_at = start + 1;
    store.jobs.enqueue("q", "3", later);
    store.jobs.enqueue("other", "4", due());
    store.jobs.enqueue("q", "5", due());
    auto const held = store.claims.claim("q", "w", 2, 60);
    ASSERT_EQ(held.size(), 2U);
    EXPECT_TRUE(store.jobs.fail(held[0].id, "w", "x"));
    job_counts const n = store.jobs.count("q");
    EXPECT_EQ(n.ready, 1);
    EXPECT_EQ(n.delayed, 1);
    EXPECT_EQ(n.processing, 1);
    EXPECT_EQ(n.dead, 1);
    job_counts const none = store.jobs.count("missing");
    EXPECT_EQ(none.ready + none.delayed + none.processing + none.dead, 0);
}

TEST_F(Jobs, QueuesAreNamedOnceLiveOrDead) {
    EXPECT_TRUE(store.jobs.queues().empty());
    store.jobs.enqueue("b", "1", due());
    store.jobs.enqueue("a", "1", due());
    store.jobs.enqueue("a", "2", due());
    std::int64_t const id = store.jobs.enqueue("c", "1", due());
    store.jobs.bury(id, "x");
    EXPECT_EQ(store.jobs.queues(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Jobs, ListsByStateInIdOrderUpToTheLimit) {
    std::int64_t const a = store.jobs.enqueue("q", "1", due());
    std::int64_t const b = store.jobs.enqueue("q", "2", due());
    store.jobs.bury(a, "reason");
    auto const all = store.jobs.list("", job_filter::any, 10);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id, a);
    EXPECT_EQ(all[0].state, "dead");
    EXPECT_EQ(all[0].last_error, "reason");
    EXPECT_EQ(all[1].id, b);
    EXPECT_EQ(all[1].state, "pending");
    EXPECT_EQ(store.jobs.list("q", job_filter::dead, 10).size(), 1U);
    EXPECT_EQ(store.jobs.list("q", job_filter::ready, 10).size(), 1U);
    EXPECT_TRUE(store.jobs.list("q", job_filter::delayed, 10).empty());
    EXPECT_TRUE(store.jobs.list("other", job_filter::any, 10).empty());
    EXPECT_TRUE(store.jobs.list("q", job_filter::any, 0).empty());
}

TEST_F(Jobs, ALimitCountsTheLowestIdsOverLiveAndDead) {
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(store.jobs.enqueue("q", "1", due()));
    store.jobs.bury(ids[0], "x");
    store.jobs.bury(ids[5], "x");
    auto const some = store.jobs.list("q", job_filter::any, 3);
    ASSERT_EQ(some.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(some[i].id, ids[i]);
}

TEST_F(Jobs, IdsBeyondThirtyTwoAndFiftyThreeBitsWork) {
    for (std::int64_t seed : {std::int64_t{1} << 31, std::int64_t{1} << 53, max64 - 2}) {
        store.db.execute("DELETE FROM _honker_live");
        claimed("w");
        store.db.execute(("UPDATE sqlite_sequence SET seq=" + std::to_string(seed) +
                          " WHERE name='_honker_live'")
                             .c_str());
        store.db.execute("DELETE FROM _honker_live");
        std::int64_t const id = claimed("w");
        EXPECT_EQ(id, seed + 1);
        EXPECT_TRUE(store.jobs.heartbeat(id, "w", 60));
        EXPECT_TRUE(store.jobs.fail(id, "w", "x"));
        EXPECT_EQ(number("SELECT max(id) FROM _honker_dead"), id);
    }
}

}  // namespace
}  // namespace gander::sqlite

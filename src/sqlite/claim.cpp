// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/claim.hpp"

#include "sqlite/checked.hpp"
#include "sqlite/utf8.hpp"

#include <algorithm>
#include <limits>

namespace gander::sqlite {

namespace {

// Each in two forms: INDEXED BY keeps a stale ANALYZE from changing the plan, but such a statement
// does not even compile where the index is missing (a file with many jobs that has not been through
// `gander init`, or whose index somebody dropped).
constexpr char const* priority_indexed =
    "SELECT priority FROM _honker_live INDEXED BY _gander_live_ready WHERE queue=?1 AND "
    "state='pending' AND priority<=?2 ORDER BY priority DESC LIMIT 1";
constexpr char const* priority_plain =
    "SELECT priority FROM _honker_live WHERE queue=?1 AND "
    "state='pending' AND priority<=?2 ORDER BY priority DESC LIMIT 1";

constexpr char const* due_indexed =
    "SELECT id, payload, priority, run_at, attempts, max_attempts, created_at, expires_at FROM "
    "_honker_live INDEXED BY _gander_live_ready WHERE queue=?1 AND state='pending' AND "
    "priority=?2 AND run_at<=?3 ORDER BY run_at, id LIMIT ?4";
constexpr char const* due_plain =
    "SELECT id, payload, priority, run_at, attempts, max_attempts, created_at, expires_at FROM "
    "_honker_live WHERE queue=?1 AND state='pending' AND "
    "priority=?2 AND run_at<=?3 ORDER BY run_at, id LIMIT ?4";

// How many ended claims one claim makes pending again: bounds the time under the write lock.
constexpr std::int64_t reclaim_limit = 1000;

// Without the index, how often to see whether it has been made meanwhile.
constexpr std::uint64_t claims_before_retry = 1000;

/// Why a row cannot be handed out; null when it can.
char const* defect(cursor& row, std::int64_t now) {
    if (row.type(1) != SQLITE_TEXT) return "payload is not text";
    if (!valid_utf8(row.text(1))) return "payload is not UTF-8";
    for (int number : {2, 3, 4, 5, 6})
        if (row.type(number) != SQLITE_INTEGER) return "a number of the row is not an integer";
    if (!row.is_null(7) && row.type(7) != SQLITE_INTEGER) return "expires_at is not an integer";
    if (!row.is_null(7) && row.integer(7) <= now) return "expired";
    if (row.integer(4) >= row.integer(5)) return "max attempts exceeded";
    return nullptr;
}

}  // namespace

std::vector<job_row> claims::claim(std::string_view queue, std::string_view worker, std::size_t max,
                                   std::int64_t lease) {
    if (!indexed_ && ++claims_without_ % claims_before_retry == 0) indexed_ = true;
    try {
        return claim_once(queue, worker, max, lease);
    } catch (system_error const& e) {
        // "no such index" is the generic code; it comes before anything has been claimed.
        if (!indexed_ || e.code().value() != SQLITE_ERROR) throw;
        indexed_ = false;
        return claim_once(queue, worker, max, lease);
    }
}

std::vector<job_row> claims::claim_once(std::string_view queue, std::string_view worker,
                                        std::size_t max, std::int64_t lease) {
    std::int64_t const now = db_.now();
    std::int64_t const until = checked_add(now, lease);
    std::vector<job_row> taken;
    reclaim(queue, now);
    auto priority = next_priority(queue, std::numeric_limits<std::int64_t>::max());
    while (priority && taken.size() < max) {
        take(queue, *priority, worker, max, now, until, taken);
        if (*priority == std::numeric_limits<std::int64_t>::min()) break;
        priority = next_priority(queue, *priority - 1);
    }
    if (taken.size() < max) bury_unreachable(queue, now);
    return taken;
}

void claims::bury_unreachable(std::string_view queue, std::int64_t now) {
    std::vector<std::int64_t> ids;
    {
        auto row = db_.prepared(
            "SELECT id FROM _honker_live WHERE queue=?1 AND state='pending' AND "
            "run_at<=?2 AND typeof(priority)!='integer' LIMIT ?3",
            queue, now, reclaim_limit);
        while (row.step()) ids.push_back(row.integer(0));
    }
    for (std::int64_t const id : ids) jobs_.bury(id, "priority is not an integer");
}

void claims::reclaim(std::string_view queue, std::int64_t now) {
    db_.prepared(
           "UPDATE _honker_live SET state='pending', worker_id=NULL, claim_expires_at=NULL "
           "WHERE id IN (SELECT id FROM _honker_live WHERE queue=?1 AND state='processing' "
           "AND claim_expires_at<?2 ORDER BY claim_expires_at LIMIT ?3)",
           queue, now, reclaim_limit)
        .run();
}

std::optional<std::int64_t> claims::next_priority(std::string_view queue, std::int64_t at_most) {
    // The upper bound also keeps out priorities that are text, which sort above every number.
    auto row = db_.prepared(indexed_ ? priority_indexed : priority_plain);
    row.bind(1, queue);
    row.bind(2, at_most);
    return row.step() ? std::optional(row.integer(0)) : std::nullopt;
}

void claims::take(std::string_view queue, std::int64_t priority, std::string_view worker,
                  std::size_t max, std::int64_t now, std::int64_t until,
                  std::vector<job_row>& taken) {
    // Rows that turn out defective use up the LIMIT, so look again until none was met.
    bool met_defective = true;
    while (met_defective && taken.size() < max) {
        std::size_t const first = taken.size();
        std::vector<std::pair<std::int64_t, char const*>> defective;
        {
            auto row = db_.prepared(indexed_ ? due_indexed : due_plain);
            row.bind(1, queue);
            row.bind(2, priority);
            row.bind(3, now);
            row.bind(4, static_cast<std::int64_t>(max - taken.size()));
            while (row.step()) {
                if (char const* reason = defect(row, now); reason != nullptr) {
                    defective.emplace_back(row.integer(0), reason);
                    continue;
                }
                job_row& job = taken.emplace_back();
                job.id = row.integer(0);
                job.queue = queue;
                job.payload = row.text(1);
                job.state = "processing";
                job.priority = row.integer(2);
                job.run_at = row.integer(3);
                job.worker = worker;
                job.claim_expires_at = until;
                job.attempts = row.integer(4) + 1;
                job.max_attempts = row.integer(5);
                job.created_at = row.integer(6);
                job.expires_at = row.optional_integer(7);
            }
        }
        for (std::size_t i = first; i < taken.size(); ++i)
            db_.prepared(
                   "UPDATE _honker_live SET state='processing', worker_id=?2, "
                   "claim_expires_at=?3, attempts=attempts+1 WHERE id=?1",
                   taken[i].id, worker, until)
                .run();
        for (auto const& [id, reason] : defective) jobs_.bury(id, reason);
        met_defective = !defective.empty();
    }
}

bool claims::claimable(std::string_view queue) {
    std::int64_t const now = db_.now();
    {
        auto row = db_.prepared(
            "SELECT 1 FROM _honker_live WHERE queue=?1 AND state='pending' AND "
            "run_at<=?2 LIMIT 1",
            queue, now);
        if (row.step()) return true;
    }
    auto row = db_.prepared(
        "SELECT 1 FROM _honker_live WHERE queue=?1 AND state='processing' AND "
        "claim_expires_at<?2 LIMIT 1",
        queue, now);
    return row.step();
}

std::optional<std::int64_t> claims::next_claim_at(std::string_view queue) {
    std::int64_t const now = db_.now();
    std::optional<std::int64_t> next;
    auto const consider = [&](std::int64_t at) { next = next ? std::min(*next, at) : at; };
    {
        auto row = db_.prepared(
            "SELECT run_at FROM _honker_live WHERE queue=?1 AND "
            "state='pending' AND run_at>?2 ORDER BY run_at LIMIT 1",
            queue, now);
        if (row.step() && row.type(0) == SQLITE_INTEGER) consider(row.integer(0));
    }
    auto row = db_.prepared(
        "SELECT claim_expires_at FROM _honker_live WHERE queue=?1 AND "
        "state='processing' AND claim_expires_at>=?2 "
        "ORDER BY claim_expires_at LIMIT 1",
        queue, now);
    if (row.step() && row.type(0) == SQLITE_INTEGER) {
        std::int64_t const ends = row.integer(0);
        if (ends < std::numeric_limits<std::int64_t>::max()) consider(ends + 1);
    }
    return next;
}

}  // namespace gander::sqlite

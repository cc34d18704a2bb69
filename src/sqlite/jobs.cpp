// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/jobs.hpp"

#include "sqlite/bulk_insert.hpp"
#include "sqlite/checked.hpp"
#include "sqlite/job_times.hpp"
#include "sqlite/sequence.hpp"

#include <algorithm>

namespace gander::sqlite {

namespace {

#define GANDER_JOB_INSERT                                                                   \
    "INSERT INTO _honker_live(queue, payload, priority, run_at, max_attempts, created_at, " \
    "expires_at) VALUES"

constexpr char const* insert_one = GANDER_JOB_INSERT "(?,?,?,?,?,?,?)";
constexpr char const* insert_many = GANDER_JOB_INSERT GANDER_SIXTEEN("(?,?,?,?,?,?,?)");

#undef GANDER_JOB_INSERT

constexpr char const* select_live =
    "SELECT id, queue, payload, state, priority, run_at, worker_id, claim_expires_at, attempts, "
    "max_attempts, created_at, expires_at, NULL FROM _honker_live "
    "WHERE (?1='' OR queue=?1) AND CASE ?2 WHEN 1 THEN state='pending' AND run_at<=?3 "
    "WHEN 2 THEN state='pending' AND run_at>?3 WHEN 3 THEN state='processing' ELSE 1 END "
    "ORDER BY id LIMIT ?4";
constexpr char const* select_dead =
    "SELECT id, queue, payload, 'dead', priority, run_at, NULL, NULL, attempts, max_attempts, "
    "created_at, NULL, last_error FROM _honker_dead WHERE (?1='' OR queue=?1) ORDER BY id LIMIT ?2";

job_row row_of(cursor& use) {
    job_row r;
    r.id = use.integer(0);
    r.queue = use.text(1);
    r.payload = use.text(2);
    r.state = use.text(3);
    r.priority = use.integer(4);
    r.run_at = use.integer(5);
    r.worker = use.text(6);
    r.claim_expires_at = use.integer(7);
    r.attempts = use.integer(8);
    r.max_attempts = use.integer(9);
    r.created_at = use.integer(10);
    r.expires_at = use.optional_integer(11);
    r.last_error = use.optional_text(12);
    return r;
}

void bind_job(cursor& use, int at, std::string_view queue, std::string_view payload,
              new_job const& job) {
    use.bind(at, queue);
    use.bind(at + 1, payload);
    use.bind(at + 2, job.priority);
    use.bind(at + 3, job.run_at);
    use.bind(at + 4, job.max_attempts);
    use.bind(at + 5, job.created_at);
    use.bind(at + 6, job.expires_at);
}

std::int64_t single(cursor row) { return row.step() ? row.integer(0) : 0; }

}  // namespace

std::int64_t jobs::enqueue(std::string_view queue, std::string_view payload, new_job const& job) {
    return insert_into(db_, "_honker_live", [&] {
        auto use = db_.prepared(insert_one);
        bind_job(use, 1, queue, payload, job);
        use.run();
        return db_.last_insert_rowid();
    });
}

std::int64_t jobs::enqueue_many(std::string_view queue, std::span<std::string const> payloads,
                                new_job const& job) {
    auto const bind = [&](cursor& use, int at, std::size_t row) {
        bind_job(use, at, queue, payloads[row], job);
    };
    return insert_into(db_, "_honker_live", [&] {
        return bulk_insert(db_, insert_many, insert_one, 7, payloads.size(), bind);
    });
}

bool jobs::ack(std::int64_t id, std::string_view worker) {
    db_.prepared("DELETE FROM _honker_live WHERE id=?1 AND worker_id=?2 AND claim_expires_at>=?3",
                 id, worker, db_.now())
        .run();
    return db_.changes() > 0;
}

bool jobs::retry(std::int64_t id, std::string_view worker, std::optional<std::int64_t> delay_ms,
                 std::string_view error) {
    std::int64_t attempts = 0;
    {
        auto row = db_.prepared(
            "SELECT attempts, max_attempts FROM _honker_live WHERE id=?1 AND "
            "state='processing' AND worker_id=?2 AND claim_expires_at>=?3",
            id, worker, db_.now());
        if (!row.step()) return false;
        attempts = row.integer(0);
        if (attempts >= row.integer(1)) attempts = -1;
    }
    if (attempts < 0) {
        bury(id, error);
        return true;
    }
    std::int64_t const delay = delay_ms ? *delay_ms : backoff_ms(attempts);
    db_.prepared(
           "UPDATE _honker_live SET state='pending', run_at=?2, worker_id=NULL, "
           "claim_expires_at=NULL WHERE id=?1",
           id, due_time(db_.now_ms(), delay))
        .run();
    return true;
}

bool jobs::fail(std::int64_t id, std::string_view worker, std::string_view error) {
    {
        auto row = db_.prepared(
            "SELECT 1 FROM _honker_live WHERE id=?1 AND worker_id=?2 AND "
            "claim_expires_at>=?3",
            id, worker, db_.now());
        if (!row.step()) return false;
    }
    bury(id, error);
    return true;
}

bool jobs::heartbeat(std::int64_t id, std::string_view worker, std::int64_t lease) {
    std::int64_t const now = db_.now();
    db_.prepared(
           "UPDATE _honker_live SET claim_expires_at=?4 WHERE id=?1 AND "
           "state='processing' AND worker_id=?2 AND claim_expires_at>=?3",
           id, worker, now, checked_add(now, lease))
        .run();
    return db_.changes() > 0;
}

bool jobs::cancel(std::int64_t id) {
    db_.prepared("DELETE FROM _honker_live WHERE id=?1 AND state IN ('pending','processing')", id)
        .run();
    return db_.changes() > 0;
}

void jobs::bury(std::int64_t id, std::string_view error) {
    // OR REPLACE: a dead row of that id, left by whatever accident, must not stop the queue.
    // In a row from elsewhere a number may be text or a blob; the dead letters get it as it is.
    db_.prepared(
           "INSERT OR REPLACE INTO _honker_dead(id, queue, payload, priority, run_at, "
           "attempts, max_attempts, last_error, created_at, died_at) SELECT id, queue, "
           "payload, priority, run_at, attempts, max_attempts, ?2, created_at, ?3 FROM "
           "_honker_live WHERE id=?1",
           id, error, db_.now())
        .run();
    db_.prepared("DELETE FROM _honker_live WHERE id=?1", id).run();
}

job_counts jobs::count(std::string_view queue) {
    std::int64_t const now = db_.now();
    job_counts n;
    n.ready =
        single(db_.prepared("SELECT count(*) FROM _honker_live WHERE queue=?1 AND "
                            "state='pending' AND run_at<=?2",
                            queue, now));
    n.delayed =
        single(db_.prepared("SELECT count(*) FROM _honker_live WHERE queue=?1 AND "
                            "state='pending' AND run_at>?2",
                            queue, now));
    n.processing = single(db_.prepared(
        "SELECT count(*) FROM _honker_live WHERE queue=?1 AND state='processing'", queue));
    n.dead = single(db_.prepared("SELECT count(*) FROM _honker_dead WHERE queue=?1", queue));
    return n;
}

std::vector<std::string> jobs::queues() {
    // From name to name by the index, not over all rows.
    std::vector<std::string> names;
    auto const collect = [&](char const* next) {
        std::string last;
        for (bool more = true; more;) {
            auto row = db_.prepared(next, std::string_view(last));
            more = row.step() && !row.is_null(0);
            if (more) names.push_back(last = row.text(0));
        }
    };
    // One index a state, so that each step is one seek.
    collect("SELECT min(queue) FROM _honker_live WHERE state='pending' AND queue>?1");
    collect("SELECT min(queue) FROM _honker_live WHERE state='processing' AND queue>?1");
    collect("SELECT min(queue) FROM _honker_dead WHERE queue>?1");
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<job_row> jobs::list(std::string_view queue, job_filter filter, std::size_t limit) {
    std::vector<job_row> rows;
    auto const bound = static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
    auto const collect = [&](cursor use) {
        while (use.step()) rows.push_back(row_of(use));
    };
    if (filter != job_filter::dead)
        collect(
            db_.prepared(select_live, queue, static_cast<std::int64_t>(filter), db_.now(), bound));
    if (filter == job_filter::dead || filter == job_filter::any)
        collect(db_.prepared(select_dead, queue, bound));
    std::sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
    if (rows.size() > limit) rows.resize(limit);
    return rows;
}

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/schema.hpp"

#include <array>
#include <set>
#include <string>

namespace gander::sqlite {

namespace {

// Names, column order, defaults and index columns are a contract with other programs. An index of
// ours is allowed on honker's tables; a column is not.
constexpr char const* honker_objects = R"sql(
CREATE TABLE IF NOT EXISTS _honker_notifications(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_at INTEGER NOT NULL DEFAULT (unixepoch())
);
CREATE INDEX IF NOT EXISTS _honker_notifications_recent ON _honker_notifications(channel, id);
CREATE TABLE IF NOT EXISTS _honker_live(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  priority INTEGER NOT NULL DEFAULT 0,
  run_at INTEGER NOT NULL DEFAULT (unixepoch()),
  worker_id TEXT,
  claim_expires_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL DEFAULT 3,
  created_at INTEGER NOT NULL DEFAULT (unixepoch()),
  expires_at INTEGER
);
CREATE INDEX IF NOT EXISTS _honker_live_claim ON _honker_live(queue, priority DESC, run_at, id)
  WHERE state IN ('pending','processing');
CREATE INDEX IF NOT EXISTS _honker_live_pending_deadline ON _honker_live(queue, run_at)
  WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS _honker_live_processing_deadline ON _honker_live(queue, claim_expires_at)
  WHERE state = 'processing';
CREATE TABLE IF NOT EXISTS _honker_dead(
  id INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  payload TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,
  run_at INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  created_at INTEGER NOT NULL DEFAULT (unixepoch()),
  died_at INTEGER NOT NULL DEFAULT (unixepoch())
);
CREATE TABLE IF NOT EXISTS _honker_locks(
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  expires_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS _honker_rate_limits(
  name TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(name, window_start)
);
CREATE TABLE IF NOT EXISTS _honker_scheduler_tasks(
  name TEXT PRIMARY KEY,
  queue TEXT NOT NULL,
  cron_expr TEXT NOT NULL,
  payload TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,
  expires_s INTEGER,
  next_fire_at INTEGER NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  max_attempts INTEGER NOT NULL DEFAULT 3
);
CREATE TABLE IF NOT EXISTS _honker_results(
  job_id INTEGER PRIMARY KEY,
  value TEXT,
  created_at INTEGER NOT NULL DEFAULT (unixepoch()),
  expires_at INTEGER
);
CREATE TABLE IF NOT EXISTS _honker_stream(
  offset INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL,
  key TEXT,
  payload TEXT NOT NULL,
  created_at INTEGER NOT NULL DEFAULT (unixepoch())
);
CREATE INDEX IF NOT EXISTS _honker_stream_topic ON _honker_stream(topic, offset);
CREATE TABLE IF NOT EXISTS _honker_stream_consumers(
  name TEXT NOT NULL,
  topic TEXT NOT NULL,
  offset INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(name, topic)
);
)sql";

constexpr char const* own_objects = R"sql(
CREATE TABLE IF NOT EXISTS _gander_schema(version INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS _gander_dead_queue ON _honker_dead(queue);
)sql";

// The claim's index: rows of one priority in due order, and nothing that is in flight.
constexpr char const* claim_index = R"sql(
CREATE INDEX IF NOT EXISTS _gander_live_ready ON _honker_live(queue, priority DESC, run_at)
  WHERE state = 'pending';
)sql";

constexpr std::array names = {"_honker_notifications",
                              "_honker_notifications_recent",
                              "_honker_live",
                              "_honker_live_claim",
                              "_honker_live_pending_deadline",
                              "_honker_live_processing_deadline",
                              "_honker_dead",
                              "_honker_locks",
                              "_honker_rate_limits",
                              "_honker_scheduler_tasks",
                              "_honker_results",
                              "_honker_stream",
                              "_honker_stream_topic",
                              "_honker_stream_consumers",
                              "_gander_schema",
                              "_gander_dead_queue"};

constexpr std::int64_t few_jobs = 100'000;

std::set<std::string> existing_objects(connection& db) {
    std::set<std::string> found;
    auto row = db.prepared(
        "SELECT name FROM sqlite_master WHERE name GLOB '_honker_*' OR "
        "name GLOB '_gander_*'");
    while (row.step()) found.emplace(row.text(0));
    return found;
}

bool has_column(connection& db, std::string_view column) {
    auto row = db.prepared(
        "SELECT 1 FROM pragma_table_info('_honker_scheduler_tasks') "
        "WHERE name=?1",
        column);
    return row.step();
}

std::int64_t stored_version(connection& db) {
    auto row = db.prepared("SELECT max(version) FROM _gander_schema");
    return row.step() ? row.integer(0) : 0;
}

void refuse_newer(std::int64_t version) {
    if (version > schema_version)
        throw system_error(errc::schema_too_new, "schema version " + std::to_string(version) +
                                                     ", newest known " +
                                                     std::to_string(schema_version));
}

/// Counts jobs only as far as the decision needs.
bool many_jobs(connection& db) {
    auto row = db.prepared("SELECT 1 FROM _honker_live LIMIT 1 OFFSET ?1", few_jobs);
    return row.step();
}

void create_objects(connection& db, bool build_claim_index) {
    db.execute(honker_objects);
    if (!has_column(db, "enabled"))
        db.execute(
            "ALTER TABLE _honker_scheduler_tasks ADD COLUMN enabled INTEGER NOT NULL "
            "DEFAULT 1");
    if (!has_column(db, "max_attempts"))
        db.execute(
            "ALTER TABLE _honker_scheduler_tasks ADD COLUMN max_attempts INTEGER NOT NULL "
            "DEFAULT 3");
    db.execute(own_objects);
    std::int64_t const version = stored_version(db);
    refuse_newer(version);
    if (version == 0) db.prepared("INSERT INTO _gander_schema VALUES(?1)", schema_version).run();
    if (build_claim_index || !many_jobs(db)) db.execute(claim_index);
}

}  // namespace

bool schema_complete(connection& db) {
    auto const found = existing_objects(db);
    if (found.contains("_gander_schema")) refuse_newer(stored_version(db));
    for (char const* name : names)
        if (!found.contains(name)) return false;
    if (!found.contains("_gander_live_ready") && !many_jobs(db)) return false;
    return has_column(db, "enabled") && has_column(db, "max_attempts") && stored_version(db) > 0;
}

void create_schema(connection& db, bool build_claim_index) {
    if (db.in_transaction()) {
        create_objects(db, build_claim_index);
        return;
    }
    db.execute("BEGIN IMMEDIATE");
    try {
        create_objects(db, build_claim_index);
        db.execute("COMMIT");
    } catch (...) {
        db.try_execute("ROLLBACK");
        throw;
    }
}

}  // namespace gander::sqlite

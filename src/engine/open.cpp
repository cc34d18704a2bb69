// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/file.hpp"
#include "sqlite/schema.hpp"

#include <sys/stat.h>

#include <chrono>
#include <thread>

namespace gander::engine {

namespace {

void check(std::string const& path, open_options const& o) {
    // Each connection would get a database of its own, and no other process any.
    if (path.empty() || path == ":memory:" || path.starts_with("file:"))
        throw system_error(errc::not_a_file, '"' + path + '"');
    if (path.find('\0') != std::string::npos)
        throw system_error(errc::not_a_file, "path holds NUL");
    auto const refuse = [&](bool bad, char const* name) {
        if (bad) throw system_error(errc::out_of_range, name);
    };
    refuse(o.busy_deadline.milliseconds() < 0 || o.busy_deadline.saturated(), "busy_deadline");
    refuse(o.poll_interval.milliseconds() < 1 || o.poll_interval.saturated(), "poll_interval");
    refuse(o.max_group_operations == 0, "max_group_operations");
    refuse(o.max_group_bytes == 0, "max_group_bytes");
    refuse(o.read_mmap < 0, "read_mmap");
    if (sqlite3_threadsafe() == 0) throw system_error(errc::sqlite_not_threadsafe, path);
}

bool is_new(std::string const& path) {
    struct stat s {};
    return ::stat(path.c_str(), &s) != 0 || s.st_size == 0;
}

/// Converting to WAL takes an exclusive lock for which SQLite does not call the busy handler, so
/// processes that open one fresh file together collide whatever they have set. Who finds it done
/// has nothing to do.
void set_wal(sqlite::connection& db, std::int64_t deadline_ms) {
    while (db.query_text("PRAGMA journal_mode") != "wal") {
        try {
            db.query_text("PRAGMA journal_mode=WAL");
        } catch (system_error const& e) {
            if (!sqlite::is_busy(e.code()) || sqlite::steady_ms() >= deadline_ms) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

void prepare(sqlite::connection& db, open_options const& options, bool fresh,
             std::int64_t deadline_ms) {
    try {
        db.query_text("SELECT count(*) FROM sqlite_master");  // is it a database at all?
        if (options.mode == open_mode::read_only) return;
        // SQLite opens for reading what it may not write, and says nothing.
        if (db.read_only()) throw system_error(SQLITE_READONLY, sqlite_category());
        if (fresh) set_wal(db, deadline_ms);
        if (!sqlite::schema_complete(db)) sqlite::create_schema(db);
    } catch (system_error const& e) {
        throw system_error(e.code(), db.path());
    }
}

}  // namespace

std::shared_ptr<file> file::open(std::string const& path, open_options const& options) {
    check(path, options);
    sqlite::connection::settings settings{path, options.mode, options.vfs, options.read_mmap};
    bool const fresh = options.mode != open_mode::read_only && is_new(path);
    if (open_in_parent(path)) throw system_error(errc::used_after_fork, path);
    std::int64_t const deadline = sqlite::steady_ms() + options.busy_deadline.milliseconds();
    settings.lock_deadline_ms = deadline;
    try {
        auto store = std::make_unique<sqlite::store>(settings);
        settings.lock_deadline_ms.reset();
        settings.path = store->db.path();
        prepare(store->db, options, fresh, deadline);
        store->db.wait_for_locks(std::nullopt);
        return std::make_shared<file>(std::move(store), settings, options);
    } catch (system_error const& e) {
        if (sqlite::is_busy(e.code())) throw system_error(errc::busy, path);
        throw;
    }
}

}  // namespace gander::engine

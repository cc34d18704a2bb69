// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/connection.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace gander::sqlite {

namespace {

constexpr std::int64_t julian_epoch_ms = 210866760000000;  // 1970-01-01 as a Julian day, in ms

int open_flags(open_mode mode) noexcept {
    int const common = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    switch (mode) {
        case open_mode::create:
            return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
        case open_mode::existing:
            return common | SQLITE_OPEN_READWRITE;
        case open_mode::read_only:
            break;
    }
    return common | SQLITE_OPEN_READONLY;
}

bool exists(std::string const& path) noexcept {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0;
}

bool is_directory(std::string const& path) noexcept {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

/// The path, and the operating system's reason where there is one: SQLite's "unable to open database
/// file" alone sends people looking in the wrong place.
std::string open_failure(sqlite3* db, std::string const& path) {
    std::string text = path;
    if (int const os = db != nullptr ? sqlite3_system_errno(db) : 0; os != 0) {
        text += ": ";
        text += std::strerror(os);
        if (os == EMFILE || os == ENFILE) text += " (raise the limit on open files, ulimit -n)";
    }
    return text;
}

}  // namespace

cursor::~cursor() {
    if (stmt_ == nullptr) return;
    sqlite3_reset(stmt_);
    sqlite3_clear_bindings(stmt_);
}

void cursor::bind(int index, std::int64_t v) {
    if (int const rc = sqlite3_bind_int64(stmt_, index, v); rc != SQLITE_OK)
        throw db_->error(rc, sqlite3_sql(stmt_));
}

void cursor::bind(int index, std::string_view v) {
    // A null pointer would bind NULL, which is not the empty text.
    char const* data = v.data() != nullptr ? v.data() : "";
    if (int const rc =
            sqlite3_bind_text64(stmt_, index, data, v.size(), SQLITE_STATIC, SQLITE_UTF8);
        rc != SQLITE_OK)
        throw db_->error(rc, sqlite3_sql(stmt_));
}

void cursor::bind(int index, std::nullptr_t) {
    if (int const rc = sqlite3_bind_null(stmt_, index); rc != SQLITE_OK)
        throw db_->error(rc, sqlite3_sql(stmt_));
}

bool cursor::step() {
    int const rc = sqlite3_step(stmt_);
    if (rc == SQLITE_ROW) return true;
    if (rc == SQLITE_DONE) return false;
    system_error const failure = db_->error(rc, sqlite3_sql(stmt_));
    sqlite3_reset(stmt_);
    throw failure;
}

std::string_view cursor::text(int column) const {
    auto const* data = reinterpret_cast<char const*>(sqlite3_column_text(stmt_, column));
    // The byte count, not strlen: text may hold NUL.
    return data == nullptr
               ? std::string_view()
               : std::string_view(data,
                                  static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column)));
}

connection::connection(settings const& how) {
    // SQLite opens a directory for reading, and calls what follows a disk error.
    if (is_directory(how.path))
        throw system_error(SQLITE_CANTOPEN_ISDIR, sqlite_category(), how.path + ": is a directory");
    int const rc = sqlite3_open_v2(how.path.c_str(), &db_, open_flags(how.mode), how.vfs);
    if (rc != SQLITE_OK) {
        system_error const failure(rc, sqlite_category(), open_failure(db_, how.path));
        sqlite3_close(db_);
        throw failure;
    }
    try {
        checkpoint_on_close(false);
        wait_for_locks(how.lock_deadline_ms);
        execute("PRAGMA temp_store=MEMORY");
        execute("PRAGMA cache_size=-2000");
        execute("PRAGMA wal_autocheckpoint=0");
        execute(("PRAGMA mmap_size=" + std::to_string(how.mmap)).c_str());
    } catch (system_error const& e) {
        sqlite3_close(db_);
        throw system_error(e.code(), how.path);
    }
}

connection::connection(sqlite3* borrowed) noexcept : db_(borrowed), owned_(false) {}

connection::~connection() {
    for (auto const& [sql, stmt] : statements_) sqlite3_finalize(stmt);
    if (owned_) sqlite3_close(db_);
}

sqlite3_stmt* connection::persistent(char const* sql) {
    auto [at, added] = statements_.try_emplace(sql, nullptr);
    if (at->second == nullptr) {
        int const rc =
            sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &at->second, nullptr);
        if (rc != SQLITE_OK) {
            statements_.erase(at);
            throw error(rc, sql);
        }
    }
    return at->second;
}

void connection::execute(char const* sql) {
    if (int const rc = try_execute(sql); rc != SQLITE_OK) throw error(rc, sql);
}

int connection::try_execute(char const* sql) noexcept {
    int const rc = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
    return rc == SQLITE_OK ? rc : sqlite3_extended_errcode(db_);
}

void connection::checkpoint_on_close(bool on) noexcept {
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

int connection::try_run(char const* sql) noexcept {
    try {
        sqlite3_stmt* const stmt = persistent(sql);
        int const rc = sqlite3_step(stmt);
        int const extended = sqlite3_extended_errcode(db_);
        sqlite3_reset(stmt);
        return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : extended;
    } catch (system_error const& e) {
        return e.code().value();
    } catch (...) {
        return SQLITE_NOMEM;
    }
}

std::string connection::query_text(char const* sql) {
    sqlite3_stmt* stmt = nullptr;
    int rc = sqlite3_prepare_v2(db_, sql, -1, &stmt, nullptr);
    std::string result;
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (auto const* text = sqlite3_column_text(stmt, 0); text != nullptr)
            result = reinterpret_cast<char const*>(text);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE) {
        system_error const failure = error(rc, sql);
        sqlite3_finalize(stmt);
        throw failure;
    }
    sqlite3_finalize(stmt);
    return result;
}

void connection::wait_for_locks(std::optional<std::int64_t> deadline_ms) noexcept {
    if (!deadline_ms) {
        sqlite3_busy_handler(db_, nullptr, nullptr);
        return;
    }
    // Not busy_timeout: that one adds up the sleeps it meant to take, and waits many times as long
    // on a loaded machine.
    lock_deadline_ = *deadline_ms;
    sqlite3_busy_handler(
        db_,
        [](void* self, int) {
            if (steady_ms() >= static_cast<connection*>(self)->lock_deadline_) return 0;
            std::this_thread::sleep_for(std::chrono::microseconds(500));
            return 1;
        },
        this);
}

std::int64_t connection::now_ms() const noexcept {
    sqlite3_vfs* vfs = nullptr;
    if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK ||
        vfs == nullptr)
        vfs = sqlite3_vfs_find(nullptr);
    sqlite3_int64 julian_ms = 0;
    if (vfs->iVersion >= 2 && vfs->xCurrentTimeInt64 != nullptr) {
        vfs->xCurrentTimeInt64(vfs, &julian_ms);
    } else {
        double days = 0;
        vfs->xCurrentTime(vfs, &days);
        julian_ms = static_cast<sqlite3_int64>(days * 86400000.0);
    }
    return julian_ms - julian_epoch_ms;
}

std::int64_t connection::now() const noexcept {
    std::int64_t const ms = now_ms();
    return ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000);
}

bool connection::replaced(bool wal) const {
    int moved = 0;
    if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
        moved != 0)
        return true;
    return wal && (!exists(path() + "-wal") || !exists(path() + "-shm"));
}

std::string connection::path() const {
    char const* name = sqlite3_db_filename(db_, "main");
    return name != nullptr ? name : "";
}

system_error connection::error(int rc, std::string_view sql) const {
    // SQLite keeps the extended code on the connection even where a call returned the primary one.
    int const extended = sqlite3_extended_errcode(db_);
    int const code = (extended & 0xff) == (rc & 0xff) ? extended : rc;
    return {code, sqlite_category(), std::string(sql) + ": " + sqlite3_errmsg(db_)};
}

bool is_busy(int rc) noexcept {
    int const primary = rc & 0xff;
    // PROTOCOL: the loser of a race for the WAL's locks gives up after many tries; so do not we.
    return primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL;
}

bool is_busy(error_code const& ec) noexcept {
    return ec.category() == sqlite_category() && is_busy(ec.value());
}

std::int64_t steady_ms() noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace gander::sqlite

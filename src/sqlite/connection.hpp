// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One SQLite connection and its prepared statements.
#pragma once

#include "gander/error.hpp"
#include "gander/options.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gander::sqlite {

class connection;

/// One use of a prepared statement: bound, stepped, and reset when it goes out of scope, so that no
/// read is left open behind anybody's back.
class cursor {
public:
    cursor(connection& db, sqlite3_stmt* stmt) noexcept : db_(&db), stmt_(stmt) {}
    cursor(cursor&& other) noexcept : db_(other.db_), stmt_(std::exchange(other.stmt_, nullptr)) {}
    cursor& operator=(cursor&&) = delete;
    ~cursor();

    void bind(int index, std::int64_t v);
    void bind(int index, std::string_view v);  ///< Referred to, not copied.
    void bind(int index, std::nullptr_t);
    template <class T>
    void bind(int index, std::optional<T> const& v) {
        v ? bind(index, *v) : bind(index, nullptr);
    }

    /// True: a row.
    /// \throws system_error.
    bool step();

    /// Steps to the end.
    void run() {
        while (step()) {
        }
    }

    bool is_null(int column) const { return type(column) == SQLITE_NULL; }
    int type(int column) const { return sqlite3_column_type(stmt_, column); }
    std::int64_t integer(int column) const { return sqlite3_column_int64(stmt_, column); }
    std::string_view text(int column) const;
    std::optional<std::int64_t> optional_integer(int column) const {
        return is_null(column) ? std::nullopt : std::optional(integer(column));
    }
    std::optional<std::string> optional_text(int column) const {
        return is_null(column) ? std::nullopt : std::optional<std::string>(text(column));
    }

private:
    connection* db_;
    sqlite3_stmt* stmt_;
};

/// Not thread-safe: who owns one serialises its use.
class connection {
public:
    struct settings {
        std::string path;
        open_mode mode = open_mode::create;
        char const* vfs = nullptr;
        std::int64_t mmap = 0;

        /// Until when, in steady milliseconds, to wait for locks: for blocking openings, and until
        /// `wait_for_locks` says otherwise. Unset: not at all.
        std::optional<std::int64_t> lock_deadline_ms{};
    };

    /// Opens a file.
    /// \throws system_error that names it.
    explicit connection(settings const& how);

    /// Borrows the user's connection, on which nothing is installed or changed.
    explicit connection(sqlite3* borrowed) noexcept;

    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;
    ~connection();

    sqlite3* handle() const noexcept { return db_; }

    /// A use of the persistent statement for `sql`, a string literal, with its parameters bound.
    template <class... Values>
    cursor prepared(char const* sql, Values const&... values) {
        cursor use(*this, persistent(sql));
        int index = 0;
        (use.bind(++index, values), ...);
        return use;
    }

    /// Runs statements that return nothing.
    /// \throws system_error.
    void execute(char const* sql);

    /// The same, returning SQLite's extended result code.
    int try_execute(char const* sql) noexcept;

    /// Runs a persistent statement without parameters or rows, returning the extended code: for
    /// BEGIN and COMMIT, whose "busy" is no exception.
    int try_run(char const* sql) noexcept;

    /// Runs a one-row PRAGMA or SELECT and returns its first column as text.
    std::string query_text(char const* sql);

    /// Sets until when SQLite waits in a busy handler; the engine never waits inside SQLite.
    void wait_for_locks(std::optional<std::int64_t> deadline_ms) noexcept;

    /// Whether closing it, if it is the last of all to close, copies the WAL and deletes it. Not by
    /// default: SQLite deletes by name, and the name may be another file's by then.
    void checkpoint_on_close(bool on) noexcept;

    /// The file's clock: that of the connection's VFS, in milliseconds since 1970.
    std::int64_t now_ms() const noexcept;
    std::int64_t now() const noexcept;

    bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }
    bool read_only() const noexcept { return sqlite3_db_readonly(db_, "main") == 1; }
    std::int64_t changes() const noexcept { return sqlite3_changes64(db_); }
    std::int64_t last_insert_rowid() const noexcept { return sqlite3_last_insert_rowid(db_); }

    /// True when another file now has this file's name, or none has; with `wal`, also when what
    /// stands beside it was deleted. In each case commits would go where nobody else looks.
    bool replaced(bool wal) const;

    /// The canonical path, as SQLite resolved it.
    std::string path() const;

    /// An error with SQLite's extended code and message; `sql` names the statement.
    system_error error(int rc, std::string_view sql) const;

private:
    sqlite3_stmt* persistent(char const* sql);

    sqlite3* db_ = nullptr;
    bool owned_ = true;
    std::int64_t lock_deadline_ = 0;
    // By the literal's address: statements are few, and a lookup must cost next to nothing.
    std::unordered_map<char const*, sqlite3_stmt*> statements_;
};

/// Primary codes that say "somebody else holds the lock; nothing has happened".
bool is_busy(int rc) noexcept;
bool is_busy(error_code const& ec) noexcept;

/// Steady milliseconds, for deadlines.
std::int64_t steady_ms() noexcept;

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A writer that knows nothing but SQLite: a plain INSERT into the notification table.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace bench {

class foreign_writer {
public:
    /// `synchronous` is the PRAGMA's value. The rest is as SQLite has it by default.
    foreign_writer(std::string const& path, std::string const& synchronous) {
        sqlite3* db = nullptr;
        int const rc = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
        db_.reset(db);
        check(rc);
        check(sqlite3_busy_timeout(db, 5000));
        check(sqlite3_exec(db, ("PRAGMA synchronous=" + synchronous).c_str(), nullptr, nullptr,
                           nullptr));
        sqlite3_stmt* insert = nullptr;
        check(sqlite3_prepare_v2(
            db, "INSERT INTO _honker_notifications(channel, payload) VALUES ('bench', ?)", -1,
            &insert, nullptr));
        insert_.reset(insert);
    }

    /// Returns when the transaction has committed.
    void write(std::string const& message) {
        check(sqlite3_bind_text(insert_.get(), 1, message.data(), static_cast<int>(message.size()),
                                SQLITE_STATIC));
        // The implicit transaction commits inside of the step. Resetting afterwards is not part of
        // it, and is left to the next call.
        sqlite3_step(insert_.get());
    }

    /// Makes the connection ready for the next write, and throws what the last one met.
    void finish() { check(sqlite3_reset(insert_.get())); }

private:
    struct close_db {
        void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    };
    struct finalize {
        void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
    };

    void check(int rc) const {
        if (rc != SQLITE_OK)
            throw std::runtime_error(db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(rc));
    }

    std::unique_ptr<sqlite3, close_db> db_;
    std::unique_ptr<sqlite3_stmt, finalize> insert_;
};

/// Makes an SQLite file with a rollback journal, which is what SQLite makes by default.
inline void make_rollback_file(std::string const& path) {
    sqlite3* db = nullptr;
    int rc = sqlite3_open(path.c_str(), &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA journal_mode=DELETE; CREATE TABLE here_first(x)", nullptr,
                          nullptr, nullptr);
    sqlite3_close(db);
    if (rc != SQLITE_OK) throw std::runtime_error(path + ": " + sqlite3_errstr(rc));
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "support/raw_db.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace gander::test {

raw_db::raw_db(std::string const& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) {
        std::string const why = sqlite3_errmsg(db_);
        sqlite3_close(db_);
        throw std::runtime_error(path + ": " + why);
    }
    sqlite3_busy_timeout(db_, 5000);
}

raw_db::~raw_db() { sqlite3_close(db_); }

void raw_db::execute(std::string const& sql) {
    if (try_execute(sql) != SQLITE_OK) throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
}

int raw_db::try_execute(std::string const& sql) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
}

std::string raw_db::text(std::string const& sql) {
    sqlite3_stmt* stmt = nullptr;
    int rc = sqlite3_prepare_v2(db_, sql.c_str(), -1, &stmt, nullptr);
    std::string result;
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (auto const* t = sqlite3_column_text(stmt, 0); t != nullptr)
            result = reinterpret_cast<char const*>(t);
    std::string const why = sqlite3_errmsg(db_);
    sqlite3_finalize(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) throw std::runtime_error(sql + ": " + why);
    return result;
}

std::int64_t raw_db::number(std::string const& sql) {
    std::string const t = text(sql);
    return t.empty() ? 0 : std::stoll(t);
}

void make_foreign_file(std::string const& path, std::string const& journal_mode) {
    raw_db db(path);
    std::string const got = db.text("PRAGMA journal_mode=" + journal_mode);
    if (got != journal_mode) throw std::runtime_error("journal mode is " + got);
    db.execute(
        "CREATE TABLE _honker_notifications(id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " channel TEXT NOT NULL, payload TEXT NOT NULL,"
        " created_at INTEGER NOT NULL DEFAULT (unixepoch()))");
}

}  // namespace gander::test

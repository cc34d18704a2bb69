// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Plain SQLite in this process: what any other program could do to the file.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace gander::test {

/// A connection of a program that does not know gander: SQLite's defaults, busy timeout 5 s.
class raw_db {
public:
    explicit raw_db(std::string const& path);
    raw_db(raw_db const&) = delete;
    ~raw_db();

    /// \throws runtime_error with SQLite's message.
    void execute(std::string const& sql);

    /// The result code, 0 for success.
    int try_execute(std::string const& sql);

    /// The first column of the first row; "" or 0 when there is none.
    std::string text(std::string const& sql);
    std::int64_t number(std::string const& sql);

    sqlite3* handle() const noexcept { return db_; }

private:
    sqlite3* db_ = nullptr;
};

/// Makes a file that others made: `mode` is the journal mode, and honker's tables are in it.
void make_foreign_file(std::string const& path, std::string const& journal_mode);

}  // namespace gander::test

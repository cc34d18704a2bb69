// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A fixture: the store on a file of its own, with a clock that the test sets.
#pragma once

#include "sqlite/schema.hpp"
#include "sqlite/store.hpp"
#include "support/raw_db.hpp"
#include "support/temp.hpp"
#include "unit/sqlite/clock_vfs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gander::test {

class store_test : public ::testing::Test {
protected:
    static constexpr std::int64_t start = 1'700'000'000;

    static sqlite::connection::settings settings(std::string const& path) {
        clock_vfs::install();
        clock_vfs::stop_at(start * 1000);
        return {path, open_mode::create, clock_vfs::name, 0};
    }

    store_test() {
        store.db.execute("PRAGMA synchronous=OFF");  // durability is not what is tested here
        store.db.execute("PRAGMA journal_mode=WAL");
        sqlite::create_schema(store.db);
    }

    static void pass(std::int64_t seconds) { clock_vfs::advance(seconds * 1000); }

    /// A job that is due now.
    static sqlite::new_job due(std::int64_t priority = 0, std::int64_t max_attempts = 3) {
        sqlite::new_job job;
        job.priority = priority;
        job.run_at = start;
        job.max_attempts = max_attempts;
        job.created_at = start;
        return job;
    }

    std::int64_t number(std::string const& sql) { return std::stoll("0" + text(sql)); }
    std::string text(std::string const& sql) { return store.db.query_text(sql.c_str()); }

    temp_db file;
    sqlite::store store{settings(file.path())};
};

}  // namespace gander::test

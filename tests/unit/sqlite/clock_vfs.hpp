// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A SQLite VFS whose clock a test can set: the system's in all else.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>

namespace gander::test {

/// One a program; pass `clock_vfs::name` as open_options::vfs. Its time goes on with the system's
/// until it is shifted or stopped.
class clock_vfs {
public:
    static constexpr char const* name = "gander_test_clock";

    /// Registers it, with the system's time.
    static void install() {
        static sqlite3_vfs vfs = make();
        static int const registered = sqlite3_vfs_register(&vfs, 0);
        (void)registered;
        shift_ms() = 0;
        stopped_ms() = 0;
    }

    static void advance(std::int64_t ms) {
        if (stopped_ms() != 0)
            stopped_ms() += ms;
        else
            shift_ms() += ms;
    }

    /// Stands still at this time, in milliseconds since 1970.
    static void stop_at(std::int64_t ms) { stopped_ms() = ms; }

private:
    static constexpr std::int64_t julian_epoch_ms = 210866760000000;

    static std::atomic<std::int64_t>& shift_ms() {
        static std::atomic<std::int64_t> value{0};
        return value;
    }
    static std::atomic<std::int64_t>& stopped_ms() {
        static std::atomic<std::int64_t> value{0};
        return value;
    }
    static sqlite3_vfs* system() {
        static sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
        return found;
    }

    static int now(sqlite3_vfs*, sqlite3_int64* julian_ms) {
        if (std::int64_t const fixed = stopped_ms(); fixed != 0) {
            *julian_ms = julian_epoch_ms + fixed;
            return SQLITE_OK;
        }
        int const rc = system()->xCurrentTimeInt64(system(), julian_ms);
        *julian_ms += shift_ms();
        return rc;
    }

    static sqlite3_vfs make() {
        sqlite3_vfs vfs = *system();
        vfs.zName = name;
        vfs.pNext = nullptr;
        vfs.xCurrentTimeInt64 = &clock_vfs::now;
        vfs.xCurrentTime = [](sqlite3_vfs* self, double* days) {
            sqlite3_int64 ms = 0;
            int const rc = now(self, &ms);
            *days = static_cast<double>(ms) / 86400000.0;
            return rc;
        };
        return vfs;
    }
};

}  // namespace gander::test

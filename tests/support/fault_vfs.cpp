// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "support/fault_vfs.hpp"

#include <sqlite3.h>

#include <cstddef>

namespace gander::test {

namespace {

std::atomic<int> syncs_to_fail{0};
std::atomic<int> writes_to_fail{0};
std::atomic<int> failures{0};
std::atomic<int> openings{0};

sqlite3_vfs* real_vfs = nullptr;
sqlite3_vfs shim;

/// The real file lies behind it in the memory that SQLite allots.
struct shim_file {
    sqlite3_file base;

    sqlite3_file* real() {
        return reinterpret_cast<sqlite3_file*>(reinterpret_cast<std::byte*>(this) +
                                               sizeof(shim_file));
    }
};

sqlite3_file* real(sqlite3_file* f) { return reinterpret_cast<shim_file*>(f)->real(); }

bool take_one(std::atomic<int>& from) {
    int n = from.load();
    while (n > 0)
        if (from.compare_exchange_weak(n, n - 1)) {
            ++failures;
            return true;
        }
    return false;
}

/// Each method as the real file has it.
template <auto Member, class... Args>
auto pass(sqlite3_file* f, Args... args) {
    return (real(f)->pMethods->*Member)(real(f), args...);
}

using m = sqlite3_io_methods;

sqlite3_io_methods const methods = {
    3,
    [](sqlite3_file* f) { return pass<&m::xClose>(f); },
    [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
        return pass<&m::xRead>(f, to, n, at);
    },
    [](sqlite3_file* f, void const* from, int n, sqlite3_int64 at) {
        return take_one(writes_to_fail) ? SQLITE_FULL : pass<&m::xWrite>(f, from, n, at);
    },
    [](sqlite3_file* f, sqlite3_int64 size) { return pass<&m::xTruncate>(f, size); },
    [](sqlite3_file* f, int flags) {
        return take_one(syncs_to_fail) ? SQLITE_IOERR_FSYNC : pass<&m::xSync>(f, flags);
    },
    [](sqlite3_file* f, sqlite3_int64* size) { return pass<&m::xFileSize>(f, size); },
    [](sqlite3_file* f, int level) { return pass<&m::xLock>(f, level); },
    [](sqlite3_file* f, int level) { return pass<&m::xUnlock>(f, level); },
    [](sqlite3_file* f, int* held) { return pass<&m::xCheckReservedLock>(f, held); },
    [](sqlite3_file* f, int what, void* with) { return pass<&m::xFileControl>(f, what, with); },
    [](sqlite3_file* f) { return pass<&m::xSectorSize>(f); },
    [](sqlite3_file* f) { return pass<&m::xDeviceCharacteristics>(f); },
    [](sqlite3_file* f, int region, int size, int extend, void volatile** to) {
        return pass<&m::xShmMap>(f, region, size, extend, to);
    },
    [](sqlite3_file* f, int offset, int n, int flags) {
        return pass<&m::xShmLock>(f, offset, n, flags);
    },
    [](sqlite3_file* f) { pass<&m::xShmBarrier>(f); },
    [](sqlite3_file* f, int remove) { return pass<&m::xShmUnmap>(f, remove); },
    [](sqlite3_file* f, sqlite3_int64 at, int n, void** to) {
        return pass<&m::xFetch>(f, at, n, to);
    },
    [](sqlite3_file* f, sqlite3_int64 at, void* page) { return pass<&m::xUnfetch>(f, at, page); },
};

int open(sqlite3_vfs*, char const* name, sqlite3_file* f, int flags, int* out) {
    int const rc = real_vfs->xOpen(real_vfs, name, real(f), flags, out);
    f->pMethods = rc == SQLITE_OK ? &methods : nullptr;
    if (rc == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) ++openings;
    return rc;
}

}  // namespace

fault_vfs::fault_vfs() {
    real_vfs = sqlite3_vfs_find(nullptr);
    shim = *real_vfs;
    shim.pNext = nullptr;
    shim.zName = "gander-test-fault";
    shim.szOsFile = static_cast<int>(sizeof(shim_file)) + real_vfs->szOsFile;
    shim.xOpen = open;
    sqlite3_vfs_register(&shim, 0);
}

fault_vfs::~fault_vfs() { sqlite3_vfs_unregister(&shim); }

char const* fault_vfs::name() const noexcept { return shim.zName; }
void fault_vfs::fail_syncs(int n) noexcept { syncs_to_fail = n; }
void fault_vfs::fail_writes(int n) noexcept { writes_to_fail = n; }
int fault_vfs::failed() const noexcept { return failures; }
int fault_vfs::opened() const noexcept { return openings; }

}  // namespace gander::test

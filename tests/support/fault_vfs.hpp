// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// SQLite's own file access, except for the calls that are told to fail.
#pragma once

#include <atomic>
#include <string>

namespace gander::test {

/// A VFS over the default one, registered while it exists: pass `name()` as `open_options::vfs`.
/// One at a time. Everything opened through it must be closed before it goes; gander closes on its
/// own threads, so give it static storage duration.
class fault_vfs {
public:
    fault_vfs();
    fault_vfs(fault_vfs const&) = delete;
    ~fault_vfs();

    char const* name() const noexcept;

    /// The next `n` syncs fail with SQLITE_IOERR_FSYNC, the next `n` writes with SQLITE_FULL.
    void fail_syncs(int n) noexcept;
    void fail_writes(int n) noexcept;

    /// Syncs and writes that were made to fail, and openings of a main database, until now.
    int failed() const noexcept;
    int opened() const noexcept;
};

}  // namespace gander::test

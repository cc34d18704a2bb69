// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Has anybody committed since I last looked? The check behind every wake.
#pragma once

#include "sqlite/connection.hpp"
#include "sqlite/wal_index.hpp"

#include <cstdint>

namespace gander::sqlite {

/// Watches through a connection that its owner gives it and that holds no open read between calls:
/// `PRAGMA data_version` would not change under one. Not thread-safe.
class commit_watch {
public:
    enum class finding {
        unchanged,
        changed,
        busy,  ///< Not to be known now: somebody holds the file locked. Look again; it is no "no".
    };

    /// Takes the baseline: commits from now on are changes. A file that is locked at the moment
    /// gets its baseline from the first check that succeeds, which then reports a change.
    explicit commit_watch(connection& db);

    /// Looks. In WAL mode a few nanoseconds and safe on any thread of the caller's; otherwise a
    /// read of the file, which may touch the disk.
    /// \throws system_error for what is not "busy".
    finding check();

    /// True in WAL mode, once it could be attached to.
    bool wal() const noexcept { return index_.attached(); }

    /// WAL mode only: whether a commit is about to show; see wal_index.
    bool commit_in_flight() noexcept { return wal() && index_.commit_in_flight(db_, seen_); }

    /// `PRAGMA data_version` as of now.
    /// \throws system_error.
    std::int64_t data_version();

    /// Frames in the WAL, and how many of them are not checkpointed yet; 0 outside WAL mode.
    std::uint32_t wal_frames() const noexcept;
    std::uint32_t wal_backlog() const noexcept;

private:
    finding check_data_version();
    void attach_if_wal();

    connection& db_;
    wal_index index_;
    wal_index::header seen_{};
    std::int64_t version_ = -1;
};

}  // namespace gander::sqlite

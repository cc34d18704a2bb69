// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Moving the WAL's content into the database without stalling writers, and without the WAL-reset
/// bug.
///
/// SQLite before 3.51.3 (except 3.50.7 and 3.44.6) can lose a commit when a pass begins on a fully
/// backfilled WAL while a writer resets it: https://www.sqlite.org/wal.html#the_wal_reset_bug. So a
/// background pass begins only while the checkpoint right is held and frames are waiting, and the
/// finishing pass runs while the caller holds the write lock, when nobody can reset the WAL.
#pragma once

#include "sqlite/connection.hpp"
#include "sqlite/side_file.hpp"
#include "sqlite/wal_index.hpp"

#include <cstdint>

namespace gander::sqlite {

class checkpointer {
public:
    /// The WAL length, in frames, above which a pass may hold up writers to restart the WAL: some
    /// reader has kept it from being restarted for long.
    static constexpr std::uint32_t high_water_frames = 16000;

    explicit checkpointer(connection::settings const& how) : db_(how) {}

    /// Copies what it can while others read and write. False when there was nothing to do, another
    /// process is at it, or the file is not in WAL mode.
    bool background_pass(side_file& side);

    /// Copies the few frames that were written since. Call it while another connection of this
    /// process holds an empty BEGIN IMMEDIATE; the next writer then restarts the WAL from its
    /// beginning.
    void finish();

private:
    bool attach();

    connection db_;
    wal_index index_;
};

}  // namespace gander::sqlite

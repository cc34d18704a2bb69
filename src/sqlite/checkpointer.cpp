// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/checkpointer.hpp"

namespace gander::sqlite {

bool checkpointer::attach() {
    if (index_.attached()) return true;
    // A read first: it opens the WAL, without which there is no wal-index to map.
    db_.query_text("SELECT count(*) FROM sqlite_master");
    return db_.query_text("PRAGMA journal_mode") == "wal" && index_.attach(db_);
}

bool checkpointer::background_pass(side_file& side) {
    if (!attach() || !side.try_take_checkpoint()) return false;
    std::uint32_t const frames = wal_index::frames(index_.read());
    bool const waiting = index_.backfilled() < frames;  // read while holding the right
    if (waiting) {
        // RESTART holds the write lock for the whole pass, so the bug cannot reach it either.
        int const mode =
            frames > high_water_frames ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
        // A busy pass has done a part, or will be done by another; either way it is not an error.
        sqlite3_wal_checkpoint_v2(db_.handle(), "main", mode, nullptr, nullptr);
    }
    side.end_checkpoint();
    return waiting;
}

void checkpointer::finish() {
    sqlite3_wal_checkpoint_v2(db_.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

}  // namespace gander::sqlite

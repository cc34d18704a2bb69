// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/commit_watch.hpp"

namespace gander::sqlite {

commit_watch::commit_watch(connection& db) : db_(db) { check_data_version(); }

commit_watch::finding commit_watch::check() {
    if (!index_.attached()) return check_data_version();
    wal_index::header const now = index_.read();
    if (now == seen_) return finding::unchanged;
    seen_ = now;  // as it was before anybody reads on the strength of it: no later commit is missed
    return finding::changed;
}

commit_watch::finding commit_watch::check_data_version() {
    std::int64_t version = 0;
    try {
        version = data_version();
    } catch (system_error const& e) {
        if (is_busy(e.code())) return finding::busy;
        throw;
    }
    bool const changed = version != version_;
    version_ = version;
    if (changed) attach_if_wal();
    return changed ? finding::changed : finding::unchanged;
}

void commit_watch::attach_if_wal() {
    // Ask SQLite, not the header's byte 18: beside a stale -wal that byte does not tell the mode.
    if (db_.query_text("PRAGMA journal_mode") != "wal" || !index_.attach(db_)) return;
    // A commit between the pragma and the attaching is in this header and in nobody's answer; the
    // caller has a change to report in any case, and reads after this.
    seen_ = index_.read();
}

std::int64_t commit_watch::data_version() {
    auto row = db_.prepared("PRAGMA data_version");
    return row.step() ? row.integer(0) : -1;
}

std::uint32_t commit_watch::wal_frames() const noexcept {
    return wal() ? wal_index::frames(index_.read()) : 0;
}

std::uint32_t commit_watch::wal_backlog() const noexcept {
    if (!wal()) return 0;
    std::uint32_t const frames = wal_frames();
    std::uint32_t const done = index_.backfilled();
    return frames > done ? frames - done : 0;
}

}  // namespace gander::sqlite

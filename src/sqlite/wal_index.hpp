// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A look into the wal-index through SQLite's own mapping: no file opened or closed (which would
/// drop SQLite's locks), no lock touched, a few nanoseconds.
///
/// Layout: https://www.sqlite.org/walformat.html#the_wal_index_header. Words of 32 bits in the
/// machine's order: 0-11 the header (3: page size in its second half; 4: mxFrame; 8 and 9: the
/// salt), 12-23 its copy, 24 nBackfill.
#pragma once

#include "sqlite/connection.hpp"

#include <array>
#include <cstdint>

namespace gander::sqlite {

class wal_index {
public:
    using header = std::array<std::uint32_t, 12>;

    /// Maps region 0. Call only in WAL mode and after a successful read: otherwise SQLite would
    /// create a -shm that nobody wants. False when it cannot be had.
    bool attach(connection& db) noexcept;
    bool attached() const noexcept { return words_ != nullptr; }

    header read() const noexcept;

    static std::uint32_t frames(header const& h) noexcept { return h[4]; }
    std::uint32_t backfilled() const noexcept { return words_[24]; }

    /// True when a frame of a transaction stands in the WAL just behind those that `seen` counts: a
    /// commit is under way and will show in the header in a moment.
    bool commit_in_flight(connection& db, header const& seen) noexcept;

private:
    std::uint32_t volatile const* words_ = nullptr;
    std::array<unsigned char, 8> last_salt_{};
};

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/wal_index.hpp"

#include <bit>
#include <cstring>

namespace gander::sqlite {

namespace {

constexpr int region_bytes = 32768;
constexpr std::int64_t wal_header_bytes = 32;
constexpr std::int64_t frame_header_bytes = 24;

std::uint32_t page_size(wal_index::header const& h) noexcept {
    // szPage is the second 16-bit field of word 3; 65536 is stored as 1.
    auto const halves = std::bit_cast<std::array<std::uint16_t, 2>>(h[3]);
    return halves[1] <= 1 ? 65536 : halves[1];
}

sqlite3_file* file_of(connection& db, int which) noexcept {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(db.handle(), "main", which, &file) != SQLITE_OK) return nullptr;
    return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

}  // namespace

bool wal_index::attach(connection& db) noexcept {
    words_ = nullptr;
    sqlite3_file* const file = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    if (file == nullptr || file->pMethods->iVersion < 2 || file->pMethods->xShmMap == nullptr)
        return false;
    void volatile* region = nullptr;
    if (file->pMethods->xShmMap(file, 0, region_bytes, 0, &region) != SQLITE_OK) return false;
    words_ = static_cast<std::uint32_t volatile const*>(region);
    return words_ != nullptr;
}

wal_index::header wal_index::read() const noexcept {
    header h;
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = words_[i];
    return h;
}

bool wal_index::commit_in_flight(connection& db, header const& seen) noexcept {
    sqlite3_file* const wal = file_of(db, SQLITE_FCNTL_JOURNAL_POINTER);
    if (wal == nullptr) return false;
    std::array<unsigned char, 64> bytes;
    if (frames(seen) == 0) {
        // A restarted WAL: the header's salt is the old one until the first commit, so compare the
        // first frame's salt with the WAL header's, and both with the salt before.
        if (wal->pMethods->xRead(wal, bytes.data(), 56, 0) != SQLITE_OK) return false;
        return std::memcmp(&bytes[40], &bytes[16], 8) == 0 &&
               std::memcmp(&bytes[16], last_salt_.data(), 8) != 0;
    }
    std::memcpy(last_salt_.data(), &seen[8], 8);
    std::int64_t const next =
        wal_header_bytes + std::int64_t{frames(seen)} * (frame_header_bytes + page_size(seen));
    if (wal->pMethods->xRead(wal, bytes.data(), frame_header_bytes, next) != SQLITE_OK)
        return false;
    return std::memcmp(&bytes[8], &seen[8], 8) == 0;
}

}  // namespace gander::sqlite

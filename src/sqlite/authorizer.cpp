// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/authorizer.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gander::sqlite {

namespace {

// Setting one of these would change what an acknowledgement means, or the engine's hold on the
// file.
constexpr std::array<std::string_view, 13> settings = {
    "journal_mode",       "locking_mode", "synchronous",     "wal_checkpoint", "wal_autocheckpoint",
    "busy_timeout",       "query_only",   "writable_schema", "schema_version", "read_uncommitted",
    "journal_size_limit", "temp_store",   "mmap_size"};

bool refused(int action, char const* first, char const* second) noexcept {
    switch (action) {
        case SQLITE_TRANSACTION:
        case SQLITE_SAVEPOINT:
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
            return true;
        case SQLITE_PRAGMA:
            return second != nullptr && first != nullptr &&
                   std::find(settings.begin(), settings.end(), std::string_view(first)) !=
                       settings.end();
        default:
            return false;
    }
}

}  // namespace

// Once, and switched by a flag: setting an authorizer makes SQLite compile every prepared statement
// of the connection again.
authorizer::authorizer(connection& db) noexcept {
    sqlite3_set_authorizer(
        db.handle(),
        [](void* self, int action, char const* first, char const* second, char const*,
           char const*) {
            return static_cast<authorizer*>(self)->refusing_ && refused(action, first, second)
                       ? SQLITE_DENY
                       : SQLITE_OK;
        },
        this);
}

}  // namespace gander::sqlite

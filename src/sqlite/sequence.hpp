// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The newest id of an AUTOINCREMENT table.
#pragma once

#include "sqlite/connection.hpp"

#include <string>
#include <string_view>

namespace gander::sqlite {

/// The highest id that `table` ever gave out and committed. Not just `max(id)`: a table that was
/// pruned empty goes on counting from where it was, and a reader must too.
std::int64_t newest_id(connection& db, char const* max_query, std::string_view table);

/// True when `table` has given out its last id.
bool ids_exhausted(connection& db, std::string_view table);

/// Runs an insertion into `table`. When that has used up its ids SQLite says "disk full"; this says
/// `errc::id_exhausted`.
template <class Insert>
auto insert_into(connection& db, std::string_view table, Insert insert) {
    try {
        return insert();
    } catch (system_error const& e) {
        if (e.code().value() == SQLITE_FULL && ids_exhausted(db, table))
            throw system_error(errc::id_exhausted, std::string(table));
        throw;
    }
}

}  // namespace gander::sqlite

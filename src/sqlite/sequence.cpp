// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/sequence.hpp"

#include <limits>

namespace gander::sqlite {

std::int64_t newest_id(connection& db, char const* max_query, std::string_view table) {
    {
        auto row = db.prepared(max_query);
        if (row.step() && !row.is_null(0)) return row.integer(0);
    }
    auto row = db.prepared("SELECT seq FROM sqlite_sequence WHERE name=?1", table);
    return row.step() ? row.integer(0) : 0;
}

bool ids_exhausted(connection& db, std::string_view table) {
    auto row = db.prepared("SELECT seq FROM sqlite_sequence WHERE name=?1", table);
    return row.step() && row.integer(0) == std::numeric_limits<std::int64_t>::max();
}

}  // namespace gander::sqlite

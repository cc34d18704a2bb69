// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The newest id of an AUTOINCREMENT table.
#pragma once

#include "sqlite/connection.hpp"

namespace gander::sqlite {

/// The highest id that `table` ever gave out and committed. Not just `max(id)`: a table that was
/// pruned empty goes on counting from where it was, and a reader must too.
std::int64_t newest_id(connection& db, char const* max_query, std::string_view table);

}  // namespace gander::sqlite

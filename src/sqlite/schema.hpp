// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The tables and indexes: honker's, which the file shares with every honker binding, and our own.
#pragma once

#include "sqlite/connection.hpp"

namespace gander::sqlite {

/// The version of our own `_gander_` objects. honker's tables have no version: they are looked at.
inline constexpr std::int64_t schema_version = 1;

/// True when nothing is missing, so that opening the file need not write.
/// \throws system_error `errc::schema_too_new`.
bool schema_complete(connection& db);

/// Makes what is missing, in one transaction; safe when many processes do so at once. When a
/// transaction is open, becomes part of it.
/// The claim index is built only while there are few jobs, or when `build_claim_index` says so:
/// it takes a second for each million rows, under the write lock.
void create_schema(connection& db, bool build_claim_index = false);

}  // namespace gander::sqlite

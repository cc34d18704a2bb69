// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Many rows in few statements.
#pragma once

#include "sqlite/connection.hpp"

#include <cstddef>

namespace gander::sqlite {

/// Rows to a statement: a statement's fixed cost is most of a short row's, and 16 rows share it
/// well.
inline constexpr std::size_t bulk_rows = 16;

/// Inserts `count` rows: blocks of `bulk_rows` with `many`, the rest one by one with `one`.
/// `bind(cursor, first_parameter, row)` binds one row's parameters, of which there are `width`.
/// Within one write transaction AUTOINCREMENT ids are consecutive; returns the first of them.
template <class Bind>
std::int64_t bulk_insert(connection& db, char const* many, char const* one, int width,
                         std::size_t count, Bind bind) {
    std::size_t row = 0;
    while (count - row >= bulk_rows) {
        auto use = db.prepared(many);
        for (std::size_t i = 0; i < bulk_rows; ++i)
            bind(use, static_cast<int>(i) * width + 1, row + i);
        use.run();
        row += bulk_rows;
    }
    for (; row < count; ++row) {
        auto use = db.prepared(one);
        bind(use, 1, row);
        use.run();
    }
    return count == 0 ? 0 : db.last_insert_rowid() - static_cast<std::int64_t>(count) + 1;
}

}  // namespace gander::sqlite

/// `row` sixteen times, separated by commas: the VALUES of a bulk statement.
#define GANDER_SIXTEEN(row)                                                                     \
    row "," row "," row "," row "," row "," row "," row "," row "," row "," row "," row "," row \
        "," row "," row "," row "," row

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Arithmetic that refuses to overflow: a sum that wraps would store a time in the past, and one
/// that SQLite computes would become a REAL.
#pragma once

#include "gander/error.hpp"

#include <cstdint>

namespace gander::sqlite {

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        throw system_error(errc::out_of_range, "a time beyond the 64-bit seconds");
    return sum;
}

}  // namespace gander::sqlite

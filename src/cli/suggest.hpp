// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// "Did you mean": the known name nearest to a mistyped one.
#pragma once

#include <span>
#include <string_view>

namespace gander::cli {

/// The name of `known` with the smallest edit distance to `given`; the first of several. Empty only
/// when `known` is.
std::string_view nearest(std::string_view given, std::span<std::string_view const> known);

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The texts of `help`, `--help` and `--version`.
#pragma once

#include <string>

namespace gander::cli {

struct verb;

/// All verbs, with an example each.
std::string usage();

/// One verb in full.
std::string usage_of(verb const& what);

/// The command's own version and SQLite's.
std::string version();

}  // namespace gander::cli

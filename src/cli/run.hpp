// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// From the arguments of the process to its exit status.
#pragma once

#include <string>
#include <vector>

namespace gander::cli {

/// Does what `given`, the arguments after the program's name, asks for. Says on standard error what
/// went wrong. Never throws.
int run(std::vector<std::string> const& given) noexcept;

}  // namespace gander::cli

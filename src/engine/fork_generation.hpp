// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Tells the child of a fork() that what it inherited is not its own.
#pragma once

#include <cstdint>

namespace gander::engine {

/// Counts the forks between the first call in this program and here: it differs between an object's
/// birth and now exactly if there was a fork in between. A load; cheaper than getpid().
std::uint64_t fork_generation() noexcept;

}  // namespace gander::engine

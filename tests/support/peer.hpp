// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What the peer program's parts share.
#pragma once

#include <gander/gander.hpp>

#include <cstdio>
#include <string>

namespace gander::test {

/// An error as one word, "gander:14" or "sqlite:776"; "ok" for none.
inline std::string word_of(error_code const& ec) {
    return ec ? std::string(ec.category().name()) + ':' + std::to_string(ec.value()) : "ok";
}

inline void tell(std::string const& line) {
    std::fputs((line + '\n').c_str(), stdout);
    std::fflush(stdout);
}

/// Waits for a line of standard input; false at its end.
bool hear(std::string& line);

/// `fork FILE HOW`: see peer_fork.cpp.
int run_fork(std::string const& file, std::string const& how);

}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Starting a process.
#pragma once

#include <string>

#include <sys/types.h>

namespace gander::cli {

struct command_line;

/// The path of the program that a shell would run for `name`; empty when there is none.
std::string find_program(std::string const& name);

/// Starts `line` in a process group of its own, with `input` as standard input and the signals as a
/// new program expects them. Returns 0 and sets `pid`, or returns an errno.
int spawn(command_line const& line, int input, pid_t& pid);

}  // namespace gander::cli

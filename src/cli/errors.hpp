// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// How the command fails: its exit statuses, and the exceptions that lead to them.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gander::cli {

/// What scripts rely on.
namespace exit_status {
inline constexpr int done = 0;
inline constexpr int no = 1;      ///< Not found, not yours any more, timed out.
inline constexpr int usage = 2;   ///< The arguments or the input are wrong.
inline constexpr int failed = 3;  ///< The database or the system refused.
}  // namespace exit_status

/// The command line is wrong: status 2, with a hint where the usage is to be found.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What was read from an argument or standard input is wrong: status 2.
class input_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The system refused something that is not the database: status 3.
class system_failure : public std::runtime_error {
public:
    system_failure(std::string_view what, int error_number);
};

/// Nobody reads standard output any more: status 0, as nothing is wrong with that.
class output_closed : public std::exception {
public:
    char const* what() const noexcept override { return "standard output was closed"; }
};

/// A failure as the user is told of it.
struct failure {
    int status;
    std::string text;  ///< Empty: nothing is said.
    bool show_hint = false;
};

/// Translates `error`, met by a command on `file` (which may be empty).
failure describe(std::exception_ptr error, std::string_view file);

}  // namespace gander::cli

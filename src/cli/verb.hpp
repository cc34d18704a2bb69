// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A verb of the command: what it takes, how it is explained, and the coroutine that does it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace gander::cli {

class arguments;
class session;

/// An option of a verb.
struct option {
    std::string_view name;   ///< Without the dashes.
    std::string_view value;  ///< What it takes, as the usage shows it; empty for a switch.
    std::string_view help;
};

inline constexpr std::size_t any_number = static_cast<std::size_t>(-1);

/// One verb. Each has a file of its own in verbs/ and a row in verbs.cpp.
struct verb {
    std::string_view name;
    std::string_view synopsis;  ///< What follows `gander NAME FILE`.
    std::string_view summary;
    std::string_view example;
    std::size_t min_operands;  ///< Not counting FILE.
    std::size_t max_operands;
    std::span<option const> options;
    bool takes_command;  ///< `-- COMMAND...`

    /// Does it and returns the exit status. Both arguments outlive the coroutine.
    boost::asio::awaitable<int> (*run)(session& in, arguments const& args);

    std::string_view details = {};  ///< What `gander help NAME` says after the summary.
};

/// All verbs in the order of the usage.
std::span<verb const* const> all_verbs();

/// The verb of this name, or null.
verb const* find_verb(std::string_view name);

/// The name of the verb nearest to `name`.
std::string_view nearest_verb(std::string_view name);

inline constexpr option synchronous_option = {
    "synchronous", "full|normal", "what a write survives: power loss (default), or only a crash"};
inline constexpr option json_option = {"json", "", "JSON, one object a line"};
inline constexpr option text_option = {"text", "", "the payload is plain text, not JSON"};

}  // namespace gander::cli

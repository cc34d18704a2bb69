// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The arguments of one verb: parsed, checked against what it takes, and read as values.
#pragma once

#include "verb.hpp"

#include <gander/options.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gander::cli {

/// `FILE OPERAND... [--OPTION [VALUE]]... [-- COMMAND...]`, options anywhere before `--`. In a verb
/// without a command, what follows `--` are operands. An argument that begins with a dash and a
/// digit is an operand: a negative number is JSON.
///
/// Every member that reads a value throws usage_error when it is not what the option takes.
class arguments {
public:
    /// \throws usage_error
    static arguments parse(verb const& of, std::span<std::string const> given);

    /// True for `--help`; then nothing else has been checked.
    bool help() const { return help_; }

    std::string const& file() const { return file_; }
    std::span<std::string const> operands() const { return operands_; }
    std::string const& operand(std::size_t i) const { return operands_[i]; }
    bool has_operand(std::size_t i) const { return i < operands_.size(); }

    /// A channel, topic, queue or consumer: not empty and UTF-8.
    std::string const& name_operand(std::size_t i) const;
    std::int64_t id_operand(std::size_t i) const;

    /// COMMAND and its arguments; empty when there is none.
    std::vector<std::string> const& command() const { return command_; }

    bool has(std::string_view option) const { return text(option).has_value(); }
    std::optional<std::string> text(std::string_view option) const;
    std::optional<std::int64_t> integer(
        std::string_view option, std::int64_t min,
        std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
    std::optional<std::chrono::milliseconds> duration(std::string_view option) const;
    std::optional<std::chrono::sys_seconds> time(std::string_view option) const;

    /// The value of `--synchronous`.
    gander::synchronous durability() const;

private:
    void take_option(verb const& of, std::span<std::string const> given, std::size_t& at);

    bool help_ = false;
    std::string file_;
    std::vector<std::string> operands_;
    std::vector<std::string> command_;
    std::vector<std::pair<std::string_view, std::string>> options_;
};

}  // namespace gander::cli

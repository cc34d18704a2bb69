// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Numbers, durations and times as they are written on the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gander::cli {

/// All of `text` as a decimal integer with an optional minus, or nothing.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// `500ms`, `5s`, `10m`, `2h`, `1d`; nothing for anything else, and for what does not fit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Unix seconds, or RFC 3339 (`2030-01-31T12:00:00+02:00`). A fraction of a second rounds up, as
/// nothing may happen early.
std::optional<std::chrono::sys_seconds> parse_time(std::string_view text);

/// Unix seconds as RFC 3339 in UTC, or the bare number for a year that has not four digits.
std::string show_time(std::int64_t unix_seconds);

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "values.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace gander::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a text from left to right; once something was not as expected, `ok` stays false.
struct reader {
    std::string_view text;
    bool ok = true;

    int digits(std::size_t count) {
        int value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (text.empty() || !is_digit(text.front())) return ok = false, 0;
            value = value * 10 + (text.front() - '0');
            text.remove_prefix(1);
        }
        return value;
    }

    /// Takes one of `choices` and returns it.
    char one_of(std::string_view choices) {
        if (text.empty() || choices.find(text.front()) == std::string_view::npos)
            return ok = false, '\0';
        char const c = text.front();
        text.remove_prefix(1);
        return c;
    }

    /// Takes `.digits`, if it is there: whether it is above zero.
    bool fraction() {
        if (text.empty() || text.front() != '.') return false;
        text.remove_prefix(1);
        if (text.empty() || !is_digit(text.front())) return ok = false;
        bool above_zero = false;
        while (!text.empty() && is_digit(text.front())) {
            above_zero = above_zero || text.front() != '0';
            text.remove_prefix(1);
        }
        return above_zero;
    }
};

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    auto const end = text.data() + text.size();
    auto const [at, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || at != end) return std::nullopt;
    return value;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    struct unit {
        std::string_view name;
        std::int64_t milliseconds;
    };
    // "ms" first: "m" and "s" are ends of it.
    static constexpr unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    for (auto const& unit : units) {
        if (!text.ends_with(unit.name)) continue;
        text.remove_suffix(unit.name.size());
        if (text.empty() || !is_digit(text.front())) return std::nullopt;
        auto const count = parse_integer(text);
        if (!count || *count > std::numeric_limits<std::int64_t>::max() / unit.milliseconds)
            return std::nullopt;
        return std::chrono::milliseconds(*count * unit.milliseconds);
    }
    return std::nullopt;
}

std::optional<std::chrono::sys_seconds> parse_time(std::string_view text) {
    using namespace std::chrono;
    if (auto const unix_seconds = parse_integer(text)) {
        // What the system clock, in nanoseconds, can hold.
        if (*unix_seconds < 0 || *unix_seconds > 9'223'372'036) return std::nullopt;
        return sys_seconds(seconds(*unix_seconds));
    }

    reader in{text};
    int const y = in.digits(4);
    in.one_of("-");
    int const m = in.digits(2);
    in.one_of("-");
    int const d = in.digits(2);
    in.one_of("Tt ");
    int const hour = in.digits(2);
    in.one_of(":");
    int const minute = in.digits(2);
    in.one_of(":");
    int const second = in.digits(2);
    bool const round_up = in.fraction();
    char const zone = in.one_of("Zz+-");
    int offset = 0;
    if (zone == '+' || zone == '-') {
        int const hours_east = in.digits(2);
        in.one_of(":");
        int const minutes_east = in.digits(2);
        if (hours_east > 23 || minutes_east > 59) return std::nullopt;
        offset = (hours_east * 60 + minutes_east) * (zone == '-' ? -1 : 1);
    }
    year_month_day const date{year(y), month(static_cast<unsigned>(m)),
                              day(static_cast<unsigned>(d))};
    // A leap second is written as :60.
    if (!in.ok || !in.text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60)
        return std::nullopt;
    sys_seconds const at = sys_days(date) + hours(hour) + minutes(minute) + seconds(second) -
                           minutes(offset) + seconds(round_up ? 1 : 0);
    if (at.time_since_epoch().count() < 0 || at.time_since_epoch().count() > 9'223'372'036)
        return std::nullopt;
    return at;
}

std::string show_time(std::int64_t unix_seconds) {
    using namespace std::chrono;
    if (unix_seconds < 0 || unix_seconds > 253'402'300'799) return fmt::format("{}", unix_seconds);
    sys_seconds const at{seconds(unix_seconds)};
    auto const midnight = floor<days>(at);
    year_month_day const date{midnight};
    hh_mm_ss const time{at - midnight};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int(date.year()),
                       unsigned(date.month()), unsigned(date.day()), time.hours().count(),
                       time.minutes().count(), time.seconds().count());
}

}  // namespace gander::cli

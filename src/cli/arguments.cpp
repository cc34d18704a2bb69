// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "arguments.hpp"

#include "errors.hpp"
#include "json.hpp"
#include "suggest.hpp"
#include "values.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gander::cli {
namespace {

bool looks_like_option(std::string_view argument) {
    return argument.size() > 1 && argument[0] == '-' && !(argument[1] >= '0' && argument[1] <= '9');
}

[[noreturn]] void unknown_option(verb const& of, std::string_view given) {
    std::vector<std::string_view> known{"help"};
    for (auto const& option : of.options) known.push_back(option.name);
    auto const bare = given.substr(std::min(given.find_first_not_of('-'), given.size()));
    throw usage_error(
        fmt::format("unknown option '{}'; did you mean '--{}'?", given, nearest(bare, known)));
}

void check_operands(verb const& of, std::span<std::string const> operands) {
    if (operands.size() < of.min_operands)
        throw usage_error(fmt::format("too few arguments, it takes: FILE {}", of.synopsis));
    if (operands.size() > of.max_operands)
        throw usage_error(fmt::format("unexpected argument '{}'", operands[of.max_operands]));
}

}  // namespace

arguments arguments::parse(verb const& of, std::span<std::string const> given) {
    arguments result;
    std::vector<std::string> operands;
    std::size_t at = 0;
    for (; at < given.size() && given[at] != "--"; ++at) {
        if (given[at] == "--help" || given[at] == "-h") {
            result.help_ = true;
            return result;
        }
        if (looks_like_option(given[at]))
            result.take_option(of, given, at);
        else
            operands.push_back(given[at]);
    }
    if (at < given.size()) {
        auto const rest = given.subspan(at + 1);
        auto& to = of.takes_command ? result.command_ : operands;
        to.insert(to.end(), rest.begin(), rest.end());
        if (of.takes_command && rest.empty()) throw usage_error("no COMMAND after '--'");
    }
    if (operands.empty())
        throw usage_error(fmt::format("FILE is missing, it takes: FILE {}", of.synopsis));
    result.file_ = std::move(operands.front());
    operands.erase(operands.begin());
    check_operands(of, operands);
    result.operands_ = std::move(operands);
    return result;
}

void arguments::take_option(verb const& of, std::span<std::string const> given, std::size_t& at) {
    std::string_view const argument = given[at];
    auto const equals = argument.find('=');
    auto const name = argument.substr(0, equals);
    auto const known = std::ranges::find_if(of.options, [&](option const& candidate) {
        return name.starts_with("--") && name.substr(2) == candidate.name;
    });
    if (known == of.options.end()) unknown_option(of, name);
    std::string value;
    if (known->value.empty()) {
        if (equals != std::string_view::npos)
            throw usage_error(fmt::format("{} takes no value", name));
    } else if (equals != std::string_view::npos) {
        value = argument.substr(equals + 1);
    } else {
        if (at + 1 == given.size() || given[at + 1] == "--")
            throw usage_error(fmt::format("{} needs a value: {}", name, known->value));
        value = given[++at];
    }
    std::erase_if(options_, [&](auto const& earlier) { return earlier.first == known->name; });
    options_.emplace_back(known->name, std::move(value));
}

std::string const& arguments::name_operand(std::size_t i) const {
    if (operands_[i].empty()) throw usage_error("a name is empty");
    if (!is_utf8(operands_[i])) throw usage_error("a name is not UTF-8");
    return operands_[i];
}

std::int64_t arguments::id_operand(std::size_t i) const {
    auto const id = parse_integer(operands_[i]);
    if (!id || *id < 1) throw usage_error(fmt::format("'{}' is no ID", operands_[i]));
    return *id;
}

std::optional<std::string> arguments::text(std::string_view option) const {
    for (auto const& [name, value] : options_)
        if (name == option) return value;
    return std::nullopt;
}

std::optional<std::int64_t> arguments::integer(std::string_view option, std::int64_t min,
                                               std::int64_t max) const {
    auto const given = text(option);
    if (!given) return std::nullopt;
    auto const value = parse_integer(*given);
    if (!value || *value < min || *value > max)
        throw usage_error(
            fmt::format("--{} takes an integer from {} to {}, not '{}'", option, min, max, *given));
    return value;
}

std::optional<std::chrono::milliseconds> arguments::duration(std::string_view option) const {
    auto const given = text(option);
    if (!given) return std::nullopt;
    auto const value = parse_duration(*given);
    if (!value)
        throw usage_error(fmt::format(
            "--{} takes a duration such as 500ms, 5s, 10m, 2h or 1d, not '{}'", option, *given));
    return value;
}

std::optional<std::chrono::sys_seconds> arguments::time(std::string_view option) const {
    auto const given = text(option);
    if (!given) return std::nullopt;
    auto const value = parse_time(*given);
    if (!value)
        throw usage_error(
            fmt::format("--{} takes unix seconds or a time such as 2030-01-31T12:00:00Z, not '{}'",
                        option, *given));
    return value;
}

gander::synchronous arguments::durability() const {
    auto const given = text(synchronous_option.name);
    if (!given || *given == "full") return synchronous::full;
    if (*given == "normal") return synchronous::normal;
    throw usage_error(fmt::format("--synchronous takes full or normal, not '{}'", *given));
}

}  // namespace gander::cli

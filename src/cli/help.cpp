// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "help.hpp"

#include "verb.hpp"

#include <gander/sqlite.hpp>

#include <algorithm>

#include <fmt/format.h>

#ifndef GANDER_VERSION
#define GANDER_VERSION "unknown"
#endif

namespace gander::cli {
namespace {

constexpr std::string_view conventions = R"(
A PAYLOAD is JSON, or with --text plain text; without one, every line of standard input is one.
Data goes to standard output, a line of JSON each, talk to standard error.
Durations D: 500ms 5s 10m 2h 1d. Times T: unix seconds, or 2030-01-31T12:00:00Z.
Exit status: 0 done; 1 the answer is no (not found, not yours, timed out); 2 wrong usage or input;
3 the database or the system refused.
)";

std::string option_line(option const& o, std::size_t width) {
    auto const name = fmt::format("--{}{}{}", o.name, o.value.empty() ? "" : " ", o.value);
    return fmt::format("  {:<{}}  {}\n", name, width, o.help);
}

}  // namespace

std::string usage() {
    std::string text =
        "gander VERB FILE [ARGUMENTS] [OPTIONS]: messages, events and jobs in one SQLite file\n\n";
    for (auto const* v : all_verbs())
        text += fmt::format("  {:<8} {}\n           {}\n", v->name, v->summary, v->example);
    text += conventions;
    text += "'gander help VERB' tells more about one; 'gander --version' prints the versions.\n";
    return text;
}

std::string usage_of(verb const& what) {
    auto text =
        fmt::format("gander {} FILE{}{}\n\n{}\n{}", what.name, what.synopsis.empty() ? "" : " ",
                    what.synopsis, what.summary, what.details);
    std::size_t width = 0;
    for (auto const& o : what.options)
        width = std::max(width, o.name.size() + o.value.size() + (o.value.empty() ? 2 : 3));
    if (!what.options.empty()) text += "\nOptions:\n";
    for (auto const& o : what.options) text += option_line(o, width);
    text += fmt::format("\nExample:\n  {}\n{}", what.example, conventions);
    return text;
}

std::string version() {
    return fmt::format("gander {} (SQLite {})\n", GANDER_VERSION, sqlite_version());
}

}  // namespace gander::cli

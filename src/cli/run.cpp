// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "run.hpp"

#include "arguments.hpp"
#include "errors.hpp"
#include "help.hpp"
#include "output.hpp"
#include "session.hpp"
#include "verb.hpp"

#include <span>

#include <fmt/format.h>

namespace gander::cli {
namespace {

int report(std::exception_ptr error, std::string_view verb_name, std::string_view file) {
    auto const what = describe(std::move(error), file);
    if (!what.text.empty())
        say(fmt::format("gander{}{}: {}", verb_name.empty() ? "" : " ", verb_name, what.text));
    if (what.show_hint)
        say(fmt::format("'gander help{}{}' shows the usage", verb_name.empty() ? "" : " ",
                        verb_name));
    return what.status;
}

int run_verb(verb const& what, std::span<std::string const> given) {
    std::string file;
    try {
        auto const args = arguments::parse(what, given);
        file = args.file();
        if (args.help()) {
            print(usage_of(what));
            return exit_status::done;
        }
        session in(what.name);
        return in.run(what, args);
    } catch (...) {
        return report(std::current_exception(), what.name, file);
    }
}

verb const& verb_named(std::string const& name) {
    if (auto const* found = find_verb(name)) return *found;
    throw usage_error(
        fmt::format("unknown verb '{}'; did you mean '{}'?", name, nearest_verb(name)));
}

int dispatch(std::span<std::string const> given) {
    if (given.empty()) {
        auto const text = usage();
        say(std::string_view(text).substr(0, text.size() - 1));
        return exit_status::usage;
    }
    auto const& first = given.front();
    if (first == "--version") {
        print(version());
        return exit_status::done;
    }
    if (first == "help" || first == "--help" || first == "-h") {
        if (given.size() > 2) throw usage_error(fmt::format("unexpected argument '{}'", given[2]));
        print(given.size() == 2 && given[1] != "help" ? usage_of(verb_named(given[1])) : usage());
        return exit_status::done;
    }
    if (first.starts_with('-')) {
        throw usage_error(fmt::format("unknown option '{}'; did you mean '{}'?", first,
                                      first.starts_with("--v") ? "--version" : "--help"));
    }
    return run_verb(verb_named(first), given.subspan(1));
}

}  // namespace

int run(std::vector<std::string> const& given) noexcept {
    try {
        return dispatch(given);
    } catch (...) {
        return report(std::current_exception(), {}, {});
    }
}

}  // namespace gander::cli

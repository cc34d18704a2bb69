// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "spawn.hpp"

#include "command.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gander::cli {
namespace {

bool can_run(std::string const& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& s : strings) result.push_back(s.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environment_with(command_line const& line) {
    std::vector<std::string> result;
    for (auto const& [name, value] : line.environment) result.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view const theirs = *entry;
        bool const replaced = std::ranges::any_of(line.environment, [&](auto const& ours) {
            return theirs.starts_with(ours.first + "=");
        });
        if (!replaced) result.emplace_back(theirs);
    }
    return result;
}

/// The settings of a posix_spawn.
class spawn_settings {
public:
    spawn_settings() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
        sigset_t none;
        sigset_t ours;
        ::sigemptyset(&none);
        ::sigemptyset(&ours);
        // An ignored SIGPIPE would be inherited: few programs expect that.
        for (int const s : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&ours, s);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &ours);
        ::posix_spawnattr_setpgroup(&attributes, 0);
        ::posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~spawn_settings() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    spawn_settings(spawn_settings const&) = delete;

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

}  // namespace

std::string find_program(std::string const& name) {
    if (name.find('/') != std::string::npos) return can_run(name) ? name : std::string();
    char const* const variable = std::getenv("PATH");
    std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
    while (!name.empty()) {
        auto const colon = path.find(':');
        std::string candidate(path.substr(0, colon));
        candidate = (candidate.empty() ? "." : candidate) + "/" + name;
        if (can_run(candidate)) return candidate;
        if (colon == std::string_view::npos) break;
        path.remove_prefix(colon + 1);
    }
    return {};
}

int spawn(command_line const& line, int input, pid_t& pid) {
    auto const program = find_program(line.words.front());
    if (program.empty()) return ENOENT;
    auto words = line.words;
    auto environment = environment_with(line);
    spawn_settings settings;
    ::posix_spawn_file_actions_adddup2(&settings.actions, input, STDIN_FILENO);
    if (line.output_to_stderr)
        ::posix_spawn_file_actions_adddup2(&settings.actions, STDERR_FILENO, STDOUT_FILENO);
    int error = ::posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                              pointers_to(words).data(), pointers_to(environment).data());
    if (error == ENOEXEC) {
        // A script without "#!": a shell would run it, so do we.
        words.front() = program;
        words.insert(words.begin(), "sh");
        error = ::posix_spawn(&pid, "/bin/sh", &settings.actions, &settings.attributes,
                              pointers_to(words).data(), pointers_to(environment).data());
    }
    return error;
}

}  // namespace gander::cli

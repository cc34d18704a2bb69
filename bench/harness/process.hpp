// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What a benchmark process says to the script that started it, and what it costs.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {

/// Tells the script that this process is set up: nothing before this line is measured.
inline void say_ready() {
    std::puts("ready");
    std::fflush(stdout);
}

/// Blocks until the script writes a line: all processes of the round are ready.
inline void await_go() {
    int c = 0;
    while ((c = std::getchar()) != '\n')
        if (c == EOF) throw std::runtime_error("the script went away");
}

/// What the process has used since it began: all of its threads, also those that have ended.
struct usage {
    std::int64_t cpu_us = 0;
    std::int64_t switches = 0;
};

inline usage usage_now() {
    rusage r{};
    if (::getrusage(RUSAGE_SELF, &r) != 0) throw std::runtime_error("getrusage");
    auto const micros = [](timeval const& t) {
        return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec;
    };
    return {micros(r.ru_utime) + micros(r.ru_stime), r.ru_nvcsw + r.ru_nivcsw};
}

/// A number from /proc/self/status, such as "Threads" or "VmRSS".
inline long status_value(std::string_view key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':')
            return std::stol(line.substr(key.size() + 1));
    throw std::runtime_error("/proc/self/status has no " + std::string(key));
}

/// Raises the limit on open descriptors as far as this user may; throws when `wanted` is beyond.
inline void raise_file_limit(rlim_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("getrlimit");
    if (limit.rlim_cur >= wanted) return;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted;  // only root may
    limit.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        throw std::runtime_error("cannot raise the descriptor limit to " + std::to_string(wanted));
}

}  // namespace bench

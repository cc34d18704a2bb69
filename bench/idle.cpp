// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One process of the question "idle": what does waiting cost when nothing happens?
//
//   idle listen SETTLE SECONDS FILE...  one outstanding async_receive on each file
//   idle limit SETTLE SECONDS           one outstanding read on a pipe, no database
//
// Prints "ready", waits SETTLE seconds, measures for SECONDS, and prints
// "CPU-microseconds context-switches threads elapsed-nanoseconds".

#include "harness/clock.hpp"
#include "harness/pipe.hpp"
#include "harness/process.hpp"

#include <gander/gander.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

void measure(asio::io_context& context, std::chrono::seconds settle, std::chrono::seconds window) {
    bench::say_ready();
    context.run_for(settle);
    bench::usage const before = bench::usage_now();
    std::int64_t const began = bench::now_ns();
    context.run_for(window);
    bench::usage const after = bench::usage_now();
    std::int64_t const ended = bench::now_ns();
    std::printf("%lld %lld %ld %lld\n", static_cast<long long>(after.cpu_us - before.cpu_us),
                static_cast<long long>(after.switches - before.switches),
                bench::status_value("Threads"), static_cast<long long>(ended - began));
    std::fflush(stdout);
}

void listen(std::vector<std::string> const& paths, std::chrono::seconds settle,
            std::chrono::seconds window) {
    bench::raise_file_limit(1024 + 8 * paths.size());
    asio::io_context context(1);
    std::vector<gander::listener> listeners;
    listeners.reserve(paths.size());
    for (auto const& path : paths) {
        gander::open_options options;
        options.mode = gander::open_mode::existing;
        gander::database db(context, path, options);
        listeners.push_back(db.listen("bench"));
    }
    for (auto& l : listeners)
        l.async_receive([](gander::error_code ec, gander::notification const&) {
            throw std::runtime_error("an idle file said something: " + ec.message());
        });
    measure(context, settle, window);
    std::_Exit(0);  // what comes now is not part of the question
}

void limit(std::chrono::seconds settle, std::chrono::seconds window) {
    asio::io_context context(1);
    bench::pipe_reader r(context, bench::make_pipe().first, 1);
    r.read();
    measure(context, settle, window);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::vector<std::string> const args(argv + 1, argv + argc);
        std::chrono::seconds const settle(std::stoi(args.at(1)));
        std::chrono::seconds const window(std::stoi(args.at(2)));
        if (args[0] == "listen")
            listen({args.begin() + 3, args.end()}, settle, window);
        else if (args[0] == "limit")
            limit(settle, window);
        else
            throw std::invalid_argument("unknown role " + args[0]);
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "idle: %s\n", e.what());
        return 1;
    }
}

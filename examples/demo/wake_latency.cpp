// SPDX-License-Identifier: Apache-2.0 OR MIT
// How long after a commit in one process does a listener's handler run in another?
//
// The sender commits one notification, waits, and commits the next, on a file that is otherwise
// quiet. It reads CLOCK_MONOTONIC when COMMIT has returned; the listener reads the same clock first
// thing in its handler. The time of the commit itself, with its fsync, is not in the figure.
//
//   wake_latency app.db 500        {"samples":500,"p50_us":...,"p99_us":...,"max_us":...}
#include <gander/gander.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

char const* const channel = "wake-latency";

// steady_clock is CLOCK_MONOTONIC: one clock for all processes of a machine.
std::int64_t now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One process: writes the time of each notification that it hears to `report`.
class hearer {
public:
    hearer(asio::io_context& io, std::string path, int count, int report)
        : db_(io, std::move(path)), listener_(db_.listen(channel)), left_(count), report_(report) {
        write(0);  // Ready: what commits from now on is heard.
        hear();
    }

private:
    void hear() {
        listener_.async_receive([this](gander::error_code ec, gander::notification const&) {
            auto const heard_at = now();
            if (ec) throw gander::system_error(ec, "listen");
            write(heard_at);
            if (--left_ > 0) hear();
        });
    }

    void write(std::int64_t at) const {
        if (::write(report_, &at, sizeof at) != sizeof at) throw std::runtime_error("pipe: write");
    }

    gander::database db_;
    gander::listener listener_;
    int left_;
    int report_;
};

// Reads one time from the hearer; throws when it has nothing to say for five seconds.
std::int64_t read_time(int report) {
    pollfd ready{report, POLLIN, 0};
    std::int64_t at = 0;
    if (::poll(&ready, 1, 5000) != 1 || ::read(report, &at, sizeof at) != sizeof at)
        throw std::runtime_error("a notification was not heard within 5 s");
    return at;
}

// The other process.
asio::awaitable<void> send(gander::database& db, int count, std::atomic<std::int64_t>& committed_at,
                           int report, std::vector<std::int64_t>& latencies) {
    asio::steady_timer pause{co_await asio::this_coro::executor};
    for (int i = 0; i < count; ++i) {
        co_await db.async_notify(channel, gander::object("n", i));
        latencies.push_back(read_time(report) - committed_at);
        pause.expires_after(4ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

void run_sender(std::string path, int count, int report) {
    std::atomic<std::int64_t> committed_at = 0;
    gander::open_options options;
    options.on_event_context = &committed_at;
    options.on_event = [](void* at, gander::engine_event const& event) {
        if (event.what == gander::engine_event::kind::commit)
            *static_cast<std::atomic<std::int64_t>*>(at) = now();
    };

    std::vector<std::int64_t> latencies;
    {
        asio::io_context io{1};
        gander::database db{io, std::move(path), options};
        read_time(report);
        asio::co_spawn(io, send(db, count, committed_at, report, latencies),
                       [](std::exception_ptr e) {
                           if (e) std::rethrow_exception(e);
                       });
        io.run();
    }
    std::sort(latencies.begin(), latencies.end());
    auto const micros = [&](std::size_t percent) {
        return latencies[(latencies.size() - 1) * percent / 100] / 1000;
    };
    std::cout << gander::object("samples", latencies.size(), "p50_us", micros(50), "p99_us",
                                micros(99), "max_us", micros(100))
                     .str()
              << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
    int count = 0;
    std::string_view const text = argc == 3 ? argv[2] : "";
    std::from_chars(text.data(), text.data() + text.size(), count);
    if (count < 1 || count > 100'000) {
        std::cerr << "usage: wake_latency FILE COUNT    (COUNT from 1 to 100000)\n";
        return 2;
    }
    // fork() comes before any database is opened: a handle does not survive it.
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_t const child = ::fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::close(ends[0]);
        asio::io_context io{1};
        hearer h{io, argv[1], count, ends[1]};
        io.run();
        return 0;
    }
    ::close(ends[1]);
    try {
        run_sender(argv[1], count, ends[0]);
    } catch (...) {
        ::kill(child, SIGTERM);
        ::waitpid(child, nullptr, 0);
        throw;
    }
    ::waitpid(child, nullptr, 0);
} catch (std::exception const& e) {
    std::cerr << "wake_latency: " << e.what() << '\n';
    return 1;
}

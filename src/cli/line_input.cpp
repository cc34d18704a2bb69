// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "line_input.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace gander::cli {

namespace asio = boost::asio;

namespace {

constexpr std::size_t group_lines = 1000;
constexpr std::size_t group_bytes = 1024 * 1024;
constexpr std::size_t chunk = 64 * 1024;

/// SQLite's limit for one value.
constexpr std::size_t longest_line = 1'000'000'000;

}  // namespace

line_input::line_input(asio::any_io_executor ex, std::stop_token stop)
    : readable_(std::move(ex), STDIN_FILENO, EPOLLIN), stop_(std::move(stop)) {}

asio::awaitable<std::vector<std::string>> line_input::next_group() {
    std::vector<std::string> lines;
    std::stop_callback const cancel(stop_, [this] { readable_.cancel(); });
    while (!stop_.stop_requested()) {
        if (take_lines(lines) || at_end_) break;
        // A regular file never waits: poll calls it readable.
        bool const ready = poll_now(STDIN_FILENO, POLLIN) != 0;
        if (!ready && !lines.empty()) break;
        if (ready)
            read_some();
        else
            co_await readable_.wait();
    }
    // What came before the failure is the last group.
    if (lines.empty() && failure_) std::rethrow_exception(failure_);
    co_return lines;
}

/// Moves complete lines from the buffer to `to`; true when the group is full.
bool line_input::take_lines(std::vector<std::string>& to) {
    std::size_t begin = 0;
    std::size_t bytes = 0;
    for (auto const& line : to) bytes += line.size();
    auto const full = [&] { return to.size() >= group_lines || bytes >= group_bytes; };
    while (!full()) {
        auto const end = buffer_.find('\n', std::max(begin, searched_));
        if (end == std::string::npos) break;
        to.push_back(buffer_.substr(begin, end - begin));
        bytes += end - begin;
        begin = end + 1;
    }
    buffer_.erase(0, begin);
    if (full()) {
        searched_ = 0;
        return true;
    }
    searched_ = buffer_.size();
    if (at_end_ && !failure_ && !buffer_.empty()) {
        to.push_back(std::move(buffer_));
        buffer_.clear();
        searched_ = 0;
    }
    return false;
}

void line_input::read_some() {
    auto const had = buffer_.size();
    buffer_.resize(had + chunk);
    auto const got = ::read(STDIN_FILENO, buffer_.data() + had, chunk);
    int const error = errno;
    buffer_.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) at_end_ = true;
    if (got < 0 && error != EINTR && error != EAGAIN) fail(system_failure("standard input", error));
    if (buffer_.size() > longest_line && buffer_.find('\n', searched_) == std::string::npos)
        fail(input_error("a line is longer than 1000000000 bytes"));
}

template <class Exception>
void line_input::fail(Exception const& e) {
    failure_ = std::make_exception_ptr(e);
    at_end_ = true;
}

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "output.hpp"

#include "errors.hpp"
#include "fd_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gander::cli {

namespace asio = boost::asio;

namespace {

/// A pipe that poll calls writable takes this much without blocking. Whole lines, if any fits, so
/// that a reader rarely meets half of one should the command end here.
std::string_view next_piece(std::string_view text) {
    if (text.size() <= PIPE_BUF) return text;
    auto const line_end = text.substr(0, PIPE_BUF).rfind('\n');
    return text.substr(0, line_end == std::string_view::npos ? PIPE_BUF : line_end + 1);
}

bool is_regular_file(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

struct flag_guard {
    bool& flag;
    explicit flag_guard(bool& f) : flag(f) { flag = true; }
    ~flag_guard() { flag = false; }
};

}  // namespace

asio::awaitable<void> output::write(std::string lines) {
    pending_ += lines;
    // Whoever writes already goes on until nothing is pending.
    if (!flushing_) co_await flush();
}

asio::awaitable<void> output::flush() {
    flag_guard const guard(flushing_);
    bool const blocks = !is_regular_file(STDOUT_FILENO);
    std::size_t done = 0;
    while (done < pending_.size()) {
        std::string_view piece = std::string_view(pending_).substr(done);
        if (blocks) {
            piece = next_piece(piece);
            if (poll_now(STDOUT_FILENO, POLLOUT) == 0) {
                co_await wait_until_writable();
                continue;
            }
        }
        auto const written = ::write(STDOUT_FILENO, piece.data(), piece.size());
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
            continue;
        }
        int const error = errno;
        if (error == EPIPE) throw output_closed();
        if (error == EAGAIN)
            co_await wait_until_writable();
        else if (error != EINTR)
            throw system_failure("standard output", error);
    }
    pending_.clear();
}

asio::awaitable<void> output::wait_until_writable() {
    if (stop_.stop_requested()) throw output_closed();
    fd_watch watch(ex_, STDOUT_FILENO, EPOLLOUT);
    std::stop_callback const cancel(stop_, [&watch] { watch.cancel(); });
    co_await watch.wait();
}

void say(std::string_view line) {
    std::string text(line);
    text += '\n';
    // One write, so that lines of several processes are not mixed. Whether it works does not
    // matter: there is nowhere left to complain.
    [[maybe_unused]] auto const ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

void print(std::string_view text) {
    while (!text.empty()) {
        auto const written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            throw output_closed();
        } else if (errno == EAGAIN) {
            pollfd p{STDOUT_FILENO, POLLOUT, 0};
            ::poll(&p, 1, -1);
        } else if (errno != EINTR) {
            throw system_failure("standard output", errno);
        }
    }
}

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "command.hpp"

#include "errors.hpp"
#include "session.hpp"
#include "spawn.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gander::cli {

std::string command_end::text() const {
    return status > 128 ? fmt::format("was killed by signal {}", status - 128)
                        : fmt::format("exited with {}", status);
}

void command::check(std::vector<std::string> const& words) {
    if (find_program(words.front()).empty())
        throw usage_error(
            fmt::format("COMMAND '{}' is not there, or cannot be run", words.front()));
}

command::command(session& in, command_line const& line)
    : in_(in), exited_(in.executor()), input_(in.executor()), grace_(in.executor()) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) throw system_failure("pipe", errno);
    input_.assign(ends[1]);
    int const error = spawn(line, ends[0], pid_);
    ::close(ends[0]);
    if (error != 0) throw system_failure(fmt::format("cannot run '{}'", line.words.front()), error);

    int const pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd < 0) {
        int const cause = errno;
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        throw system_failure("pidfd", cause);
    }
    ::fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    exited_.assign(pidfd);
    in_.process_groups().insert(pid_);
}

command::~command() { in_.process_groups().erase(pid_); }

boost::asio::awaitable<command_end> command::run(std::string input) {
    // It may end before it has read everything, and keep us waiting after it has.
    asio::co_spawn(in_.executor(), feed(shared_from_this(), std::move(input)), asio::detached);
    co_await wait_for_exit();
    co_return reap();
}

asio::awaitable<void> command::feed(std::shared_ptr<command> self, std::string input) {
    // Whatever the error, it is the COMMAND's choice to read or not to read.
    co_await asio::async_write(self->input_, asio::buffer(input),
                               asio::as_tuple(asio::use_awaitable));
    boost::system::error_code ignored;
    self->input_.close(ignored);
}

asio::awaitable<void> command::wait_for_exit() {
    for (;;) {
        siginfo_t info{};
        // Only looks: until it is reaped, its number cannot become somebody else's.
        int const result =
            ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
        if ((result == 0 && info.si_pid == pid_) || (result < 0 && errno == ECHILD)) co_return;
        co_await exited_.async_wait(asio::posix::descriptor_base::wait_read,
                                    asio::as_tuple(asio::use_awaitable));
    }
}

command_end command::reap() {
    // What it has started and left behind must not go on with a job that is not ours any more.
    if (ending_) ::kill(-pid_, SIGKILL);
    int status = 0;
    pid_t reaped = -1;
    do reaped = ::waitpid(pid_, &status, 0);
    while (reaped < 0 && errno == EINTR);
    reaped_ = true;
    in_.process_groups().erase(pid_);
    grace_.cancel();
    boost::system::error_code ignored;
    input_.close(ignored);
    if (reaped < 0) throw system_failure("wait for COMMAND", errno);
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
}

void command::end() {
    if (reaped_ || ending_) return;
    ending_ = true;
    ::kill(-pid_, SIGTERM);
    grace_.expires_after(std::chrono::seconds(5));
    grace_.async_wait([self = shared_from_this()](error_code ec) {
        if (!ec && !self->reaped_) ::kill(-self->pid_, SIGKILL);
    });
}

}  // namespace gander::cli

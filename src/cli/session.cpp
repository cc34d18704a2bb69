// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "session.hpp"

#include "arguments.hpp"
#include "errors.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gander::cli {

session::session(std::string_view verb_name)
    : verb_name_(verb_name), out_(io_.get_executor(), stop_.get_token()), signals_(io_) {}

session::~session() = default;

int session::run(verb const& what, arguments const& args) {
    int status = exit_status::done;
    std::exception_ptr error;
    asio::co_spawn(io_, what.run(*this, args), [&](std::exception_ptr thrown, int result) {
        error = std::move(thrown);
        status = result;
        end_waits();
    });
    io_.run();
    if (error) std::rethrow_exception(error);
    return status;
}

/// What else would keep the io_context running. It is not stopped: threads of the library may be on
/// their way out of it.
void session::end_waits() {
    ended_ = true;
    error_code ignored;
    signals_.cancel(ignored);
    signals_.clear(ignored);
    if (output_end_) output_end_->cancel();
}

asio::awaitable<database> session::open(arguments const& args, open_mode mode) {
    open_options options;
    options.mode = mode;
    options.synchronous = args.durability();
    auto db = co_await database::async_open(executor(), args.file(), options, asio::use_awaitable);
    co_return db;
}

void session::end_on_signals() {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    wait_for_signal();
    // A pipe or a socket: a file does not end, and a terminal says so with SIGHUP.
    struct stat info {};
    if (::fstat(STDOUT_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)))
        asio::co_spawn(io_, watch_output(), asio::detached);
}

void session::wait_for_signal() {
    signals_.async_wait([this](error_code ec, int signal_number) {
        if (ec) return;
        if (std::exchange(signalled_, true)) die_of(signal_number);
        wait_for_signal();
        request_stop();
    });
}

void session::die_of(int signal_number) {
    for (auto const group : process_groups_) ::kill(-group, SIGKILL);
    // Its default action tells whoever waits for us what happened.
    std::signal(signal_number, SIG_DFL);
    sigset_t all;
    ::sigemptyset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::raise(signal_number);
    ::_exit(128 + signal_number);
}

asio::awaitable<void> session::watch_output() {
    if (ended_) co_return;  // It was all over before this began.
    output_end_ = std::make_unique<fd_watch>(executor(), STDOUT_FILENO, 0);
    if (!output_end_->can_wait()) co_return;
    do co_await output_end_->wait();
    while (!ended_ && poll_now(STDOUT_FILENO, 0) == 0);
    request_stop();
}

void session::say(std::string_view text) const {
    cli::say(fmt::format("gander {}: {}", verb_name_, text));
}

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What a verb runs in: the io_context, the open file, standard output, signals.
#pragma once

#include "fd_watch.hpp"
#include "output.hpp"

#include <gander/database.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <exception>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace gander::cli {

class arguments;
struct verb;

/// One run of one verb, on one thread.
class session {
public:
    explicit session(std::string_view verb_name);
    ~session();

    /// Runs the verb to its end and returns the exit status.
    /// \throws what the verb threw.
    int run(verb const& what, arguments const& args);

    asio::any_io_executor executor() { return io_.get_executor(); }
    output& out() { return out_; }

    /// Opens the file of `args`.
    asio::awaitable<database> open(arguments const& args, open_mode mode);

    /// From now on SIGINT, SIGTERM, and the end of whoever reads standard output request the stop
    /// below instead of killing the process; a second signal kills it, and the commands it runs.
    ///
    /// A verb that waits calls this before anything else. One that does not wait never calls it:
    /// an interrupted write that says "done" would be a lie.
    void end_on_signals();

    std::stop_token stop_token() const { return stop_.get_token(); }
    bool stopping() const { return stop_.stop_requested(); }
    void request_stop() { stop_.request_stop(); }

    /// "gander VERB: text" on standard error.
    void say(std::string_view text) const;

    /// Process groups that a second signal kills.
    std::set<pid_t>& process_groups() { return process_groups_; }

private:
    void end_waits();
    void wait_for_signal();
    [[noreturn]] void die_of(int signal_number);
    asio::awaitable<void> watch_output();

    // Before the io_context, which may still hold coroutines that refer to them when it goes.
    std::string verb_name_;
    std::stop_source stop_;
    bool signalled_ = false;
    bool ended_ = false;
    std::set<pid_t> process_groups_;
    asio::io_context io_;
    output out_;
    asio::signal_set signals_;
    std::unique_ptr<fd_watch> output_end_;
};

}  // namespace gander::cli

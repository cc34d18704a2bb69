// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A child process that runs COMMAND.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace gander::cli {

class session;

/// How a COMMAND ended.
struct command_end {
    int status = 0;  ///< As a shell counts: 128 + the signal for one that was killed.

    /// "exited with 3", "was killed by signal 9".
    std::string text() const;
};

/// What to run.
struct command_line {
    std::vector<std::string> words;
    std::vector<std::pair<std::string, std::string>> environment;  ///< Added to our own.
    bool output_to_stderr = false;  ///< Its standard output is our standard error.
};

/// A running COMMAND, in a process group of its own, so that it and what it starts can be ended
/// together, and Ctrl-C at a terminal lets it finish.
class command : public std::enable_shared_from_this<command> {
public:
    /// \throws usage_error when there is no such program.
    static void check(std::vector<std::string> const& words);

    /// Starts it.
    /// \throws system_failure
    command(session& in, command_line const& line);
    ~command();

    command(command const&) = delete;

    /// Writes `input` to its standard input, closes that, and waits for its end. A COMMAND that
    /// does not read is none the worse.
    boost::asio::awaitable<command_end> run(std::string input);

    /// Ends it: SIGTERM now, SIGKILL 5 s later, to all of its group.
    void end();

private:
    static boost::asio::awaitable<void> feed(std::shared_ptr<command> self, std::string input);
    boost::asio::awaitable<void> wait_for_exit();
    command_end reap();

    session& in_;
    pid_t pid_ = -1;
    boost::asio::posix::stream_descriptor exited_;  // A pidfd: readable when it has ended.
    boost::asio::posix::stream_descriptor input_;
    boost::asio::steady_timer grace_;
    bool ending_ = false;
    bool reaped_ = false;
};

}  // namespace gander::cli

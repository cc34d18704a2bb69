// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Other processes: the peer program, and Python's sqlite3 as a foreign writer.
#pragma once

#include "support/time.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gander::test {

/// A process that is spoken to in lines. Killed and reaped at the end, if it still runs. Nothing is
/// forked that goes on in this program's code: with threads about that is not safe.
class child {
public:
    /// `environment` entries, such as "NAME=value", come before what this process has.
    explicit child(std::vector<std::string> const& command,
                   std::vector<std::string> const& environment = {});
    child(child&& other) noexcept;
    child& operator=(child&&) = delete;
    ~child();

    pid_t pid() const noexcept { return pid_; }

    /// Writes a line to its standard input.
    void say(std::string_view line);
    void close_input();

    /// The next line of its standard output; nothing at its end or when it takes too long.
    std::optional<std::string> line(milliseconds within = patience);

    /// All lines to the end of its output.
    std::vector<std::string> rest(milliseconds within = patience);

    /// Reads lines until `wanted`. \throws runtime_error if it does not come.
    void expect(std::string_view wanted);

    void signal(int number) const;

    /// Stops it, and returns when it has stopped.
    void freeze() const;
    void thaw() const;

    /// Waits for its end. The exit status, or 128 + the signal; nothing when it takes too long.
    std::optional<int> wait(milliseconds within = patience);

private:
    bool fill(clock::time_point deadline);

    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
    std::string buffer_;
    std::optional<int> status_;
};

/// The peer program of tests/support/peer.cpp.
child peer(std::vector<std::string> const& arguments,
           std::vector<std::string> const& environment = {});

/// A foreign process with a connection to `path`. Each line is a statement; `run` waits for its
/// end.
class foreign_writer {
public:
    enum class kind { python, sqlite };

    explicit foreign_writer(std::string const& path, kind what = kind::python);

    /// Runs one statement in autocommit mode or the open transaction. The first column of its first
    /// row, or "". \throws runtime_error with SQLite's message.
    std::string run(std::string_view sql);

    child& process() noexcept { return child_; }

private:
    child child_;
};

/// Runs a Python script to its end, with `arguments` in sys.argv[1:].
child python(std::string const& script, std::vector<std::string> const& arguments = {});

}  // namespace gander::test

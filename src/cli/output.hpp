// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Standard output and standard error.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <stop_token>
#include <string>
#include <string_view>

namespace gander::cli {

/// Writes lines to standard output. What was given to it has been handed to the system when the
/// coroutine returns.
///
/// A reader that does not read holds up nothing but the writes: they wait in the io_context, so
/// that a signal still ends the command.
class output {
public:
    /// Once `stop` is requested, nothing waits any more for a reader.
    output(boost::asio::any_io_executor ex, std::stop_token stop)
        : ex_(std::move(ex)), stop_(std::move(stop)) {}

    /// Several may be outstanding: what they write is not mixed.
    /// \throws output_closed when nobody reads it any more, or when it was stopped while nobody
    /// did; system_failure.
    boost::asio::awaitable<void> write(std::string lines);

private:
    boost::asio::awaitable<void> flush();
    boost::asio::awaitable<void> wait_until_writable();

    boost::asio::any_io_executor ex_;
    std::stop_token stop_;
    std::string pending_;
    bool flushing_ = false;
};

/// Writes a line to standard error. Never fails.
void say(std::string_view line);

/// Writes to standard output, waiting for the reader; for text that is all there is to do.
void print(std::string_view text);

}  // namespace gander::cli

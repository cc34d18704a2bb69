// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The lines of standard input, in groups of what is there.
#pragma once

#include "fd_watch.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <exception>
#include <stop_token>
#include <string>
#include <vector>

namespace gander::cli {

class line_input {
public:
    line_input(boost::asio::any_io_executor ex, std::stop_token stop);

    /// Waits until there is a line and returns all that are there, without their newlines, up to
    /// 1000 and about 1 MiB: what came in while the last group was committed is the next group.
    /// Empty at the end of the input and when a stop was requested. A last line needs no newline.
    /// \throws input_error for a line that no payload could hold; system_failure.
    boost::asio::awaitable<std::vector<std::string>> next_group();

private:
    bool take_lines(std::vector<std::string>& to);
    void read_some();

    template <class Exception>
    void fail(Exception const& e);

    fd_watch readable_;
    std::stop_token stop_;
    std::string buffer_;
    std::size_t searched_ = 0;  ///< How much of the buffer is known to hold no newline.
    bool at_end_ = false;
    std::exception_ptr failure_;
};

}  // namespace gander::cli

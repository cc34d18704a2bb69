// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Where the payloads of a writing verb come from.
#pragma once

#include "line_input.hpp"

#include <gander/payload.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gander::cli {

class arguments;
class session;

/// The argument PAYLOAD; when there is none, the lines of standard input.
class payload_input {
public:
    /// `at` is the operand that holds PAYLOAD. Make it before the file is opened, so that a bad
    /// argument changes nothing. With standard input, signals from now on end the input.
    /// \throws input_error
    payload_input(session& in, arguments const& args, std::size_t at);

    /// The payloads that are there, to be committed together; empty at the end. Those before a bad
    /// line come first, then the next call throws.
    /// \throws input_error that names the line.
    boost::asio::awaitable<std::vector<payload>> next_group();

private:
    payload parse(std::string text) const;

    bool text_;
    std::vector<payload> argument_;
    std::optional<line_input> lines_;
    std::size_t line_number_ = 0;
    std::exception_ptr bad_line_;
};

/// The ids of what was written, a line each.
std::string id_lines(std::span<std::int64_t const> ids);

}  // namespace gander::cli

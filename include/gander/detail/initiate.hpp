// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The one way in which every asynchronous operation is initiated.
#pragma once

#include <gander/fwd.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace gander {

/// A completion token for `Signature` that cannot be mistaken for a string argument.
template <class Token, class Signature>
concept token_for =
    asio::completion_token_for<Token, Signature> && !std::is_convertible_v<Token, std::string_view>;

namespace detail {

/// Owns everything that the operation needs, so that a stored deferred operation survives the
/// object it was made from; and publishes an executor, which token adapters look for.
template <class Signature, class Start>
class initiation {
public:
    using executor_type = asio::any_io_executor;

    initiation(asio::any_io_executor ex, Start start)
        : ex_(std::move(ex)), start_(std::move(start)) {}

    executor_type get_executor() const noexcept { return ex_; }

    template <class Handler>
    void operator()(Handler&& handler) {
        start_(asio::any_completion_handler<Signature>(std::forward<Handler>(handler)));
    }

private:
    asio::any_io_executor ex_;
    Start start_;
};

template <class Signature, class Token, class Start>
auto initiate(asio::any_io_executor ex, Start start, Token&& token) {
    return asio::async_initiate<Token, Signature>(
        initiation<Signature, Start>(std::move(ex), std::move(start)), token);
}

}  // namespace detail
}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// LISTEN and NOTIFY: `notify` inside a transaction, `notification`, and `listener`.
#pragma once

#include <gander/detail/completion.hpp>
#include <gander/detail/config.hpp>
#include <gander/detail/initiate.hpp>
#include <gander/detail/rows.hpp>
#include <gander/error.hpp>
#include <gander/options.hpp>
#include <gander/payload.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gander {

namespace detail {

class listener_state;

using receive_handler = asio::any_completion_handler<void(error_code, notification)>;
using wait_handler = asio::any_completion_handler<void(error_code)>;

GANDER_DECL void start_receive(std::shared_ptr<listener_state> const& state, wait_options options,
                               receive_handler handler);
GANDER_DECL void start_wait(std::shared_ptr<listener_state> const& state, wait_options options,
                            wait_handler handler);

}  // namespace detail

/// A committed notification. Cheap to copy: copies share one row.
/// Distinct objects: safe. Shared objects: safe to read.
class notification {
public:
    /// Empty: id 0.
    notification() = default;
    explicit notification(std::shared_ptr<detail::notification_row const> row)
        : row_(std::move(row)) {}

    std::int64_t id() const noexcept { return row_ ? row_->id : 0; }
    std::string_view channel() const noexcept {
        return row_ ? std::string_view(row_->channel) : "";
    }

    /// The JSON text as it was stored, byte for byte. A writer that is not gander may have stored
    /// something that is not JSON.
    std::string_view payload() const noexcept {
        return row_ ? std::string_view(row_->payload) : "";
    }

    /// Whole seconds since 1970, by the clock of the writer.
    std::int64_t created_at() const noexcept { return row_ ? row_->created_at : 0; }

private:
    std::shared_ptr<detail::notification_row const> row_;
};

/// Receives the notifications of a channel that commit after it was made, from any process, each
/// once, in id order. Made by `database::listen` and `async_listen`.
///
/// It keeps a position and at most the rows of the last shared read. One that falls behind reads
/// the table again, so nothing is dropped and nothing grows.
///
/// Distinct objects: safe. Shared objects: safe, except for assignment and destruction.
/// A listener may be destroyed with operations outstanding: they end with `operation_aborted`.
class GANDER_DECL listener {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    listener() = default;
    explicit listener(std::shared_ptr<detail::listener_state> state) noexcept;
    listener(listener&&) noexcept = default;
    listener& operator=(listener&& other) noexcept;
    ~listener();

    executor_type get_executor() const;

    /// Waits for the next notification.
    ///
    /// \par Handler signature
    /// `void(error_code, notification)`
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total, all without side effects: what was not handed over stays for
    /// the next receive. Do not put it under `||`: when both sides finish, the awaited value of one
    /// is thrown away. Use `.wait` instead, or `async_wait` and `try_receive`.
    /// \par Errors
    /// `errc::timed_out` at the end of `.wait`; `errc::lagged` when rows not yet read were pruned
    /// (the next receive goes on after the gap); `errc::file_replaced`; `operation_aborted`;
    /// `errc::closed`; SQLite's codes.
    /// \par Order
    /// Two receives on one listener are served in order, each notification to one of them.
    template <token_for<void(error_code, notification)> Token = asio::deferred_t>
    auto async_receive(wait_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, notification)>(
            get_executor(),
            [state = state_, options](detail::receive_handler handler) {
                detail::start_receive(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, notification)> Token = asio::deferred_t>
    auto async_receive(Token&& token = {}) {
        return async_receive(wait_options{}, std::forward<Token>(token));
    }

    /// Waits until `try_receive` would return a notification. Consumes nothing, so it may stand
    /// under `||`.
    ///
    /// Signature `void(error_code)`; executor, cancellation and errors as `async_receive`.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(wait_options options, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [state = state_, options](detail::wait_handler handler) {
                detail::start_wait(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(Token&& token = {}) {
        return async_wait(wait_options{}, std::forward<Token>(token));
    }

    /// Takes a notification of the last shared read, if one is left. Never reads the file.
    std::optional<notification> try_receive();

    /// The id of the last notification handed over, or where it began: pass it as `since` to go on
    /// from here in another listener.
    std::int64_t position() const;

    /// Ends all outstanding operations with `operation_aborted`. Thread-safe.
    void cancel();

private:
    std::shared_ptr<detail::listener_state> state_;
};

/// Adds a notification to `tx`: delivered when it commits, to nobody when it rolls back.
/// \throws system_error `errc::invalid_name`, or SQLite's codes.
GANDER_DECL void notify(transaction& tx, std::string_view channel, payload const& body);

}  // namespace gander

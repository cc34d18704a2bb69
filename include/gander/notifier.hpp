// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Commit ticks of any SQLite file as Asio completions.
#pragma once

#include <gander/detail/completion.hpp>
#include <gander/detail/config.hpp>
#include <gander/detail/initiate.hpp>
#include <gander/error.hpp>
#include <gander/options.hpp>

#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>

namespace gander {

namespace detail {

class notifier_state;

using tick_handler = asio::any_completion_handler<void(error_code, std::int64_t)>;

GANDER_DECL void start_tick(std::shared_ptr<notifier_state> const& state, wait_options options,
                            tick_handler handler);

}  // namespace detail

/// Tells when anybody commits to a SQLite file: this process or another, through gander, honker or
/// plain SQLite, in any journal mode. The file needs no tables of gander's, and none are made; the
/// file is not changed, and no file is put beside it.
///
/// A tick says "something changed, look again"; a thousand quick commits may be one tick.
///
/// Distinct objects: safe. Shared objects: safe, except for assignment and destruction.
/// A notifier may be destroyed with operations outstanding: they end with `operation_aborted`.
class GANDER_DECL notifier {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    notifier() = default;

    /// Opens the file. BLOCKS for the opening. Commits from now on are ticks.
    /// \throws system_error whose text names the file and the cause; a missing file is
    /// `SQLITE_CANTOPEN`.
    notifier(asio::any_io_executor ex, std::string path, notifier_options options = {});

    template <class ExecutionContext>
    requires std::convertible_to<ExecutionContext&, asio::execution_context&> notifier(
        ExecutionContext& context, std::string path, notifier_options options = {})
        : notifier(asio::any_io_executor(context.get_executor()), std::move(path), options) {}

    notifier(notifier&&) noexcept = default;
    notifier& operator=(notifier&& other) noexcept;
    ~notifier();

    executor_type get_executor() const;

    /// Waits until somebody has committed since the last tick that it handed out, or since it was
    /// made; at once, if that has happened already.
    ///
    /// \par Handler signature
    /// `void(error_code, std::int64_t)`: the `PRAGMA data_version` that it saw. Compare for
    /// inequality; it does not count commits.
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total, without side effects.
    /// \par Errors
    /// `errc::timed_out` at the end of `.wait`; `errc::file_replaced`, this time and ever after;
    /// `operation_aborted`; `errc::closed`; `errc::used_after_fork`; SQLite's codes.
    /// \par Several waits
    /// All waits outstanding at a tick complete with it.
    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_wait(wait_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, std::int64_t)>(
            get_executor(),
            [state = state_, options](detail::tick_handler handler) {
                detail::start_tick(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_wait(Token&& token = {}) {
        return async_wait(wait_options{}, std::forward<Token>(token));
    }

    /// Ends all outstanding waits with `operation_aborted`. Thread-safe.
    void cancel();

private:
    std::shared_ptr<detail::notifier_state> state_;
};

}  // namespace gander

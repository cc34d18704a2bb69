// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Durable topic streams: `publish` inside a transaction, `event`, `batch`, and `consumer`.
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
#include <vector>

namespace gander {

namespace detail {

class consumer_state;

using read_handler = asio::any_completion_handler<void(error_code, batch)>;
using commit_handler = asio::any_completion_handler<void(error_code)>;
using offset_handler = asio::any_completion_handler<void(error_code, std::int64_t)>;

GANDER_DECL void start_read(std::shared_ptr<consumer_state> const& state, read_options options,
                            read_handler handler);
GANDER_DECL void start_wait(std::shared_ptr<consumer_state> const& state, wait_options options,
                            commit_handler handler);
GANDER_DECL void start_commit(std::shared_ptr<consumer_state> const& state, batch const& read,
                              commit_handler handler);
GANDER_DECL void start_seek(std::shared_ptr<consumer_state> const& state, std::int64_t offset,
                            commit_handler handler);
GANDER_DECL void start_offset(std::shared_ptr<consumer_state> const& state, offset_handler handler);

}  // namespace detail

/// A committed event. Cheap to copy: copies share one row.
/// Distinct objects: safe. Shared objects: safe to read.
class event {
public:
    /// Empty: offset 0.
    event() = default;
    explicit event(std::shared_ptr<detail::event_row const> row) : row_(std::move(row)) {}

    std::int64_t offset() const noexcept { return row_ ? row_->offset : 0; }
    std::string_view topic() const noexcept { return row_ ? std::string_view(row_->topic) : ""; }

    std::optional<std::string_view> key() const noexcept {
        return row_ && row_->key ? std::optional<std::string_view>(*row_->key) : std::nullopt;
    }

    /// The JSON text as it was stored, byte for byte.
    std::string_view payload() const noexcept {
        return row_ ? std::string_view(row_->payload) : "";
    }

    /// Whole seconds since 1970, by the clock of the writer.
    std::int64_t created_at() const noexcept { return row_ ? row_->created_at : 0; }

private:
    std::shared_ptr<detail::event_row const> row_;
};

/// What one read returned, in offset order, and where it began and ended: commit it whole.
class GANDER_DECL batch {
public:
    /// Empty.
    batch() = default;
    batch(std::vector<event> events, std::int64_t began_at, bool first) noexcept
        : events_(std::move(events)), began_at_(began_at), first_(first) {}

    auto begin() const noexcept { return events_.begin(); }
    auto end() const noexcept { return events_.end(); }
    std::size_t size() const noexcept { return events_.size(); }
    bool empty() const noexcept { return events_.empty(); }
    event const& operator[](std::size_t i) const noexcept { return events_[i]; }
    event const& front() const noexcept { return events_.front(); }
    event const& back() const noexcept { return events_.back(); }

    /// The offset after which this batch was read: what the saved offset must be to commit it.
    std::int64_t began_at() const noexcept { return began_at_; }

    /// The offset that committing this batch saves.
    std::int64_t ends_at() const noexcept {
        return events_.empty() ? began_at_ : events_.back().offset();
    }

    /// True for the first read of a consumer that had no saved offset.
    bool first() const noexcept { return first_; }

    /// The first `n` events as a batch of their own, to commit a part.
    batch prefix(std::size_t n) const;

private:
    std::vector<event> events_;
    std::int64_t began_at_ = 0;
    bool first_ = false;
};

/// Reads a topic in order from a durable offset of its own name.
///
/// Reading moves the handle, committing moves the saved offset: what was read and not committed is
/// read again by the next handle of this name (at least once). Two handles of one name each read
/// everything. Copies share one position.
///
/// Distinct objects: safe. Shared objects: safe, except for assignment and destruction.
/// A consumer may be destroyed with operations outstanding: waits end with `operation_aborted`,
/// commits go on.
class GANDER_DECL consumer {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    consumer() = default;

    /// Does not touch the file: the first read looks up the saved offset of `name`.
    /// \throws system_error `errc::invalid_name`, `errc::closed` for an empty database.
    consumer(database& db, std::string topic, std::string name, consumer_options options = {});

    /// A reader without a name: it has a position, begins at `options.start` and saves nothing; a
    /// commit is `errc::invalid_name`.
    consumer(database& db, std::string topic, consumer_options options = {});

    executor_type get_executor() const;
    std::string const& topic() const;

    /// Waits for at least one event after the handle's position, and takes up to `.max`.
    ///
    /// \par Handler signature
    /// `void(error_code, batch)`
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total, without side effects. Do not put it under `||`; use `.wait`.
    /// \par Errors
    /// `errc::timed_out` at the end of `.wait`; `errc::offset_out_of_range` when the saved offset
    /// lies beyond the end of the stream (after a restore: `async_seek` mends it);
    /// `errc::out_of_range` for `.max` of 0; `errc::file_replaced`; `operation_aborted`; SQLite's.
    /// \par Durability
    /// None: reading saves nothing.
    template <token_for<void(error_code, batch)> Token = asio::deferred_t>
    auto async_read(read_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, batch)>(
            get_executor(),
            [state = state_, options](detail::read_handler handler) {
                detail::start_read(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, batch)> Token = asio::deferred_t>
    auto async_read(Token&& token = {}) {
        return async_read(read_options{}, std::forward<Token>(token));
    }

    /// Waits until a read would return at once. Consumes nothing, so it may stand under `||`.
    /// Signature `void(error_code)`; the rest as `async_read`.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(wait_options options, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [state = state_, options](detail::commit_handler handler) {
                detail::start_wait(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(Token&& token = {}) {
        return async_wait(wait_options{}, std::forward<Token>(token));
    }

    /// Saves the end of `read` as the consumer's offset.
    ///
    /// \par Handler signature
    /// `void(error_code)`
    /// \par Per-operation cancellation
    /// Terminal, partial and total while it is queued; once its transaction runs, it reports the
    /// true outcome.
    /// \par Errors
    /// `errc::offset_moved` when the saved offset is not where `read` began; the rest as
    /// `database::async_notify`.
    /// \par Durability
    /// Success means saved, as durable as `open_options::synchronous` says.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_commit(batch const& read, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [state = state_, read](detail::commit_handler handler) {
                detail::start_commit(state, read, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// The same inside a transaction of the user's.
    /// \throws system_error `errc::offset_moved`; let it pass, and all is rolled back.
    void commit(transaction& tx, batch const& read);

    /// Sets the saved offset and the handle's position, forwards or backwards: reading goes on
    /// after `offset`. Signature `void(error_code)`; errors: `errc::offset_out_of_range` for a
    /// negative offset or one beyond the end of the stream; the rest as `async_commit`.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_seek(std::int64_t offset, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [state = state_, offset](detail::commit_handler handler) {
                detail::start_seek(state, offset, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// The saved offset, 0 when there is none. Signature `void(error_code, std::int64_t)`.
    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_offset(Token&& token = {}) {
        return detail::initiate<void(error_code, std::int64_t)>(
            get_executor(),
            [state = state_](detail::offset_handler handler) {
                detail::start_offset(state, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Ends all outstanding waits and reads with `operation_aborted`. Thread-safe.
    void cancel();

private:
    std::shared_ptr<detail::consumer_state> state_;
};

/// Adds an event to `tx`. Its offset is known when `tx` has committed; who needs it publishes with
/// `database::async_publish`.
/// \throws system_error `errc::invalid_name`, or SQLite's codes.
GANDER_DECL void publish(transaction& tx, std::string_view topic, payload const& body,
                         std::optional<std::string_view> key = std::nullopt);

}  // namespace gander

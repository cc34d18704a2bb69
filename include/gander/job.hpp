// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A claimed job, and the four ways to let go of it.
#pragma once

#include <gander/detail/completion.hpp>
#include <gander/detail/config.hpp>
#include <gander/detail/initiate.hpp>
#include <gander/detail/rows.hpp>
#include <gander/error.hpp>
#include <gander/options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gander {

namespace detail {

class database_state;

using job_handler = asio::any_completion_handler<void(error_code)>;

GANDER_DECL void start_ack(std::shared_ptr<database_state> const& db, std::int64_t id,
                           std::string worker, job_handler handler);
GANDER_DECL void start_retry(std::shared_ptr<database_state> const& db, std::int64_t id,
                             std::string worker, retry_options options, std::string error,
                             job_handler handler);
GANDER_DECL void start_fail(std::shared_ptr<database_state> const& db, std::int64_t id,
                            std::string worker, std::string error, job_handler handler);
GANDER_DECL void start_heartbeat(std::shared_ptr<database_state> const& db, std::int64_t id,
                                 std::string worker, duration lease, job_handler handler);

}  // namespace detail

/// A job held by a lease. Cheap to copy; copies hold the same claim.
///
/// A job that is simply dropped is claimed again, by anybody, when its lease has ended: at least
/// once. Every operation that comes too late is `errc::lease_lost` and changes nothing.
///
/// Distinct objects: safe. Shared objects: safe to read and to start operations on.
class GANDER_DECL job {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    job() = default;
    job(std::shared_ptr<detail::database_state> db,
        std::shared_ptr<detail::job_row const> row) noexcept;

    executor_type get_executor() const;

    std::int64_t id() const noexcept { return row_ ? row_->id : 0; }
    std::string_view queue() const noexcept { return row_ ? std::string_view(row_->queue) : ""; }

    /// The JSON text as it was stored, byte for byte.
    std::string_view payload() const noexcept {
        return row_ ? std::string_view(row_->payload) : "";
    }

    /// 1 for the first run.
    std::int64_t attempt() const noexcept { return row_ ? row_->attempts : 0; }
    std::int64_t max_attempts() const noexcept { return row_ ? row_->max_attempts : 0; }
    std::int64_t priority() const noexcept { return row_ ? row_->priority : 0; }

    /// The claim's token: what `queue::held` takes to finish the job in another process.
    std::string_view worker() const noexcept { return row_ ? std::string_view(row_->worker) : ""; }

    /// When the lease ends, in seconds since 1970 by the file's clock, as of the claim.
    std::int64_t lease_expires_at() const noexcept { return row_ ? row_->claim_expires_at : 0; }
    std::int64_t created_at() const noexcept { return row_ ? row_->created_at : 0; }

    /// Done: removes the job.
    ///
    /// \par Handler signature
    /// `void(error_code)`
    /// \par Per-operation cancellation
    /// Terminal, partial and total while it is queued; once its transaction runs, it reports the
    /// true outcome.
    /// \par Errors
    /// `errc::lease_lost`; the rest as `database::async_notify`.
    /// \par Durability
    /// Success means removed, as durable as `open_options::synchronous` says.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_ack(Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [db = db_, id = id(), worker = std::string(worker())](detail::job_handler handler) {
                detail::start_ack(db, id, worker, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Not done: runs again after a delay, or is buried with `error` if that was its last attempt.
    /// Signature, cancellation, errors and durability as `async_ack`; `errc::out_of_range` for a
    /// delay that is negative or overflows.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_retry(std::string_view error, retry_options options, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [db = db_, id = id(), worker = std::string(worker()), options,
             error = std::string(error)](detail::job_handler handler) {
                detail::start_retry(db, id, worker, options, error, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_retry(std::string_view error, Token&& token = {}) {
        return async_retry(error, retry_options{}, std::forward<Token>(token));
    }

    /// Never again: moves the job to the dead letters with `error`. Text that is not UTF-8, or
    /// long, is mended and cut rather than refused. The rest as `async_ack`.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_fail(std::string_view error, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [db = db_, id = id(), worker = std::string(worker()),
             error = std::string(error)](detail::job_handler handler) {
                detail::start_fail(db, id, worker, error, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Still at it: the lease ends `lease` from now. The rest as `async_ack`; `errc::out_of_range`
    /// for a lease that is not positive or overflows.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_heartbeat(duration lease, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [db = db_, id = id(), worker = std::string(worker()),
             lease](detail::job_handler handler) {
                detail::start_heartbeat(db, id, worker, lease, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// The same inside a transaction of the user's, so that the job's effects and its end are one
    /// commit.
    /// \throws system_error `errc::lease_lost`; let it pass, and all is rolled back.
    void ack(transaction& tx) const;
    void retry(transaction& tx, std::string_view error, retry_options options = {}) const;
    void fail(transaction& tx, std::string_view error) const;

private:
    std::shared_ptr<detail::database_state> db_;
    std::shared_ptr<detail::job_row const> row_;
};

}  // namespace gander

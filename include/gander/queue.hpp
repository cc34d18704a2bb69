// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// At-least-once job queues: enqueue, claim, cancel, sizes.
#pragma once

#include <gander/detail/completion.hpp>
#include <gander/detail/config.hpp>
#include <gander/detail/initiate.hpp>
#include <gander/error.hpp>
#include <gander/job.hpp>
#include <gander/options.hpp>
#include <gander/payload.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gander {

/// How many jobs a queue holds in each state.
struct queue_sizes {
    std::int64_t ready = 0;       ///< Could be claimed now.
    std::int64_t delayed = 0;     ///< Wait for their time.
    std::int64_t processing = 0;  ///< Held by a claim, live or ended.
    std::int64_t dead = 0;        ///< In the dead letters.
};

namespace detail {

class queue_state;

using id_handler = asio::any_completion_handler<void(error_code, std::int64_t)>;
using ids_handler = asio::any_completion_handler<void(error_code, std::vector<std::int64_t>)>;
using claim_handler = asio::any_completion_handler<void(error_code, job)>;
using claims_handler = asio::any_completion_handler<void(error_code, std::vector<job>)>;
using found_handler = asio::any_completion_handler<void(error_code, bool)>;
using sizes_handler = asio::any_completion_handler<void(error_code, queue_sizes)>;

GANDER_DECL void start_enqueue(std::shared_ptr<queue_state> const& state, payload body,
                               enqueue_options options, id_handler handler);
GANDER_DECL void start_enqueue_many(std::shared_ptr<queue_state> const& state,
                                    std::vector<payload> bodies, enqueue_options options,
                                    ids_handler handler);
GANDER_DECL void start_claim(std::shared_ptr<queue_state> const& state, std::string worker,
                             claim_options options, claim_handler handler);
GANDER_DECL void start_claim_many(std::shared_ptr<queue_state> const& state, std::string worker,
                                  claim_options options, claims_handler handler);
GANDER_DECL void start_wait(std::shared_ptr<queue_state> const& state, wait_options options,
                            job_handler handler);
GANDER_DECL void start_cancel(std::shared_ptr<queue_state> const& state, std::int64_t id,
                              found_handler handler);
GANDER_DECL void start_sizes(std::shared_ptr<queue_state> const& state, sizes_handler handler);

}  // namespace detail

/// A named queue in the file. Cheap to copy; nothing is created in the file by making one.
///
/// Jobs are claimed by priority, high to low, then by due time, then by id.
///
/// Distinct objects: safe. Shared objects: safe, except for assignment and destruction.
/// A queue may be destroyed with operations outstanding; they go on.
class GANDER_DECL queue {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    queue() = default;

    /// \throws system_error `errc::invalid_name`; `errc::out_of_range` for an option;
    /// `errc::closed` for an empty database.
    queue(database& db, std::string name, queue_options options = {});

    executor_type get_executor() const;
    std::string const& name() const;

    /// Adds a job.
    ///
    /// \par Handler signature
    /// `void(error_code, std::int64_t)`: the job's id.
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total while it is queued; once its transaction runs, it reports the
    /// true outcome.
    /// \par Errors
    /// `errc::out_of_range` for a negative or overflowing delay, expiry or time, or `max_attempts`
    /// below 1; the rest as `database::async_notify`.
    /// \par Durability
    /// Success means committed, as durable as `open_options::synchronous` says.
    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_enqueue(payload body, enqueue_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, std::int64_t)>(
            get_executor(),
            [state = state_, body = std::move(body), options](detail::id_handler handler) mutable {
                detail::start_enqueue(state, std::move(body), options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_enqueue(payload body, Token&& token = {}) {
        return async_enqueue(std::move(body), enqueue_options{}, std::forward<Token>(token));
    }

    /// Adds many jobs in one transaction. Signature `void(error_code, std::vector<std::int64_t>)`:
    /// the ids in order. All are added or none; the rest as `async_enqueue`.
    template <token_for<void(error_code, std::vector<std::int64_t>)> Token = asio::deferred_t>
    auto async_enqueue_many(std::vector<payload> bodies, enqueue_options options,
                            Token&& token = {}) {
        return detail::initiate<void(error_code, std::vector<std::int64_t>)>(
            get_executor(),
            [state = state_, bodies = std::move(bodies),
             options](detail::ids_handler handler) mutable {
                detail::start_enqueue_many(state, std::move(bodies), options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, std::vector<std::int64_t>)> Token = asio::deferred_t>
    auto async_enqueue_many(std::vector<payload> bodies, Token&& token = {}) {
        return async_enqueue_many(std::move(bodies), enqueue_options{}, std::forward<Token>(token));
    }

    /// Waits until there is a job, and claims it.
    ///
    /// The claim's token is `worker` and a random suffix, so that a late ack of an earlier claim
    /// cannot take a later one for its own.
    ///
    /// \par Handler signature
    /// `void(error_code, job)`
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total, without side effects while it waits; a cancellation that comes
    /// once the claim's transaction runs is ignored and the job is handed over. Do not put it under
    /// `||`: a job whose claim is thrown away is invisible until its lease ends. Use `.wait`.
    /// \par Errors
    /// `errc::timed_out` at the end of `.wait`; `errc::invalid_name` for the worker;
    /// `errc::out_of_range` for a lease that is not positive or overflows; `errc::file_replaced`;
    /// `operation_aborted`; `errc::busy`; SQLite's codes.
    /// \par Order
    /// Waiting claims of one process are served in order.
    template <token_for<void(error_code, job)> Token = asio::deferred_t>
    auto async_claim(std::string_view worker, claim_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, job)>(
            get_executor(),
            [state = state_, worker = std::string(worker), options](detail::claim_handler handler) {
                detail::start_claim(state, worker, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code, job)> Token = asio::deferred_t>
    auto async_claim(std::string_view worker, Token&& token = {}) {
        return async_claim(worker, claim_options{}, std::forward<Token>(token));
    }

    /// Waits until there is a job, and claims up to `.max`. Signature
    /// `void(error_code, std::vector<job>)`, in claim order, never empty on success. The rest as
    /// `async_claim`.
    template <token_for<void(error_code, std::vector<job>)> Token = asio::deferred_t>
    auto async_claim_many(std::string_view worker, claim_options options, Token&& token = {}) {
        return detail::initiate<void(error_code, std::vector<job>)>(
            get_executor(),
            [state = state_, worker = std::string(worker),
             options](detail::claims_handler handler) {
                detail::start_claim_many(state, worker, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Waits until a job could be claimed. Claims nothing, so it may stand under `||`. Signature
    /// `void(error_code)`; the rest as `async_claim`.
    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(wait_options options, Token&& token = {}) {
        return detail::initiate<void(error_code)>(
            get_executor(),
            [state = state_, options](detail::job_handler handler) {
                detail::start_wait(state, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(error_code)> Token = asio::deferred_t>
    auto async_wait(Token&& token = {}) {
        return async_wait(wait_options{}, std::forward<Token>(token));
    }

    /// Takes back a job that is pending or processing. Signature `void(error_code, bool)`: whether
    /// it was there. A worker that holds it learns of it as `errc::lease_lost`.
    template <token_for<void(error_code, bool)> Token = asio::deferred_t>
    auto async_cancel(std::int64_t id, Token&& token = {}) {
        return detail::initiate<void(error_code, bool)>(
            get_executor(),
            [state = state_, id](detail::found_handler handler) {
                detail::start_cancel(state, id, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Counts the jobs by state. Reads the whole queue's index: for people, not for hot paths.
    /// Signature `void(error_code, queue_sizes)`.
    template <token_for<void(error_code, queue_sizes)> Token = asio::deferred_t>
    auto async_sizes(Token&& token = {}) {
        return detail::initiate<void(error_code, queue_sizes)>(
            get_executor(),
            [state = state_](detail::sizes_handler handler) {
                detail::start_sizes(state, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Adds a job to `tx` and returns its id at once.
    /// \throws system_error `errc::out_of_range`, or SQLite's codes.
    std::int64_t enqueue(transaction& tx, payload const& body, enqueue_options options = {}) const;

    /// A handle on a claim made elsewhere, by `token`, its `job::worker()`. Nothing is read:
    /// whether the claim holds shows when it is used.
    job held(std::int64_t id, std::string_view token) const;

    /// Ends all outstanding claims and waits of this queue handle and its copies with
    /// `operation_aborted`. Thread-safe.
    void cancel();

private:
    std::shared_ptr<detail::queue_state> state_;
};

}  // namespace gander

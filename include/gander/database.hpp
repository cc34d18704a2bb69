// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An open file: the handle that everything else is made from.
#pragma once

#include <gander/channel.hpp>
#include <gander/detail/asio_fixes.hpp>
#include <gander/detail/completion.hpp>
#include <gander/detail/config.hpp>
#include <gander/detail/initiate.hpp>
#include <gander/detail/transact.hpp>
#include <gander/error.hpp>
#include <gander/job.hpp>
#include <gander/options.hpp>
#include <gander/payload.hpp>
#include <gander/queue.hpp>
#include <gander/sqlite.hpp>
#include <gander/stream.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gander {

/// Counters since the file was opened by this handle. A snapshot; reading it is cheap.
struct database_stats {
    std::uint64_t commits = 0;         ///< Transactions of ours that committed.
    std::uint64_t operations = 0;      ///< Write operations in them.
    std::uint64_t busy_retries = 0;    ///< Attempts that met another process's lock.
    std::uint64_t ticks = 0;           ///< Times somebody's commit was noticed.
    std::uint64_t file_events = 0;     ///< Hints from the operating system.
    std::uint64_t missed_events = 0;   ///< Commits that only the poll noticed.
    std::uint64_t shared_reads = 0;    ///< Reads that served all waiting listeners and consumers.
    std::uint64_t catch_up_reads = 0;  ///< Reads for one listener or consumer that was behind.
    std::uint64_t checkpoints = 0;     ///< Background checkpoint passes.
    std::uint64_t queued_writes = 0;   ///< Write operations waiting now.
    std::uint64_t wal_frames = 0;      ///< Frames in the WAL when last looked at.
};

/// A queue of the file, by name.
struct queue_info {
    std::string name;
    queue_sizes sizes;
};

/// States by which jobs can be listed.
enum class job_state { any, ready, delayed, processing, dead };

/// A job as it stands in the file, for people and tools.
struct job_info {
    std::int64_t id = 0;
    std::string queue;
    std::string payload;
    job_state state = job_state::any;
    std::int64_t priority = 0;
    std::int64_t run_at = 0;
    std::string worker;                 ///< Empty when no claim holds it.
    std::int64_t lease_expires_at = 0;  ///< 0 when no claim holds it.
    std::int64_t attempts = 0;
    std::int64_t max_attempts = 0;
    std::int64_t created_at = 0;
    std::optional<std::int64_t> expires_at;
    std::optional<std::string> last_error;  ///< Of a dead job.
};

namespace detail {

class database_state;
struct database_access;

using open_handler = asio::any_completion_handler<void(std::exception_ptr, database)>;
using listen_handler = asio::any_completion_handler<void(std::exception_ptr, listener)>;
using offsets_handler = asio::any_completion_handler<void(error_code, std::vector<std::int64_t>)>;
using queues_handler = asio::any_completion_handler<void(error_code, std::vector<queue_info>)>;
using jobs_handler = asio::any_completion_handler<void(error_code, std::vector<job_info>)>;

GANDER_DECL void start_open(asio::any_io_executor const& ex, std::string path, open_options options,
                            open_handler handler);
GANDER_DECL void start_listen(std::shared_ptr<database_state> const& db, std::string channel,
                              bool exact, listen_options options, listen_handler handler);
GANDER_DECL void start_notify(std::shared_ptr<database_state> const& db, std::string channel,
                              payload body, id_handler handler);
GANDER_DECL void start_publish(std::shared_ptr<database_state> const& db, std::string topic,
                               payload body, std::optional<std::string> key,
                               offset_handler handler);
GANDER_DECL void start_publish_many(std::shared_ptr<database_state> const& db, std::string topic,
                                    std::vector<payload> bodies, offsets_handler handler);
GANDER_DECL void start_queues(std::shared_ptr<database_state> const& db, queues_handler handler);
GANDER_DECL void start_jobs(std::shared_ptr<database_state> const& db, std::string queue,
                            job_state state, std::size_t limit, jobs_handler handler);
GANDER_DECL void start_transact(std::shared_ptr<database_state> const& db,
                                std::unique_ptr<transact_call> call, asio::cancellation_slot slot);

}  // namespace detail

/// One SQLite file. Copies share one open file; two databases opened on one path are two.
///
/// Everything that touches SQLite for longer than a moment runs on threads of the library; the
/// exceptions, on the caller's thread, are the constructor and `listen`. Two threads for SQLite and
/// up to four for callables of `async_transact` serve all open files of the process; each starts
/// when it is first needed.
///
/// \par Thread safety
/// Distinct objects: safe. Shared objects: safe, except for assignment and destruction.
/// \par Object lifetimes
/// May be destroyed with operations outstanding: they go on and complete. When the execution
/// context is destroyed first, operations still queued are dropped without being run and their
/// handlers are destroyed; one whose transaction is running is waited for.
/// \par Fork
/// In a child process every operation is `errc::used_after_fork`, and so is opening a file that the
/// parent had open: fork first, or exec a program that opens it.
class GANDER_DECL database {
public:
    using executor_type = asio::any_io_executor;

    /// Empty: every operation ends with `errc::closed`.
    database() = default;
    explicit database(std::shared_ptr<detail::database_state> state) noexcept;

    /// Opens `path`, creating it in WAL mode and making the tables where they are missing. BLOCKS
    /// while it does; `async_open` does not.
    /// \throws system_error whose text names the file and the cause: `errc::not_a_file`,
    /// `errc::schema_too_new`, `errc::busy`, `errc::out_of_range` for an
    /// option, SQLite's `SQLITE_CANTOPEN` (missing, a directory, no permission, no descriptors
    /// left), `SQLITE_NOTADB`, `SQLITE_READONLY`, `SQLITE_FULL`, ...
    database(asio::any_io_executor ex, std::string path, open_options options = {});

    template <class ExecutionContext>
    requires std::convertible_to<ExecutionContext&, asio::execution_context&> database(
        ExecutionContext& context, std::string path, open_options options = {})
        : database(asio::any_io_executor(context.get_executor()), std::move(path), options) {}

    /// Opens without blocking. Signature `void(std::exception_ptr, database)`; the exceptions are
    /// those of the constructor. Not cancellable.
    template <token_for<void(std::exception_ptr, database)> Token = asio::deferred_t>
    static auto async_open(asio::any_io_executor ex, std::string path, open_options options,
                           Token&& token = {});

    template <token_for<void(std::exception_ptr, database)> Token = asio::deferred_t>
    static auto async_open(asio::any_io_executor ex, std::string path, Token&& token = {});

    executor_type get_executor() const;

    /// The file's canonical path, symbolic links resolved.
    std::string const& path() const;

    explicit operator bool() const noexcept { return state_ != nullptr; }

    /// LISTEN: a listener for what is notified on `channel` from now on, or after `options.since`.
    /// A `channel` that ends in `*` is a prefix. BLOCKS for one seek in the file.
    /// \throws system_error `errc::invalid_name`, `errc::out_of_range` for a negative `since`,
    /// `errc::offset_out_of_range` for one beyond the newest id, or SQLite's codes.
    listener listen(std::string_view channel, listen_options options = {});

    /// The same for a channel whose name itself ends in `*`.
    listener listen_exact(std::string_view channel, listen_options options = {});

    /// `listen` without blocking. Signature `void(std::exception_ptr, listener)`.
    template <token_for<void(std::exception_ptr, listener)> Token = asio::deferred_t>
    auto async_listen(std::string_view channel, listen_options options, Token&& token = {}) {
        return detail::initiate<void(std::exception_ptr, listener)>(
            get_executor(),
            [state = state_, channel = std::string(channel),
             options](detail::listen_handler handler) {
                detail::start_listen(state, channel, false, options, std::move(handler));
            },
            std::forward<Token>(token));
    }

    template <token_for<void(std::exception_ptr, listener)> Token = asio::deferred_t>
    auto async_listen(std::string_view channel, Token&& token = {}) {
        return async_listen(channel, listen_options{}, std::forward<Token>(token));
    }

    /// NOTIFY.
    ///
    /// \par Handler signature
    /// `void(error_code, std::int64_t)`: the notification's id.
    /// \par Executor
    /// The handler runs on its associated executor, else on `get_executor()`, never inline.
    /// \par Per-operation cancellation
    /// Terminal, partial and total while it is queued, without side effects; once its transaction
    /// runs, it is not interrupted and reports its true outcome.
    /// \par Errors
    /// `errc::invalid_name`; `errc::busy` when another process held the lock beyond
    /// `busy_deadline`; `errc::read_only`; `errc::file_replaced`; `errc::would_deadlock` inside a
    /// transaction of this database; `errc::commit_outcome_unknown`; `errc::closed`;
    /// `errc::used_after_fork`; `operation_aborted`; SQLite's codes.
    /// \par Durability
    /// Success means committed, as durable as `open_options::synchronous` says.
    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_notify(std::string_view channel, payload body, Token&& token = {}) {
        return detail::initiate<void(error_code, std::int64_t)>(
            get_executor(),
            [state = state_, channel = std::string(channel),
             body = std::move(body)](detail::id_handler handler) mutable {
                detail::start_notify(state, std::move(channel), std::move(body),
                                     std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Appends an event to `topic`. Signature `void(error_code, std::int64_t)`: its offset. The
    /// rest as `async_notify`.
    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_publish(std::string_view topic, payload body, std::string_view key,
                       Token&& token = {}) {
        return initiate_publish(topic, std::move(body), std::string(key),
                                std::forward<Token>(token));
    }

    template <token_for<void(error_code, std::int64_t)> Token = asio::deferred_t>
    auto async_publish(std::string_view topic, payload body, Token&& token = {}) {
        return initiate_publish(topic, std::move(body), std::nullopt, std::forward<Token>(token));
    }

    /// Appends many events in one transaction, all or none. Signature
    /// `void(error_code, std::vector<std::int64_t>)`: the offsets in order.
    template <token_for<void(error_code, std::vector<std::int64_t>)> Token = asio::deferred_t>
    auto async_publish_many(std::string_view topic, std::vector<payload> bodies,
                            Token&& token = {}) {
        return detail::initiate<void(error_code, std::vector<std::int64_t>)>(
            get_executor(),
            [state = state_, topic = std::string(topic),
             bodies = std::move(bodies)](detail::offsets_handler handler) mutable {
                detail::start_publish_many(state, std::move(topic), std::move(bodies),
                                           std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Runs `f(transaction&)` in a transaction of its own, on a thread kept for such callables, and
    /// commits when it returns.
    ///
    /// `f` may run more than once, so it has no effects outside the transaction. It must not wait
    /// for another operation on this database, which is `errc::would_deadlock`. Its result must be
    /// default-constructible.
    ///
    /// \par Handler signature
    /// `void(std::exception_ptr)`, or `void(std::exception_ptr, R)` when `f` returns an R.
    /// \par Per-operation cancellation
    /// Terminal, partial and total while it is queued; once it runs, it reports its true outcome.
    /// \par Errors
    /// What `f` threw, after a rollback; else a system_error with the codes of `async_notify`, or
    /// `errc::transaction_doomed`.
    /// \par Durability
    /// Success means committed, as durable as `open_options::synchronous` says.
    template <class F, token_for<typename detail::typed_transact_call<std::decay_t<F>>::signature>
                           Token = asio::deferred_t>
    auto async_transact(F&& f, Token&& token = {}) {
        using call = detail::typed_transact_call<std::decay_t<F>>;
        using signature = typename call::signature;
        return detail::initiate<signature>(
            get_executor(),
            [state = state_, ex = get_executor(),
             f = std::forward<F>(f)](asio::any_completion_handler<signature> handler) mutable {
                auto slot = asio::get_associated_cancellation_slot(handler);
                detail::start_transact(
                    state, std::make_unique<call>(std::move(f), std::move(handler), ex), slot);
            },
            std::forward<Token>(token));
    }

    /// The queues that hold jobs, by name. Reads whole indexes. Signature
    /// `void(error_code, std::vector<queue_info>)`.
    template <token_for<void(error_code, std::vector<queue_info>)> Token = asio::deferred_t>
    auto async_queues(Token&& token = {}) {
        return detail::initiate<void(error_code, std::vector<queue_info>)>(
            get_executor(),
            [state = state_](detail::queues_handler handler) {
                detail::start_queues(state, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// Up to `limit` jobs by id, of one queue or, when `queue` is empty, of all. Signature
    /// `void(error_code, std::vector<job_info>)`.
    template <token_for<void(error_code, std::vector<job_info>)> Token = asio::deferred_t>
    auto async_jobs(std::string_view queue, job_state state, std::size_t limit,
                    Token&& token = {}) {
        return detail::initiate<void(error_code, std::vector<job_info>)>(
            get_executor(),
            [db = state_, queue = std::string(queue), state, limit](detail::jobs_handler handler) {
                detail::start_jobs(db, queue, state, limit, std::move(handler));
            },
            std::forward<Token>(token));
    }

    /// A handle on a claim made elsewhere; see `queue::held`.
    job held(std::int64_t id, std::string_view token) const;

    database_stats stats() const;

private:
    friend struct detail::database_access;

    template <class Token>
    auto initiate_publish(std::string_view topic, payload body, std::optional<std::string> key,
                          Token&& token) {
        return detail::initiate<void(error_code, std::int64_t)>(
            get_executor(),
            [state = state_, topic = std::string(topic), body = std::move(body),
             key = std::move(key)](detail::offset_handler handler) mutable {
                detail::start_publish(state, std::move(topic), std::move(body), std::move(key),
                                      std::move(handler));
            },
            std::forward<Token>(token));
    }

    std::shared_ptr<detail::database_state> state_;
};

template <token_for<void(std::exception_ptr, database)> Token>
auto database::async_open(asio::any_io_executor ex, std::string path, open_options options,
                          Token&& token) {
    return detail::initiate<void(std::exception_ptr, database)>(
        ex,
        [ex, path = std::move(path), options](detail::open_handler handler) {
            detail::start_open(ex, path, options, std::move(handler));
        },
        std::forward<Token>(token));
}

template <token_for<void(std::exception_ptr, database)> Token>
auto database::async_open(asio::any_io_executor ex, std::string path, Token&& token) {
    return async_open(std::move(ex), std::move(path), open_options{}, std::forward<Token>(token));
}

}  // namespace gander

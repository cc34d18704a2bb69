// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/job.hpp"

#include "asio/write_call.hpp"
#include "sqlite/job_times.hpp"
#include "sqlite/transaction_state.hpp"
#include "sqlite/utf8.hpp"

namespace gander {

namespace {

// Long enough for a stack trace; a row of the dead letters is read by people.
constexpr std::size_t max_error_bytes = 16 * 1024;

void must_hold(bool held) {
    if (!held) throw system_error(errc::lease_lost);
}

std::optional<std::int64_t> delay_of(retry_options const& options) {
    return options.delay ? std::optional(options.delay->milliseconds()) : std::nullopt;
}

error_code check_length(std::optional<duration> d, bool zero_allowed) {
    if (d && (d->saturated() || d->milliseconds() < (zero_allowed ? 0 : 1)))
        return errc::out_of_range;
    return {};
}

}  // namespace

namespace detail {

void start_ack(std::shared_ptr<database_state> const& db, std::int64_t id, std::string worker,
               job_handler handler) {
    submit_write(db, std::move(handler), 0, false,
                 [id, worker = std::move(worker)](sqlite::store& s, engine::effects&) {
                     must_hold(s.jobs.ack(id, worker));
                 });
}

void start_retry(std::shared_ptr<database_state> const& db, std::int64_t id, std::string worker,
                 retry_options options, std::string error, job_handler handler) {
    if (error_code const why = check_length(options.delay, true))
        return complete_at_once(std::move(handler), executor_of(db), why);
    submit_write(db, std::move(handler), 0, true,
                 [id, worker = std::move(worker), options,
                  error = sqlite::mended_utf8(error, max_error_bytes)](sqlite::store& s,
                                                                       engine::effects& done) {
                     done.jobs = true;
                     must_hold(s.jobs.retry(id, worker, delay_of(options), error));
                 });
}

void start_fail(std::shared_ptr<database_state> const& db, std::int64_t id, std::string worker,
                std::string error, job_handler handler) {
    submit_write(
        db, std::move(handler), 0, true,
        [id, worker = std::move(worker), error = sqlite::mended_utf8(error, max_error_bytes)](
            sqlite::store& s, engine::effects&) { must_hold(s.jobs.fail(id, worker, error)); });
}

void start_heartbeat(std::shared_ptr<database_state> const& db, std::int64_t id, std::string worker,
                     duration lease, job_handler handler) {
    if (error_code const why = check_length(lease, false))
        return complete_at_once(std::move(handler), executor_of(db), why);
    submit_write(db, std::move(handler), 0, false,
                 [id, worker = std::move(worker), lease](sqlite::store& s, engine::effects&) {
                     must_hold(s.jobs.heartbeat(id, worker, lease.seconds()));
                 });
}

}  // namespace detail

job::job(std::shared_ptr<detail::database_state> db,
         std::shared_ptr<detail::job_row const> row) noexcept
    : db_(std::move(db)), row_(std::move(row)) {}

job::executor_type job::get_executor() const { return detail::executor_of(db_); }

void job::ack(transaction& tx) const {
    detail::transaction_access::write(
        tx, [&](sqlite::store& s) { must_hold(s.jobs.ack(id(), worker())); });
}

// In a transaction of the user's the two statements of these must be undone together.

void job::retry(transaction& tx, std::string_view error, retry_options options) const {
    if (options.delay) sqlite::check(*options.delay, "delay", true);
    std::string const text = sqlite::mended_utf8(error, max_error_bytes);
    detail::transaction_access::write(tx, [&](sqlite::store& s) {
        tx.savepoint([&] { must_hold(s.jobs.retry(id(), worker(), delay_of(options), text)); });
    });
}

void job::fail(transaction& tx, std::string_view error) const {
    std::string const text = sqlite::mended_utf8(error, max_error_bytes);
    detail::transaction_access::write(tx, [&](sqlite::store& s) {
        tx.savepoint([&] { must_hold(s.jobs.fail(id(), worker(), text)); });
    });
}

}  // namespace gander

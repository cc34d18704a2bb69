// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/queue.hpp"

#include "asio/claim_call.hpp"
#include "asio/queue_state.hpp"
#include "asio/read_call.hpp"
#include "asio/write_call.hpp"
#include "sqlite/job_times.hpp"
#include "sqlite/transaction_state.hpp"
#include "sqlite/utf8.hpp"

#include <array>
#include <random>

namespace gander {

namespace detail {

namespace {

void end_claim(database_state& db, std::string const& queue, std::uint64_t id, error_code why) {
    if (auto op = db.file().writer().remove_claim(queue, id, why))
        op.release()->complete({why, nullptr});
}

error_code check_wait(std::optional<duration> wait) {
    if (wait && (wait->saturated() || wait->milliseconds() < 0)) return errc::out_of_range;
    return {};
}

/// What is wrong with the options, or no error.
template <class Options>
error_code code_of_check(Options const& options) {
    try {
        sqlite::check(options);
        return {};
    } catch (system_error const& e) {
        return e.code();
    }
}

error_code check_claim(queue_state const& state, std::string const& worker,
                       claim_options const& options) {
    if (!sqlite::valid_name(worker)) return errc::invalid_name;
    if (options.max == 0) return errc::out_of_range;
    duration const lease = options.lease.value_or(state.options.lease);
    if (lease.saturated() || lease.milliseconds() < 1) return errc::out_of_range;
    return check_wait(options.wait);
}

template <class... Result>
void start_claim_call(std::shared_ptr<queue_state> const& state, std::string const& token,
                      std::size_t max, std::int64_t lease, std::optional<duration> wait,
                      error_code why,
                      asio::any_completion_handler<void(error_code, Result...)> handler) {
    if (!why) why = state->db->refusal(true);
    if (why) return complete_at_once(std::move(handler), state->executor(), why, Result()...);
    auto& file = state->db->file();
    std::uint64_t const id = file.next_id();
    connect_cancellation(handler, std::weak_ptr(state->db),
                         [id, queue = state->name](database_state& db) {
                             end_claim(db, queue, id, asio::error::operation_aborted);
                         });
    using call = claim_call<Result...>;
    auto* const op = call::memory::make(std::move(handler), state, token, max, lease);
    engine::write_op_ptr owned(op);
    op->id = id;
    op->no_wait = wait && wait->milliseconds() == 0;
    state->waits(id);
    op->wait = wait;
    file.writer().submit(std::move(owned));
}

}  // namespace

std::string claim_token(std::string const& worker, bool keep_name) {
    if (keep_name) return worker;
    thread_local std::mt19937_64 random{std::random_device{}()};
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";
    std::string token = worker + '~';
    std::uint64_t bits = random();
    for (int i = 0; i < 12; ++i, bits >>= 5U) token += digits[bits & 31U];
    return token;
}

void queue_state::cancel_all() {
    std::set<std::uint64_t> ids;
    {
        std::lock_guard const lock(mutex_);
        ids = waiting_;
    }
    for (std::uint64_t id : ids) end_claim(*db, name, id, asio::error::operation_aborted);
}

void start_enqueue(std::shared_ptr<queue_state> const& state, payload body, enqueue_options options,
                   id_handler handler) {
    error_code const why = state ? code_of_check(options) : make_error_code(errc::closed);
    if (why) return complete_at_once(std::move(handler), executor_of(state), why, std::int64_t{0});
    std::size_t const bytes = body.str().size();
    submit_write(state->db, std::move(handler), bytes, false,
                 [state, body = std::move(body), options](sqlite::store& s, engine::effects& done) {
                     done.jobs = true;
                     return s.jobs.enqueue(
                         state->name, body.str(),
                         sqlite::make_job(state->options, options, s.db.now_ms()));
                 });
}

void start_enqueue_many(std::shared_ptr<queue_state> const& state, std::vector<payload> bodies,
                        enqueue_options options, ids_handler handler) {
    error_code const why = state ? code_of_check(options) : make_error_code(errc::closed);
    if (why)
        return complete_at_once(std::move(handler), executor_of(state), why,
                                std::vector<std::int64_t>());
    auto [texts, bytes] = texts_of(std::move(bodies));
    submit_write(
        state->db, std::move(handler), bytes, true,
        [state, texts = std::move(texts), options](sqlite::store& s, engine::effects& done) {
            done.jobs = true;
            std::vector<std::int64_t> ids(texts.size());
            std::int64_t id = s.jobs.enqueue_many(
                state->name, texts, sqlite::make_job(state->options, options, s.db.now_ms()));
            for (auto& i : ids) i = id++;
            return ids;
        });
}

void start_claim(std::shared_ptr<queue_state> const& state, std::string worker,
                 claim_options options, claim_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), job());
    error_code const why = check_claim(*state, worker, options);
    start_claim_call(state, claim_token(worker, state->options.keep_worker_name), 1,
                     options.lease.value_or(state->options.lease).seconds(), options.wait, why,
                     std::move(handler));
}

void start_claim_many(std::shared_ptr<queue_state> const& state, std::string worker,
                      claim_options options, claims_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), std::vector<job>());
    error_code const why = check_claim(*state, worker, options);
    start_claim_call(state, claim_token(worker, state->options.keep_worker_name), options.max,
                     options.lease.value_or(state->options.lease).seconds(), options.wait, why,
                     std::move(handler));
}

void start_wait(std::shared_ptr<queue_state> const& state, wait_options options,
                job_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed));
    start_claim_call(state, {}, 1, 1, options.wait, check_wait(options.wait), std::move(handler));
}

void start_cancel(std::shared_ptr<queue_state> const& state, std::int64_t id,
                  found_handler handler) {
    submit_write(state ? state->db : nullptr, std::move(handler), 0, false,
                 [id](sqlite::store& s, engine::effects&) { return s.jobs.cancel(id); });
}

void start_sizes(std::shared_ptr<queue_state> const& state, sizes_handler handler) {
    submit_read(state ? state->db : nullptr, std::move(handler), [state](sqlite::store& s) {
        sqlite::job_counts const n = s.jobs.count(state->name);
        return queue_sizes{n.ready, n.delayed, n.processing, n.dead};
    });
}

}  // namespace detail

queue::queue(database& db, std::string name, queue_options options) {
    if (!sqlite::valid_name(name)) throw system_error(errc::invalid_name, "queue");
    sqlite::check(options);
    state_ = std::make_shared<detail::queue_state>(detail::state_of(db), std::move(name), options);
}

queue::executor_type queue::get_executor() const { return detail::executor_of(state_); }

std::string const& queue::name() const {
    if (!state_) throw system_error(errc::closed, "empty queue");
    return state_->name;
}

std::int64_t queue::enqueue(transaction& tx, payload const& body, enqueue_options options) const {
    if (!state_) throw system_error(errc::closed, "empty queue");
    sqlite::check(options);
    return detail::transaction_access::write(tx, [&](sqlite::store& s) {
        return s.jobs.enqueue(state_->name, body.str(),
                              sqlite::make_job(state_->options, options, s.db.now_ms()));
    });
}

job queue::held(std::int64_t id, std::string_view token) const {
    if (!state_) throw system_error(errc::closed, "empty queue");
    auto row = std::make_shared<detail::job_row>();
    row->id = id;
    row->queue = state_->name;
    row->worker = token;
    return {state_->db, std::move(row)};
}

void queue::cancel() {
    if (state_) state_->cancel_all();
}

}  // namespace gander

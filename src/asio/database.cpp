// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/database.hpp"

#include "asio/listener_state.hpp"
#include "asio/read_call.hpp"
#include "asio/transact_op.hpp"
#include "asio/write_call.hpp"
#include "sqlite/utf8.hpp"

namespace gander {

namespace detail {

namespace {

std::exception_ptr exception_of(error_code ec) { return std::make_exception_ptr(system_error(ec)); }

sqlite::job_filter filter_of(job_state state) noexcept {
    switch (state) {
        case job_state::ready:
            return sqlite::job_filter::ready;
        case job_state::delayed:
            return sqlite::job_filter::delayed;
        case job_state::processing:
            return sqlite::job_filter::processing;
        case job_state::dead:
            return sqlite::job_filter::dead;
        case job_state::any:
            break;
    }
    return sqlite::job_filter::any;
}

job_info info_of(job_row row, std::int64_t now) {
    job_info info;
    info.state = row.state == "dead"         ? job_state::dead
                 : row.state == "processing" ? job_state::processing
                 : row.run_at > now          ? job_state::delayed
                                             : job_state::ready;
    info.id = row.id;
    info.queue = std::move(row.queue);
    info.payload = std::move(row.payload);
    info.priority = row.priority;
    info.run_at = row.run_at;
    info.worker = std::move(row.worker);
    info.lease_expires_at = row.claim_expires_at;
    info.attempts = row.attempts;
    info.max_attempts = row.max_attempts;
    info.created_at = row.created_at;
    info.expires_at = row.expires_at;
    info.last_error = std::move(row.last_error);
    return info;
}

}  // namespace

namespace {

/// An opening under way; the context waits for it.
class opening final : public context_hook {
public:
    opening(asio::any_io_executor const& ex, open_handler handler)
        : ex_(ex), done_(std::in_place, std::move(handler), ex), registry_(hook_service::of(ex)) {}
    ~opening() override { registry_->remove(*this); }

    void connect() {
        watch::prepare(ex_);
        registry_->add(*this);
    }

    void run(std::string const& path, open_options const& options) {
        engine::lifetime::scope const inside(lifetime_);
        if (!inside) return;
        std::exception_ptr why;
        database db;
        try {
            db = database(database_state::make(ex_, engine::file::open(path, options)));
        } catch (...) {
            why = std::current_exception();
        }
        std::move(*done_).post(std::move(why), std::move(db));
        done_.reset();
    }

    void on_shutdown() noexcept override {
        lifetime_.close();
        done_.reset();
        ex_ = asio::system_executor();
    }

private:
    asio::any_io_executor ex_;
    std::optional<completion<void(std::exception_ptr, database)>> done_;
    engine::lifetime lifetime_;
    std::shared_ptr<hook_service::registry> const registry_;
};

}  // namespace

void start_open(asio::any_io_executor const& ex, std::string path, open_options options,
                open_handler handler) {
    auto const op = std::make_shared<opening>(ex, std::move(handler));
    op->connect();
    engine::threads::instance().sqlite.post(
        [op, path = std::move(path), options] { op->run(path, options); });
}

void start_notify(std::shared_ptr<database_state> const& db, std::string channel, payload body,
                  id_handler handler) {
    if (!sqlite::valid_name(channel))
        return complete_at_once(std::move(handler), executor_of(db),
                                make_error_code(errc::invalid_name), std::int64_t{0});
    std::size_t const bytes = body.str().size();
    submit_write(db, std::move(handler), bytes, false,
                 [channel = std::move(channel), body = std::move(body)](sqlite::store& s,
                                                                        engine::effects& done) {
                     done.notifications = true;
                     return s.notifications.add(channel, body.str());
                 });
}

void start_publish(std::shared_ptr<database_state> const& db, std::string topic, payload body,
                   std::optional<std::string> key, offset_handler handler) {
    if (!sqlite::valid_name(topic) || (key && !sqlite::valid_utf8(*key)))
        return complete_at_once(std::move(handler), executor_of(db),
                                make_error_code(errc::invalid_name), std::int64_t{0});
    std::size_t const bytes = body.str().size();
    submit_write(db, std::move(handler), bytes, false,
                 [topic = std::move(topic), body = std::move(body), key = std::move(key)](
                     sqlite::store& s, engine::effects& done) {
                     done.events = true;
                     return s.events.publish(
                         topic, key ? std::optional<std::string_view>(*key) : std::nullopt,
                         body.str());
                 });
}

void start_publish_many(std::shared_ptr<database_state> const& db, std::string topic,
                        std::vector<payload> bodies, offsets_handler handler) {
    if (!sqlite::valid_name(topic))
        return complete_at_once(std::move(handler), executor_of(db),
                                make_error_code(errc::invalid_name), std::vector<std::int64_t>());
    auto [texts, bytes] = texts_of(std::move(bodies));
    submit_write(db, std::move(handler), bytes, true,
                 [topic = std::move(topic), texts = std::move(texts)](sqlite::store& s,
                                                                      engine::effects& done) {
                     done.events = true;
                     std::int64_t offset = s.events.publish_many(topic, texts);
                     std::vector<std::int64_t> offsets(texts.size());
                     for (auto& o : offsets) o = offset++;
                     return offsets;
                 });
}

void start_transact(std::shared_ptr<database_state> const& db, std::unique_ptr<transact_call> call,
                    asio::cancellation_slot slot) {
    error_code const why = db ? db->refusal(true) : make_error_code(errc::closed);
    if (why) return call->complete(exception_of(why));
    std::uint64_t const id = db->file().next_id();
    connect_cancellation(slot, std::weak_ptr(db),
                         [id](database_state& self) { cancel_write(self, id); });
    engine::write_op_ptr op(new transact_op(db, std::move(call)));
    op->id = id;
    db->file().writer().submit(std::move(op));
}

void start_queues(std::shared_ptr<database_state> const& db, queues_handler handler) {
    submit_read(db, std::move(handler), [](sqlite::store& s) {
        std::vector<queue_info> all;
        for (std::string& name : s.jobs.queues()) {
            sqlite::job_counts const n = s.jobs.count(name);
            all.push_back({std::move(name), {n.ready, n.delayed, n.processing, n.dead}});
        }
        return all;
    });
}

void start_jobs(std::shared_ptr<database_state> const& db, std::string queue, job_state state,
                std::size_t limit, jobs_handler handler) {
    submit_read(db, std::move(handler), [queue = std::move(queue), state, limit](sqlite::store& s) {
        std::vector<job_info> all;
        for (job_row& row : s.jobs.list(queue, filter_of(state), limit))
            all.push_back(info_of(std::move(row), s.db.now()));
        return all;
    });
}

}  // namespace detail

database::database(std::shared_ptr<detail::database_state> state) noexcept
    : state_(std::move(state)) {}

database::database(asio::any_io_executor ex, std::string path, open_options options)
    : state_(detail::database_state::make(ex, engine::file::open(path, options))) {}

database::executor_type database::get_executor() const { return detail::executor_of(state_); }

std::string const& database::path() const { return detail::state_of(*this)->file().path(); }

namespace {

listener listen_now(database const& db, std::string_view channel, bool exact,
                    listen_options options) {
    auto const& state = detail::state_of(db);
    if (error_code const why = state->refusal(false)) throw system_error(why, state->file().path());
    auto pattern = detail::listen_pattern(channel, exact);
    std::int64_t const from =
        state->file().read_here([&](sqlite::store& s) { return detail::listen_from(s, options); });
    return listener(detail::listener_state::make(state, std::move(pattern), from));
}

}  // namespace

listener database::listen(std::string_view channel, listen_options options) {
    return listen_now(*this, channel, false, options);
}

listener database::listen_exact(std::string_view channel, listen_options options) {
    return listen_now(*this, channel, true, options);
}

job database::held(std::int64_t id, std::string_view token) const {
    auto row = std::make_shared<detail::job_row>();
    row->id = id;
    row->worker = token;
    return {detail::state_of(*this), std::move(row)};
}

database_stats database::stats() const { return state_ ? state_->stats() : database_stats(); }

}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/listener_state.hpp"
#include "asio/read_call.hpp"
#include "gander/channel.hpp"
#include "sqlite/transaction_state.hpp"
#include "sqlite/utf8.hpp"

namespace gander {

namespace detail {

std::shared_ptr<listener_state> listener_state::make(std::shared_ptr<database_state> db,
                                                     sqlite::channel_pattern pattern,
                                                     std::int64_t from) {
    auto state = std::make_shared<listener_state>(std::move(db), std::move(pattern), from);
    state->connect();
    return state;
}

listener_state::listener_state(std::shared_ptr<database_state> db, sqlite::channel_pattern pattern,
                               std::int64_t from)
    : row_waiter(db, db->file().notifications(), std::move(pattern), from), position_(from) {}

std::optional<notification> listener_state::try_receive() {
    std::lock_guard const lock(mutex());
    return has_row() ? std::optional(take(1)) : std::nullopt;
}

std::int64_t listener_state::position() {
    std::lock_guard const lock(mutex());
    return position_;
}

notification listener_state::take(std::size_t) {
    notification n(take_row());
    position_ = n.id();
    return n;
}

std::int64_t listen_from(sqlite::store& store, listen_options const& options) {
    std::int64_t const newest = store.notifications.newest();
    if (!options.since) return newest;
    if (*options.since < 0) throw system_error(errc::out_of_range, "since");
    if (*options.since > newest) throw system_error(errc::offset_out_of_range, "since");
    return *options.since;
}

sqlite::channel_pattern listen_pattern(std::string_view channel, bool exact) {
    if (!sqlite::valid_name(channel)) throw system_error(errc::invalid_name, "channel");
    if (!exact && channel.ends_with('*'))
        return {std::string(channel.substr(0, channel.size() - 1)), true};
    return {std::string(channel), false};
}

void start_receive(std::shared_ptr<listener_state> const& state, wait_options options,
                   receive_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), notification());
    state->start_take(1, options.wait, std::move(handler));
}

void start_wait(std::shared_ptr<listener_state> const& state, wait_options options,
                wait_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed));
    state->start_watch(options.wait, std::move(handler));
}

void start_listen(std::shared_ptr<database_state> const& db, std::string channel, bool exact,
                  listen_options options, listen_handler handler) {
    auto const refuse = [&](std::exception_ptr why) {
        complete_at_once(std::move(handler), executor_of(db), std::move(why), listener());
    };
    if (!db) return refuse(std::make_exception_ptr(system_error(errc::closed)));
    if (error_code const why = db->refusal(false))
        return refuse(std::make_exception_ptr(system_error(why, db->file().path())));
    sqlite::channel_pattern pattern;
    try {
        pattern = listen_pattern(channel, exact);
    } catch (...) {
        return refuse(std::current_exception());
    }
    auto const done = std::make_shared<completion<void(std::exception_ptr, listener)>>(
        std::move(handler), db->executor());
    db->file().read_in_background(
        {[done, db, pattern, options](sqlite::store& store) {
             std::int64_t const from = listen_from(store, options);
             std::move(*done).post(nullptr, listener(listener_state::make(db, pattern, from)));
         },
         [done, db](engine::failure const& why) {
             std::move(*done).post(why.as_exception(), listener());
         },
         sqlite::steady_ms() + db->file().options().busy_deadline.milliseconds()});
}

}  // namespace detail

listener::listener(std::shared_ptr<detail::listener_state> state) noexcept
    : state_(std::move(state)) {}

listener& listener::operator=(listener&& other) noexcept {
    if (this != &other) {
        cancel();
        state_ = std::move(other.state_);
    }
    return *this;
}

listener::~listener() { cancel(); }

listener::executor_type listener::get_executor() const { return detail::executor_of(state_); }

std::optional<notification> listener::try_receive() {
    return state_ ? state_->try_receive() : std::nullopt;
}

std::int64_t listener::position() const { return state_ ? state_->position() : 0; }

void listener::cancel() {
    if (state_) state_->cancel_all();
}

void notify(transaction& tx, std::string_view channel, payload const& body) {
    if (!sqlite::valid_name(channel)) throw system_error(errc::invalid_name, "channel");
    detail::transaction_access::write(
        tx, [&](sqlite::store& s) { s.notifications.add(channel, body.str()); });
}

}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/consumer_state.hpp"
#include "asio/read_call.hpp"
#include "asio/write_call.hpp"
#include "gander/stream.hpp"
#include "sqlite/transaction_state.hpp"
#include "sqlite/utf8.hpp"

#include <algorithm>

namespace gander {

namespace detail {

std::shared_ptr<consumer_state> consumer_state::make(std::shared_ptr<database_state> db,
                                                     std::string topic, std::string name,
                                                     consumer_options options) {
    auto state =
        std::make_shared<consumer_state>(std::move(db), std::move(topic), std::move(name), options);
    state->connect();
    // What handles share: when the last of them goes, those who wait are told.
    auto* const raw = state.get();
    return {raw, [state = std::move(state)](consumer_state*) { state->cancel_all(); }};
}

consumer_state::consumer_state(std::shared_ptr<database_state> db, std::string topic,
                               std::string name, consumer_options options)
    : row_waiter(db, db->file().events(), sqlite::channel_pattern{std::move(topic), false}, 0),
      name_(std::move(name)),
      options_(options) {}

void consumer_state::move_to(std::int64_t offset) {
    {
        std::lock_guard const lock(mutex());
        tail().reposition(*this, offset);
        locating_ = locating::done;
        position_ = offset;
        first_ = false;
    }
    serve();
}

batch consumer_state::take(std::size_t max) {
    std::vector<event> events;
    while (events.size() < max && has_row()) events.emplace_back(take_row());
    batch result(std::move(events), position_, std::exchange(first_, false));
    position_ = result.ends_at();
    return result;
}

bool consumer_state::ready() {
    if (locating_ == locating::not_begun) {
        locating_ = locating::under_way;
        auto const keep = std::static_pointer_cast<consumer_state>(shared_from_this());
        db().file().read_in_background(
            {[keep](sqlite::store& store) { keep->locate(store); },
             [keep](engine::failure const& why) { keep->not_located(why.code); }});
    }
    return locating_ == locating::done;
}

void consumer_state::locate(sqlite::store& store) {
    std::int64_t const newest = store.events.newest();
    if (!name_.empty())
        if (auto const saved = store.events.saved_offset(name_, topic()))
            return *saved > newest ? not_located(errc::offset_out_of_range) : located(*saved, true);
    gander::start const from = options_.start;
    switch (from.what()) {
        case gander::start::kind::earliest:
            return located(0, false);
        case gander::start::kind::latest:
            return located(newest, false);
        case gander::start::kind::at:
            return located(store.events.offset_before(topic(), from.value()), false);
        case gander::start::kind::after:
            if (from.value() > newest) return not_located(errc::offset_out_of_range);
            return located(std::max<std::int64_t>(from.value(), 0), false);
    }
}

void consumer_state::located(std::int64_t offset, bool saved) {
    {
        std::lock_guard const lock(mutex());
        if (locating_ != locating::under_way) return;  // a seek was quicker
        tail().reposition(*this, offset);
        locating_ = locating::done;
        position_ = offset;
        first_ = !saved;
    }
    serve();
}

void consumer_state::not_located(error_code why) {
    {
        std::lock_guard const lock(mutex());
        if (locating_ != locating::under_way) return;
        locating_ = locating::not_begun;
    }
    cancel_all(why);
}

void start_read(std::shared_ptr<consumer_state> const& state, read_options options,
                read_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), batch());
    state->start_take(options.max, options.wait, std::move(handler));
}

void start_wait(std::shared_ptr<consumer_state> const& state, wait_options options,
                commit_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed));
    state->start_watch(options.wait, std::move(handler));
}

namespace {

void advance(consumer_state const& of, sqlite::store& store, batch const& read) {
    if (!store.events.advance(of.name(), of.topic(), read.began_at(), read.ends_at(), read.first()))
        throw system_error(errc::offset_moved, of.name());
}

}  // namespace

void start_commit(std::shared_ptr<consumer_state> const& state, batch const& read,
                  commit_handler handler) {
    if (!state || state->name().empty())
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(state ? errc::invalid_name : errc::closed));
    submit_write(state->database(), std::move(handler), 0, false,
                 [state, read](sqlite::store& s, engine::effects&) { advance(*state, s, read); });
}

namespace {

/// Moves the saved offset, and the handle when that has committed.
struct seek_to {
    std::shared_ptr<consumer_state> state;
    std::int64_t offset;

    void check(sqlite::store& s) const {
        if (offset < 0 || offset > s.events.newest())
            throw system_error(errc::offset_out_of_range, std::to_string(offset));
    }
    void operator()(sqlite::store& s, engine::effects&) const {
        check(s);
        s.events.seek(state->name(), state->topic(), offset);
    }
    void committed() const { state->move_to(offset); }
};

}  // namespace

void start_seek(std::shared_ptr<consumer_state> const& state, std::int64_t offset,
                commit_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed));
    seek_to const seek{state, offset};
    if (!state->name().empty())
        return submit_write(state->database(), std::move(handler), 0, false, seek);
    submit_read(state->database(), std::move(handler), [seek](sqlite::store& s) {
        seek.check(s);
        seek.committed();
    });
}

void start_offset(std::shared_ptr<consumer_state> const& state, offset_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), std::int64_t{0});
    submit_read(state->database(), std::move(handler), [state](sqlite::store& s) {
        return s.events.saved_offset(state->name(), state->topic()).value_or(0);
    });
}

}  // namespace detail

batch batch::prefix(std::size_t n) const {
    auto const count = static_cast<std::ptrdiff_t>(std::min(n, events_.size()));
    return {std::vector<event>(events_.begin(), events_.begin() + count), began_at_, first_};
}

consumer::consumer(database& db, std::string topic, std::string name, consumer_options options) {
    if (!sqlite::valid_name(topic)) throw system_error(errc::invalid_name, "topic");
    if (!sqlite::valid_name(name)) throw system_error(errc::invalid_name, "consumer");
    state_ = detail::consumer_state::make(detail::state_of(db), std::move(topic), std::move(name),
                                          options);
}

consumer::consumer(database& db, std::string topic, consumer_options options) {
    if (!sqlite::valid_name(topic)) throw system_error(errc::invalid_name, "topic");
    state_ = detail::consumer_state::make(detail::state_of(db), std::move(topic), {}, options);
}

consumer::executor_type consumer::get_executor() const { return detail::executor_of(state_); }

std::string const& consumer::topic() const {
    if (!state_) throw system_error(errc::closed, "empty consumer");
    return state_->topic();
}

void consumer::commit(transaction& tx, batch const& read) {
    if (!state_) throw system_error(errc::closed, "empty consumer");
    if (state_->name().empty()) throw system_error(errc::invalid_name, "a reader saves nothing");
    detail::transaction_access::write(tx,
                                      [&](sqlite::store& s) { detail::advance(*state_, s, read); });
}

void consumer::cancel() {
    if (state_) state_->cancel_all();
}

void publish(transaction& tx, std::string_view topic, payload const& body,
             std::optional<std::string_view> key) {
    if (!sqlite::valid_name(topic)) throw system_error(errc::invalid_name, "topic");
    if (key && !sqlite::valid_utf8(*key)) throw system_error(errc::invalid_name, "key");
    detail::transaction_access::write(
        tx, [&](sqlite::store& s) { s.events.publish(topic, key, body.str()); });
}

}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The state machine of every operation that waits for rows: a listener's receive, a consumer's
/// read, and the readiness wait beside each.
#pragma once

#include "asio/context_hook.hpp"
#include "asio/database_state.hpp"
#include "asio/wait_op.hpp"
#include "engine/subscription.hpp"
#include "engine/tail.hpp"

#include <boost/asio/error.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gander::detail {

/// Takers get rows, watchers are told that there are some. Everything here is guarded by the file's
/// mutex; handlers are completed, and looks requested, after it is released.
template <class Row, class Result>
class row_waiter : public engine::subscription<Row>, public context_hook {
public:
    using take_op = wait_op<void(error_code, Result)>;
    using watch_op = wait_op<void(error_code)>;
    using tail_type = engine::tail<Row>;
    using need = typename tail_type::need;

    row_waiter(std::shared_ptr<database_state> db, tail_type& of, sqlite::channel_pattern pattern,
               std::int64_t from)
        : engine::subscription<Row>(std::move(pattern), from),
          db_(std::move(db)),
          tail_(of),
          registry_(hook_service::of(db_->executor())) {}

    ~row_waiter() override {
        registry_->remove(*this);
        std::lock_guard const lock(mutex());
        tail_.remove(*this);
    }

    /// Makes it known to the context and the tail. Call once, when it is owned.
    void connect() {
        this->owned_by(weak());
        registry_->add(*this);
    }

    asio::any_io_executor const& executor() const noexcept { return db_->executor(); }

    void start_take(std::size_t max, std::optional<duration> wait,
                    typename take_op::handler_type handler) {
        auto op = make<take_op>(std::move(handler));
        op->max = max;
        start(std::move(op), wait, takers_, max == 0 ? errc::out_of_range : errc());
    }

    void start_watch(std::optional<duration> wait, typename watch_op::handler_type handler) {
        start(make<watch_op>(std::move(handler)), wait, watchers_, errc());
    }

    void serve() override {
        finished done;
        need what;
        {
            std::lock_guard const lock(mutex());
            hand_out(done);
            what = wait_on();
        }
        act(what);
        done.complete();
    }

    void cancel_all(error_code why = asio::error::operation_aborted) {
        finished done;
        {
            std::lock_guard const lock(mutex());
            fail_everybody(why, done);
            tail_.stop_waiting(*this);
        }
        done.complete();
    }

    void finish(std::uint64_t id, error_code why) {
        finished done;
        {
            std::lock_guard const lock(mutex());
            auto const is = [id](auto const& op) { return op.id == id; };
            if (auto op = takers_.extract(is)) done.take(std::move(op), why, Result());
            if (auto op = watchers_.extract(is)) done.tell(std::move(op), why);
            if (nobody_waits()) tail_.stop_waiting(*this);
        }
        done.complete();
    }

    void on_shutdown() noexcept override {
        // Handlers may own the last reference to anything: they die unlocked.
        wait_list<void(error_code, Result)> doomed_takers;
        wait_list<void(error_code)> doomed_watchers;
        std::lock_guard const lock(mutex());
        doomed_takers.append(std::move(takers_));
        doomed_watchers.append(std::move(watchers_));
        tail_.stop_waiting(*this);
    }

protected:
    /// Operations that are over, to be completed without the lock.
    class finished {
    public:
        void take(typename take_op::ptr op, error_code ec, Result result) {
            takes_.emplace_back(std::move(op), ec, std::move(result));
        }
        void tell(typename watch_op::ptr op, error_code ec) {
            tells_.emplace_back(std::move(op), ec);
        }

        void complete() {
            for (auto& [op, ec, result] : takes_)
                take_op::complete(std::move(op), ec, std::move(result));
            for (auto& [op, ec] : tells_) watch_op::complete(std::move(op), ec);
        }

    private:
        std::vector<std::tuple<typename take_op::ptr, error_code, Result>> takes_;
        std::vector<std::pair<typename watch_op::ptr, error_code>> tells_;
    };

    /// Takes up to `max` rows, of which there is at least one. Mutex held.
    virtual Result take(std::size_t max) = 0;

    /// Whether its position is known. If not, it has begun to find out, and will `serve` then.
    /// Mutex held; `wait` once more afterwards.
    virtual bool ready() { return true; }

    std::mutex& mutex() noexcept { return db_->file().mutex(); }
    database_state& db() noexcept { return *db_; }
    std::shared_ptr<database_state> const& db_ptr() const noexcept { return db_; }
    tail_type& tail() noexcept { return tail_; }
    bool nobody_waits() const noexcept { return takers_.empty() && watchers_.empty(); }

    void fail_everybody(error_code why, finished& done) {
        while (auto op = takers_.pop_front()) done.take(std::move(op), why, Result());
        while (auto op = watchers_.pop_front()) done.tell(std::move(op), why);
    }

private:
    template <class Op>
    typename Op::ptr make(typename Op::handler_type handler) {
        std::uint64_t const id = db_->file().next_id();
        connect_cancellation(handler, weak(), [id](row_waiter& self) {
            self.finish(id, asio::error::operation_aborted);
        });
        return Op::make(std::move(handler), executor(), id);
    }

    std::weak_ptr<row_waiter> weak() {
        return std::static_pointer_cast<row_waiter>(shared_from_this());
    }

    template <class Ptr, class List>
    void start(Ptr op, std::optional<duration> wait, List& list, errc bad) {
        error_code why = db_->refusal(false);
        if (!why && bad != errc()) why = bad;
        if (!why && wait && (wait->milliseconds() < 0 || wait->saturated()))
            why = errc::out_of_range;
        op->no_wait = wait && wait->milliseconds() == 0;
        finished done;
        need what = need::nothing;
        if (!why) {
            // Armed before the check below: what commits after that check is then an event.
            op->armed = db_->ticks_of().arm();
            std::lock_guard const lock(mutex());
            if (wait && !op->no_wait)
                op->timer = db_->file().after(*wait, [weak = weak(), id = op->id] {
                    if (auto const self = weak.lock()) self->finish(id, errc::timed_out);
                });
            list.push_back(std::move(op));
            hand_out(done);
            what = wait_on();
        }
        if (why) return end(std::move(op), why);
        act(what);
        done.complete();
    }

    static void end(typename take_op::ptr op, error_code why) {
        take_op::complete(std::move(op), why, Result());
    }
    static void end(typename watch_op::ptr op, error_code why) {
        watch_op::complete(std::move(op), why);
    }

    void hand_out(finished& done) {
        if (this->has_error()) hand_out_error(done);
        while (!takers_.empty() && this->has_row()) {
            auto op = takers_.pop_front();
            Result result = take(op->max);
            done.take(std::move(op), {}, std::move(result));
        }
        if (this->has_row() || this->has_error())
            while (auto op = watchers_.pop_front()) done.tell(std::move(op), {});
        if (!this->take_nothing_there()) return;
        auto const no_wait = [](auto const& op) { return op.no_wait; };
        while (auto op = takers_.extract(no_wait))
            done.take(std::move(op), errc::timed_out, Result());
        while (auto op = watchers_.extract(no_wait)) done.tell(std::move(op), errc::timed_out);
    }

    void hand_out_error(finished& done) {
        // A gap is one receive's news; anything else concerns everybody.
        bool const gap = this->peek_error() == errc::lagged;
        if (gap && takers_.empty()) return;
        error_code const why = this->take_error();
        if (gap)
            done.take(takers_.pop_front(), why, Result());
        else
            fail_everybody(why, done);
    }

    /// What has to be done for those that still wait. Mutex held.
    need wait_on() {
        if (nobody_waits()) {
            tail_.stop_waiting(*this);
            return need::nothing;
        }
        if (!ready()) return need::nothing;
        auto const no_wait = [](auto const& op) { return op.no_wait; };
        bool const once = takers_.any(no_wait) || watchers_.any(no_wait);
        return once ? tail_.wait_once(*this) : tail_.wait(*this);
    }

    void act(need what) {
        if (what == need::shared_read) db_->ticks_of().request_look();
        if (what == need::catch_up) db_->file().catch_up(this->self());
    }

    std::shared_ptr<database_state> const db_;
    tail_type& tail_;
    std::shared_ptr<hook_service::registry> const registry_;
    wait_list<void(error_code, Result)> takers_;
    wait_list<void(error_code)> watchers_;
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/notifier.hpp"

#include "asio/context_hook.hpp"
#include "asio/database_state.hpp"
#include "asio/wait_op.hpp"
#include "asio/watch.hpp"
#include "engine/fork.hpp"
#include "engine/lifetime.hpp"
#include "sqlite/commit_watch.hpp"
#include "sqlite/store.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace gander {

namespace detail {

// Beyond ten years the sum with the clock's now would soon overflow.
constexpr std::int64_t longest_wait_ms = 315'360'000'000;

// How long the opening waits for somebody's lock.
constexpr std::int64_t open_patience_ms = 5000;

/// A watch without a store: one private connection, and those who wait for a tick.
class notifier_state final : public context_hook, public watched {
public:
    using op_type = wait_op<void(error_code, std::int64_t)>;
    using list_type = wait_list<void(error_code, std::int64_t)>;

    static std::shared_ptr<notifier_state> make(asio::any_io_executor const& ex,
                                                std::string const& path, notifier_options options) {
        auto state = std::make_shared<notifier_state>(ex, path, options);
        state->watch_->attach(std::weak_ptr(state));
        state->registry_->add(*state);
        return state;
    }

    notifier_state(asio::any_io_executor const& ex, std::string const& path,
                   notifier_options options)
        : ex_(ex),
          db_(open(path)),
          commits_(*db_),
          seen_(commits_.data_version()),
          registry_(hook_service::of(ex)),
          watch_(std::make_shared<watch>(ex, db_->path(), options.wake, options.poll_interval)) {}

    ~notifier_state() override {
        registry_->remove(*this);
        // In a child of fork() closing would drop the parent's locks.
        if (forked()) (void)db_.release();
    }

    asio::any_io_executor const& executor() const noexcept { return ex_; }

    void start(wait_options options, op_type::handler_type handler) {
        std::uint64_t const id = ++last_id_;
        connect_cancellation(handler, weak(), [id](notifier_state& self) {
            self.finish(id, asio::error::operation_aborted);
        });
        auto op = op_type::make(std::move(handler), ex_, id);
        auto const& wait = options.wait;
        op->no_wait = wait && wait->milliseconds() == 0;
        error_code why;
        if (wait && (wait->milliseconds() < 0 || wait->saturated())) why = errc::out_of_range;
        if (forked()) why = errc::used_after_fork;
        if (!why) op->armed = watch_->arm();
        std::int64_t version = 0;
        {
            std::lock_guard const lock(mutex_);
            if (!why) why = failed_;
            if (!why && !ticked_) {
                if (wait && !op->no_wait) start_timer(*op, *wait);
                waiting_.push_back(std::move(op));
            } else if (!why) {
                ticked_ = false;
                version = seen_;
            }
        }
        if (op) return op_type::complete(std::move(op), why, version);
        watch_->request_look();
    }

    void finish(std::uint64_t id, error_code why) {
        op_type::ptr op;
        {
            std::lock_guard const lock(mutex_);
            op = waiting_.extract([id](auto const& o) { return o.id == id; });
        }
        if (op) op_type::complete(std::move(op), why, 0);
    }

    void cancel_all() { end_all(asio::error::operation_aborted); }

    void on_shutdown() noexcept override {
        lifetime_.close();
        list_type doomed;
        std::lock_guard const lock(mutex_);
        failed_ = errc::closed;
        doomed.append(std::move(waiting_));
        ex_ = asio::system_executor();
    }

    sight look() override {
        bool in_flight = false;
        list_type ended;
        error_code why;
        std::int64_t version = 0;
        try {
            std::lock_guard const lock(mutex_);
            auto const found = commits_.check();
            in_flight = found == sqlite::commit_watch::finding::busy || commits_.commit_in_flight();
            if (found == sqlite::commit_watch::finding::changed) see_commit();
            version = seen_;
            if (ticked_ && !waiting_.empty()) {
                ticked_ = false;
                ended.append(std::move(waiting_));
            } else {
                take_no_wait(ended);
                why = errc::timed_out;
            }
        } catch (system_error const& e) {
            end_all(e.code());
            return sight::settled;
        }
        while (auto op = ended.pop_front()) op_type::complete(std::move(op), why, version);
        return in_flight ? sight::in_flight : sight::settled;
    }

    void check_identity() override {
        {
            std::lock_guard const lock(mutex_);
            if (failed_ || !db_->replaced(false)) return;
            failed_ = errc::file_replaced;
        }
        end_all(errc::file_replaced);
    }

    std::uint64_t ticks() const override { return ticks_; }
    void count_event() override {}
    void count_missed() override {}

private:
    static std::unique_ptr<sqlite::connection> open(std::string const& path) {
        sqlite::connection::settings how;
        how.path = path;
        // To write, since a reader cannot recover a WAL; SQLite falls back where it may not.
        how.mode = open_mode::existing;
        how.lock_deadline_ms = sqlite::steady_ms() + open_patience_ms;
        try {
            auto db = std::make_unique<sqlite::connection>(how);
            db->query_text("PRAGMA schema_version");
            db->wait_for_locks(std::nullopt);
            return db;
        } catch (system_error const& e) {
            throw system_error(sqlite::is_busy(e.code()) ? make_error_code(errc::busy) : e.code(),
                               path);
        }
    }

    bool forked() const noexcept { return engine::fork_generation() != generation_; }

    std::weak_ptr<notifier_state> weak() {
        return std::static_pointer_cast<notifier_state>(shared_from_this());
    }

    void start_timer(op_type& op, duration wait) {
        auto& pool = engine::threads::instance().sqlite;
        op.timer = pool.post_after(
            std::chrono::milliseconds(std::min(wait.milliseconds(), longest_wait_ms)),
            [weak = weak(), id = op.id] {
                auto const self = weak.lock();
                if (!self) return;
                engine::lifetime::scope const inside(self->lifetime_);
                if (inside) self->finish(id, errc::timed_out);
            });
    }

    void see_commit() {
        ++ticks_;
        ticked_ = true;
        seen_ = commits_.data_version();
    }

    void take_no_wait(list_type& into) {
        auto const no_wait = [](auto const& op) { return op.no_wait; };
        while (auto op = waiting_.extract(no_wait)) into.push_back(std::move(op));
    }

    void end_all(error_code why) {
        list_type ended;
        {
            std::lock_guard const lock(mutex_);
            ended.append(std::move(waiting_));
        }
        while (auto op = ended.pop_front()) op_type::complete(std::move(op), why, 0);
    }

    asio::any_io_executor ex_;
    std::uint64_t const generation_ = engine::fork_generation();
    engine::lifetime lifetime_;
    std::mutex mutex_;
    std::unique_ptr<sqlite::connection> db_;  // mutex_
    sqlite::commit_watch commits_;            // mutex_
    std::int64_t seen_;                       // mutex_: the data_version of the last tick
    bool ticked_ = false;                     // mutex_: a tick that nobody waited for
    error_code failed_;                       // mutex_
    list_type waiting_;                       // mutex_
    std::atomic<std::uint64_t> ticks_{0};
    std::atomic<std::uint64_t> last_id_{0};
    std::shared_ptr<hook_service::registry> const registry_;
    std::shared_ptr<watch> const watch_;
};

void start_tick(std::shared_ptr<notifier_state> const& state, wait_options options,
                tick_handler handler) {
    if (!state)
        return complete_at_once(std::move(handler), executor_of(state),
                                make_error_code(errc::closed), std::int64_t{0});
    state->start(options, std::move(handler));
}

}  // namespace detail

notifier::notifier(asio::any_io_executor ex, std::string path, notifier_options options) {
    if (path.empty() || path == ":memory:" || path.starts_with("file:"))
        throw system_error(errc::not_a_file, '"' + path + '"');
    if (options.poll_interval.milliseconds() < 1 || options.poll_interval.saturated())
        throw system_error(errc::out_of_range, "poll_interval");
    state_ = detail::notifier_state::make(ex, path, options);
}

notifier& notifier::operator=(notifier&& other) noexcept {
    if (this != &other) {
        cancel();
        state_ = std::move(other.state_);
    }
    return *this;
}

notifier::~notifier() { cancel(); }

notifier::executor_type notifier::get_executor() const { return detail::executor_of(state_); }

void notifier::cancel() {
    if (state_) state_->cancel_all();
}

}  // namespace gander

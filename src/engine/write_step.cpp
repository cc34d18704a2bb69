// SPDX-License-Identifier: Apache-2.0 OR MIT
// One step of the writer, in the order in which it goes: open, look for claims, take the turn, BEGIN,
// run, COMMIT, complete; and what happens instead where that does not work out.
#include "engine/writer.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace gander::engine {

namespace {

using std::chrono::microseconds;

constexpr std::int64_t turn_patience_ms = 20;
// After a turn was waited for in vain (its holder may be a stopped process), do without for a while
// rather than lose 20 ms on every write.
constexpr std::int64_t turn_distrust_ms = 1000;
constexpr microseconds first_retry{100};
constexpr microseconds last_retry{2000};

// The writer whose user callable runs on this thread: an operation that is started from there would
// wait for itself.
thread_local writer const* inside_transaction_of = nullptr;

std::int64_t steady_us() noexcept {
    return std::chrono::duration_cast<microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

bool writer::in_transaction_here() const noexcept { return inside_transaction_of == this; }

void writer::step() {
    if (committing_) {
        unfinished_commit c = std::move(*committing_);
        committing_.reset();
        commit(std::move(c.group), c.done, c.began);
        return;
    }
    write_op_list group;
    write_op_list overdue;
    bool wants_look = false;
    {
        std::lock_guard const lock(mutex_);
        state_ = state::running;
        if (lock_met_) overdue = queue_.take_overdue(sqlite::steady_ms());
        group = queue_.take_group();
        bool const alone = !group.empty() && group.front().runs_alone();
        wants_look = look_ && !claims_.empty() && !alone;
        if (wants_look) look_ = false;
    }
    complete_all(std::move(overdue), failed_with(errc::busy));
    looked_ = wants_look;
    if (group.empty() && !wants_look) return end_step(false);
    if (!open_store(group)) return;
    if (wants_look && !look(group)) return;
    if (group.empty()) return end_step(true);
    if (group.front().what() == write_op::kind::user) {
        // It gets its thread first and the lock then: the other way round it would hold the lock
        // while callables on other files have all the threads.
        user_ = std::move(group);
        threads::instance().user.post(host_.guarded([this] { run_user(); }));
    } else if (begin(group)) {
        run_group(std::move(group));
    }
}

bool writer::open_store(write_op_list& group) {
    bool same_file = true;
    try {
        if (store_) {
            same_file = !store_->store.db.replaced(store_->index.attached());
        } else {
            store_ = std::make_unique<writer_store>(settings_, options_.synchronous);
            same_file = host_.check_identity();
        }
    } catch (...) {
        failure const why = current_failure();
        if (sqlite::is_busy(why.code))
            park(std::move(group), true);
        else
            fail(std::move(group), why);
        return false;
    }
    if (same_file) return true;
    // In WAL mode SQLite would not notice: the write would go to a WAL that the new file shares by
    // name, or into the new file.
    host_.check_identity();
    store_.reset();
    fail(std::move(group), failed_with(errc::file_replaced));
    return false;
}

bool writer::look(write_op_list& group) {
    claims::found found;
    failure why;
    try {
        claims_.look(store_->store, found);
    } catch (...) {
        why = current_failure();
    }
    complete_all(std::move(found.ready), {});
    complete_all(std::move(found.none), failed_with(errc::timed_out));
    group.append(std::move(found.group));
    if (!why) return true;
    if (sqlite::is_busy(why.code)) {
        {
            std::lock_guard const lock(mutex_);
            look_ = true;
        }
        park(std::move(group), true);
    } else {
        {
            std::lock_guard const lock(mutex_);
            group.append(claims_.take_all());
        }
        fail(std::move(group), why);
    }
    return false;
}

bool writer::take_turn() {
    if (turn_) return true;
    std::int64_t const now = sqlite::steady_ms();
    if (now < no_turn_until_) return true;
    if (side_.try_take_turn()) {
        turn_ = true;
        turn_wanted_since_ = 0;
        return true;
    }
    if (turn_wanted_since_ == 0) turn_wanted_since_ = now;
    if (now - turn_wanted_since_ < turn_patience_ms) return false;
    turn_wanted_since_ = 0;
    no_turn_until_ = now + turn_distrust_ms;
    return true;
}

void writer::end_turn() {
    if (turn_) side_.end_turn();
    turn_ = false;
}

bool writer::begin(write_op_list& group) {
    if (!take_turn()) {
        park(std::move(group), false);
        return false;
    }
    int const rc = store_->store.db.try_run("BEGIN IMMEDIATE");
    if (rc != SQLITE_OK) {
        if (sqlite::is_busy(rc))
            park(std::move(group), true);
        else
            fail(std::move(group), failed_with(rc));
        return false;
    }
    attempts_ = 0;
    std::lock_guard const lock(mutex_);
    lock_met_ = false;
    return true;
}

bool writer::run_one(write_op& op, effects& done) {
    auto& db = store_->store.db;
    bool const undoable = op.several_statements();
    op.outcome = {};
    try {
        if (undoable) db.prepared("SAVEPOINT operation").run();
        op.run(store_->store, done);
        if (undoable) db.prepared("RELEASE operation").run();
        return true;
    } catch (...) {
        op.outcome = current_failure();
    }
    if (undoable && db.in_transaction()) {
        db.try_execute("ROLLBACK TO operation");
        db.try_execute("RELEASE operation");
    }
    return false;
}

void writer::run_group(write_op_list group) {
    std::int64_t const began = steady_us();
    effects done;
    std::set<std::string_view> empty_queues;
    for (write_op& op : group) {
        std::string_view const queue =
            op.claim ? std::string_view(static_cast<claim_op&>(op).queue) : std::string_view();
        // Ten idle workers and one job: the nine behind the first need not look.
        if (op.claim && empty_queues.contains(queue)) continue;
        run_one(op, done);
        if (op.claim && !op.satisfied()) empty_queues.insert(queue);
        if (sqlite::is_busy(op.outcome.code)) return park(std::move(group), true);
        // Some errors (disk full, I/O) roll back everything at once, also what others did before.
        if (!store_->store.db.in_transaction()) {
            failure const why = op.outcome ? op.outcome : failed_with(SQLITE_ABORT_ROLLBACK);
            return fail(std::move(group), why);
        }
    }
    commit(std::move(group), done, began);
}

void writer::run_user() {
    write_op_list group = std::move(user_);
    if (!begin(group)) return;
    std::int64_t const began = steady_us();
    effects done{true, true, true};  // the user's SQL may have written anything
    inside_transaction_of = this;
    bool const ok = run_one(group.front(), done);
    inside_transaction_of = nullptr;
    if (ok) return commit(std::move(group), done, began);
    failure const why = group.front().outcome;
    if (sqlite::is_busy(why.code)) return park(std::move(group), true);
    fail(std::move(group), why);
}

void writer::commit(write_op_list group, effects const& done, std::int64_t began) {
    int const rc = store_->store.db.try_run("COMMIT");
    if (rc == SQLITE_OK) return committed(std::move(group), done, began);
    // In rollback journal modes readers hold up a COMMIT; the transaction stays open meanwhile.
    std::int64_t const now = sqlite::steady_ms();
    if (sqlite::is_busy(rc) && store_->store.db.in_transaction()) {
        std::int64_t& deadline = group.front().busy_deadline;
        if (deadline == 0) deadline = now + options_.busy_deadline.milliseconds();
        if (now < deadline) {
            committing_.emplace(unfinished_commit{std::move(group), done, began});
            return park({}, true);
        }
        return fail(std::move(group), failed_with(errc::busy));
    }
    commit_failed(std::move(group), rc);
}

void writer::commit_failed(write_op_list group, int rc) {
    report(engine_event::kind::failed, rc, 0);
    int const primary = rc & 0xff;
    if (primary == SQLITE_CONSTRAINT && group.size() > 1) {
        // One of them broke a deferred constraint: alone, only that one fails.
        for (write_op& op : group) op.suspect = true;
        return park(std::move(group), false);
    }
    if (primary != SQLITE_IOERR) return fail(std::move(group), failed_with(rc));
    // A failed sync may have dropped what it should have written, and the next one would not say
    // so: nothing is acknowledged on this connection again.
    fail(std::move(group), failed_with(errc::commit_outcome_unknown));
}

void writer::committed(write_op_list group, effects const& done, std::int64_t began) {
    report(engine_event::kind::commit, static_cast<std::int64_t>(group.size()),
           steady_us() - began);
    end_turn();
    side_.ring();
    stats.commits.fetch_add(1, std::memory_order_relaxed);
    stats.operations.fetch_add(group.size(), std::memory_order_relaxed);

    write_op_list finished;
    write_op_list unserved;
    while (write_op_ptr op = group.pop_front())
        (op->claim && !op->outcome && !op->satisfied() ? unserved : finished)
            .push_back(std::move(op));
    {
        std::lock_guard const lock(mutex_);
        for (write_op& op : finished)
            if (op.claim) claims_.settled(op);
        finished.append(claims_.put_back(std::move(unserved), false));
        if (done.jobs) look_ = true;
    }
    complete_each(std::move(finished));
    host_.committed(done);

    if (auto const& index = store_->index; index.attached()) {
        std::uint32_t const frames = sqlite::wal_index::frames(index.read());
        stats.wal_frames.store(frames, std::memory_order_relaxed);
        host_.wal_backlog(frames - std::min(frames, index.backfilled()));
    }
    end_step(looked_);
}

void writer::end_step(bool looked) {
    end_turn();
    if (looked) schedule_next_look();
    std::lock_guard const lock(mutex_);
    state_ = state::idle;
    if (!queue_.empty() || (look_ && !claims_.empty())) schedule();
}

void writer::park(write_op_list group, bool busy) {
    if (store_ && !committing_ && store_->store.db.in_transaction())
        store_->store.db.try_run("ROLLBACK");
    write_op_list claims_back;
    write_op_list ops_back;
    while (write_op_ptr op = group.pop_front())
        (op->claim ? claims_back : ops_back).push_back(std::move(op));
    write_op_list ended;
    microseconds delay = first_retry;
    int const attempts = attempts_;  // from the timer on, the next step may be running
    {
        std::lock_guard const lock(mutex_);
        if (!claims_back.empty()) look_ = true;
        ended = claims_.put_back(std::move(claims_back), true);
        queue_.put_back(std::move(ops_back));
        if (busy) {
            std::int64_t const deadline =
                sqlite::steady_ms() + options_.busy_deadline.milliseconds();
            queue_.start_deadlines(deadline, !lock_met_);
            lock_met_ = true;
            delay = std::min(last_retry, first_retry * (1 << std::min(attempts / 4, 8)));
            ++attempts_;
            stats.busy_retries.fetch_add(1, std::memory_order_relaxed);
        }
        // Without jitter processes that met once would meet at every retry.
        delay = delay / 2 + delay * static_cast<int>(jitter_() % 256) / 256;
        state_ = state::parked;
        if (failed_) {
            write_op_list rest = queue_.take_all();
            rest.append(claims_.take_all());
            for (write_op& op : rest) op.outcome = {failed_, nullptr};
            ended.append(std::move(rest));
        }
        threads::instance().sqlite.post_after(delay, host_.guarded([this] { step(); }));
    }
    if (busy) report(engine_event::kind::busy, attempts + 1, 0);
    complete_each(std::move(ended));
}

void writer::fail(write_op_list group, failure const& why) {
    if (store_ && store_->store.db.in_transaction()) store_->store.db.try_run("ROLLBACK");
    if ((why.code.category() == sqlite_category() && (why.code.value() & 0xff) == SQLITE_IOERR) ||
        why.code == errc::commit_outcome_unknown)
        store_.reset();
    {
        std::lock_guard const lock(mutex_);
        for (write_op& op : group)
            if (op.claim) claims_.settled(op);
    }
    complete_all(std::move(group), why);
    end_step(looked_);
}

void writer::schedule_next_look() {
    std::optional<std::int64_t> wait;
    try {
        if (store_) wait = claims_.next_look_in(store_->store, longest_sleep_ms);
    } catch (...) {
        wait = 100;  // busy, in a rollback journal mode: look again soon
    }
    auto& pool = threads::instance().sqlite;
    std::lock_guard const lock(mutex_);
    pool.cancel(std::exchange(look_timer_, 0));
    if (wait)
        look_timer_ = pool.post_after(std::chrono::milliseconds(*wait),
                                      host_.guarded([this] { look_for_jobs(); }));
}

}  // namespace gander::engine

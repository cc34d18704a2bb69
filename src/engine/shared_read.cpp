// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a commit becomes rows: the look at the file, the one read for all who wait at the end of a
// table, and the reads of those who have fallen behind.
#include "engine/file.hpp"

#include <algorithm>
#include <chrono>

namespace gander::engine {

namespace {

// What may be read on the thread where a tick arrives, and a page of a bulk read.
constexpr sqlite::read_limit small_page{64, 64 * 1024};
constexpr sqlite::read_limit bulk_page{1000, 1024 * 1024};

page<detail::notification_row> read_shared(sqlite::store& store, std::int64_t after,
                                           sqlite::read_limit limit,
                                           detail::notification_row const*) {
    page<detail::notification_row> p;
    p.after = after;
    p.more = store.notifications.read(after, limit, *p.rows);
    p.end = p.rows->empty() ? after : p.rows->back().id;
    // Ids have no gaps but where rows were pruned (or somebody chose an id of his own: then older
    // rows are still there).
    std::int64_t const first = p.rows->empty() ? INT64_MAX : p.rows->front().id;
    if (first > after + 1) {
        std::int64_t const oldest = store.notifications.oldest();
        p.pruned = std::min(oldest, first) - 1;
        p.end = std::max(p.end, p.pruned);
    }
    return p;
}

page<detail::event_row> read_shared(sqlite::store& store, std::int64_t after,
                                    sqlite::read_limit limit, detail::event_row const*) {
    page<detail::event_row> p;
    p.after = after;
    p.more = store.events.read(after, limit, *p.rows);
    p.end = p.rows->empty() ? after : p.rows->back().offset;
    return p;
}

page<detail::notification_row> read_own(sqlite::store& store,
                                        sqlite::channel_pattern const& pattern, std::int64_t after,
                                        detail::notification_row const*) {
    page<detail::notification_row> p;
    p.after = after;
    std::int64_t const newest = store.notifications.newest();
    // Asking for everything from the beginning, one has not missed what is no longer there.
    p.pruned = after == 0 ? 0 : store.notifications.oldest() - 1;
    p.more = store.notifications.read(pattern, after, newest, bulk_page, *p.rows);
    p.end = p.more ? p.rows->back().id : std::max(after, newest);
    return p;
}

page<detail::event_row> read_own(sqlite::store& store, sqlite::channel_pattern const& pattern,
                                 std::int64_t after, detail::event_row const*) {
    page<detail::event_row> p;
    p.after = after;
    std::int64_t const newest = store.events.newest();
    p.more = store.events.read(pattern.name, after, newest, bulk_page, *p.rows);
    p.end = p.more ? p.rows->back().offset : std::max(after, newest);
    return p;
}

}  // namespace

file::sight file::look() {
    if (!wal_) {
        look_on_pool();
        return sight::settled;
    }
    bool changed = false;
    std::uint32_t backlog = 0;
    {
        std::lock_guard const lock(watch_mutex_);
        changed = watch_.check() == sqlite::commit_watch::finding::changed;
        backlog = watch_.wal_backlog();
    }
    if (changed) {
        somebody_committed(true);
        wal_backlog(backlog);
    } else {
        // Somebody who began to wait found that commits had gone unread.
        shared_read(notifications_, true);
        shared_read(events_, true);
    }
    // Asks the -wal itself, so it comes after what somebody waits for.
    std::lock_guard const lock(watch_mutex_);
    return watch_.commit_in_flight() ? sight::in_flight : sight::settled;
}

void file::look_on_pool() {
    if (looking_.exchange(true)) return;
    threads::instance().sqlite.post(guarded([this] {
        looking_ = false;  // before the look: what commits after it asks for another
        auto found = sqlite::commit_watch::finding::unchanged;
        try {
            std::lock_guard const lock(watch_mutex_);
            found = watch_.check();
            wal_ = watch_.wal();
        } catch (...) {
            return fail(current_failure().code);
        }
        if (found == sqlite::commit_watch::finding::busy) {
            // A writer holds the lock a little longer than its commit takes; a stopped one, for ever.
            int const n = busy_looks_++;
            auto const delay = std::chrono::microseconds(n < 20    ? 100
                                                         : n < 60  ? 1'000
                                                         : n < 100 ? 5'000
                                                                   : 100'000);
            threads::instance().sqlite.post_after(delay, guarded([this] { look_on_pool(); }));
            return;
        }
        busy_looks_ = 0;
        // A short read is made on this thread, with the connection whose cache the look has warmed.
        if (found == sqlite::commit_watch::finding::changed) somebody_committed(true);
        shared_read(notifications_, true);
        shared_read(events_, true);
    }));
}

void file::somebody_committed(bool here) {
    stats.ticks.fetch_add(1, std::memory_order_relaxed);
    {
        std::lock_guard const lock(mutex_);
        notifications_.mark_stale();
        events_.mark_stale();
    }
    writer_.look_for_jobs();
    shared_read(notifications_, here);
    shared_read(events_, here);
}

template <class Row>
void file::shared_read(tail<Row>& of, bool here) {
    {
        std::lock_guard const lock(mutex_);
        if (!of.needs_read()) return;
    }
    if (here) {
        shared_read_on(of, *watch_store_, small_page, true);
        return;
    }
    bulk_.post({[this, &of](sqlite::store& store) { shared_read_on(of, store, bulk_page, false); },
                [](failure const&) {}});
}

template <class Row>
void file::shared_read_on(tail<Row>& of, sqlite::store& store, sqlite::read_limit limit,
                          bool here) {
    for (bool more = true; more;) {
        std::int64_t after = 0;
        {
            std::lock_guard const lock(mutex_);
            if (!of.begin_shared_read()) return;
            after = of.cursor();
        }
        std::vector<std::shared_ptr<subscription<Row>>> ready;
        try {
            std::unique_lock watching(watch_mutex_, std::defer_lock);
            if (here) watching.lock();
            page<Row> const p = read_shared(store, after, limit, static_cast<Row const*>(nullptr));
            if (here) watching.unlock();
            stats.shared_reads.fetch_add(1, std::memory_order_relaxed);
            std::lock_guard const lock(mutex_);
            more = of.end_shared_read(p, ready);
        } catch (...) {
            error_code const why = current_failure().code;
            std::unique_lock lock(mutex_);
            if (sqlite::is_busy(why)) {
                of.end_shared_read({.after = after, .end = after, .more = true}, ready);
                of.mark_stale();
                lock.unlock();
                if (!here) throw;  // the bulk reader tries again
                return shared_read(of, false);
            }
            of.fail_shared_read(why, ready);
            more = false;
        }
        serve(ready);
        if (more && here) return shared_read(of, false);
    }
}

template <class Row>
void file::start_catch_up(tail<Row>& of, std::shared_ptr<subscription<Row>> s) {
    auto const fail_it = [this, &of, s](failure const& why) {
        std::vector<std::shared_ptr<subscription<Row>>> ready;
        {
            std::lock_guard const lock(mutex_);
            of.fail_catch_up(*s, why.code, ready);
        }
        serve(ready);
    };
    auto const read = [this, &of, s, fail_it](sqlite::store& store) {
        for (bool again = true; again;) {
            if (error_code const why = state()) return fail_it({why, nullptr});
            std::int64_t after = 0;
            {
                std::lock_guard const lock(mutex_);
                after = of.examined(*s);
            }
            page<Row> const p =
                read_own(store, s->pattern(), after, static_cast<Row const*>(nullptr));
            stats.catch_up_reads.fetch_add(1, std::memory_order_relaxed);
            std::vector<std::shared_ptr<subscription<Row>>> ready;
            {
                std::lock_guard const lock(mutex_);
                again = of.end_catch_up(*s, p, ready);
            }
            serve(ready);
        }
        shared_read(of, false);  // it may have joined behind the last shared read
    };
    bulk_.post({read, fail_it});
}

void file::catch_up(std::shared_ptr<notification_subscription> s) {
    start_catch_up(notifications_, std::move(s));
}

void file::catch_up(std::shared_ptr<event_subscription> s) {
    start_catch_up(events_, std::move(s));
}

}  // namespace gander::engine

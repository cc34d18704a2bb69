// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace gander::engine {

namespace {

// What may be read on the thread where a tick arrives, and a page of a bulk read.
constexpr sqlite::read_limit small_page{64, 64 * 1024};
constexpr sqlite::read_limit bulk_page{1000, 1024 * 1024};

bool exists(std::string const& path) {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0;
}

template <class Row>
void serve(std::vector<std::shared_ptr<subscription<Row>>> const& ready) {
    for (auto const& s : ready) s->serve();
}

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

/// The last, short pass of a checkpoint, under the write lock that the writer holds for it.
class file::finish_checkpoint final : public write_op {
public:
    explicit finish_checkpoint(file& of) : of_(of) {}

    kind what() const noexcept override { return kind::solitary; }
    void run(sqlite::store&, effects&) override { of_.checkpointer_->finish(); }
    void complete(failure const&) override { end(); }
    void abandon() noexcept override { end(); }

private:
    void end() noexcept {
        of_.checkpointing_ = false;
        delete this;
    }

    file& of_;
};

file::file(std::unique_ptr<sqlite::store> watch_store, sqlite::connection::settings const& settings,
           open_options const& options)
    : settings_(settings),
      options_(options),
      mark_(settings.path),
      side_(settings.path, settings.mode != open_mode::read_only),
      watch_store_(std::move(watch_store)),
      watch_(watch_store_->db),
      wal_(watch_.wal()),
      bulk_(settings_, [this](std::function<void()> work) { return guarded(std::move(work)); }),
      writer_(*this, mutex_, side_, settings_, options_) {
    notifications_.report_pruned(errc::lagged);
}

file::~file() {
    shut_down();
    if (fork_generation() != generation_) {
        // In a child: closing would drop the parent's locks. What cannot be closed is left.
        (void)watch_store_.release();
        (void)bulk_.release_store().release();
        (void)checkpointer_.release();
        (void)writer_.release_store().release();
        return;
    }
    struct connections {
        std::unique_ptr<sqlite::store> watch;
        std::unique_ptr<sqlite::store> bulk;
        std::unique_ptr<sqlite::checkpointer> checkpointer;
        std::unique_ptr<writer_store> writer;
    };
    auto all = std::make_shared<connections>();
    all->watch = std::move(watch_store_);
    all->bulk = bulk_.release_store();
    all->checkpointer = std::move(checkpointer_);
    all->writer = writer_.release_store();
    // The last connection of all to close checkpoints, which is work for a thread of ours; and the
    // writer's should be it.
    threads::instance().sqlite.post([all] {
        all->watch.reset();
        all->bulk.reset();
        all->checkpointer.reset();
        all->writer.reset();
    });
}

error_code file::state() const {
    if (fork_generation() != generation_) return errc::used_after_fork;
    std::lock_guard const lock(mutex_);
    return failed_;
}

thread_pool::task file::guarded(std::function<void()> work) {
    return [weak = weak_from_this(), work = std::move(work)] {
        auto const self = weak.lock();
        if (!self) return;
        lifetime::scope const inside(self->lifetime_);
        if (inside) work();
    };
}

thread_pool::timer file::after(duration delay, std::function<void()> work) {
    // Beyond ten years the sum with the clock's now would soon overflow.
    constexpr std::int64_t longest_ms = 315'360'000'000;
    return threads::instance().sqlite.post_after(
        std::chrono::milliseconds(std::min(delay.milliseconds(), longest_ms)),
        guarded(std::move(work)));
}

void file::committed(effects const& done) {
    if ((done.notifications || done.events) && local_commit_) local_commit_();
}

void file::wal_backlog(std::uint32_t frames) {
    if (options_.checkpoint_frames == 0 || frames < options_.checkpoint_frames || read_only())
        return;
    if (checkpointing_.exchange(true)) return;
    threads::instance().sqlite.post(guarded([this] {
        bool passed = false;
        auto const began = std::chrono::steady_clock::now();
        try {
            auto how = settings_;
            how.mode = open_mode::existing;
            how.mmap = 0;
            if (!checkpointer_) checkpointer_ = std::make_unique<sqlite::checkpointer>(how);
            passed = checkpointer_->background_pass(side_);
        } catch (system_error const&) {
            passed = false;  // a busy or failing pass costs nothing but a longer WAL: the next
                             // commit tries again
        }
        if (!passed) {
            checkpointing_ = false;
            return;
        }
        stats.checkpoints.fetch_add(1, std::memory_order_relaxed);
        if (options_.on_event != nullptr) {
            auto const micros = std::chrono::duration_cast<std::chrono::microseconds>(
                std::chrono::steady_clock::now() - began);
            engine_event const event{engine_event::kind::checkpoint,
                                     static_cast<std::int64_t>(writer_.stats.wal_frames.load()),
                                     micros.count()};
            options_.on_event(options_.on_event_context, event);
        }
        write_op_ptr last(new finish_checkpoint(*this));
        last->id = next_id();
        writer_.submit(std::move(last));
    }));
}

void file::fail(error_code why) {
    std::vector<std::shared_ptr<notification_subscription>> listeners;
    std::vector<std::shared_ptr<event_subscription>> consumers;
    {
        std::lock_guard const lock(mutex_);
        if (failed_) return;
        failed_ = why;
        notifications_.fail_shared_read(why, listeners);
        events_.fail_shared_read(why, consumers);
    }
    writer_.fail_all(why);
    serve(listeners);
    serve(consumers);
}

void file::check_identity() {
    bool const gone = read_here([&](sqlite::store& s) { return s.db.moved(); }) ||
                      (wal_ && !read_only() &&
                       (!exists(settings_.path + "-wal") || !exists(settings_.path + "-shm")));
    if (gone) fail(errc::file_replaced);
}

file::sight file::look() {
    if (!wal_) {
        look_on_pool();
        return sight::settled;
    }
    bool changed = false;
    bool in_flight = false;
    std::uint32_t backlog = 0;
    {
        std::lock_guard const lock(watch_mutex_);
        changed = watch_.check() == sqlite::commit_watch::finding::changed;
        in_flight = watch_.commit_in_flight();
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
    return in_flight ? sight::in_flight : sight::settled;
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
            std::int64_t const delay = std::min<std::int64_t>(busy_delay_ms_ * 2, 100);
            busy_delay_ms_ = delay;
            threads::instance().sqlite.post_after(std::chrono::milliseconds(delay),
                                                  guarded([this] { look_on_pool(); }));
            return;
        }
        busy_delay_ms_ = 1;
        if (found == sqlite::commit_watch::finding::changed) somebody_committed(false);
        shared_read(notifications_, false);
        shared_read(events_, false);
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

void file::shut_down() noexcept {
    if (fork_generation() != generation_) return;
    lifetime_.close();
    write_op_list const unfinished = writer_.take_all();
    bulk_.drop_tasks();  // they hold handlers, too
}

}  // namespace gander::engine

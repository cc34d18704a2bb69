// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/file.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gander::engine {

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
      bulk_(settings_, *this),
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
    all->writer = writer_.release_store();
    all->bulk = bulk_.release_store();
    all->checkpointer = std::move(checkpointer_);
    all->watch = std::move(watch_store_);
    // What nobody else has open is left tidy; but not if it is somebody else's by now.
    bool const tidy = !read_only();
    bool const wal = wal_;
    threads::instance().sqlite.post([all, tidy, wal] {
        all->writer.reset();
        all->bulk.reset();
        all->checkpointer.reset();
        auto& last = all->watch->db;
        last.checkpoint_on_close(tidy && !last.replaced(wal));
        all->watch.reset();
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
            passed = check_identity() && checkpointer_->background_pass(side_);
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

bool file::check_identity() {
    bool const wal = wal_ && !read_only();
    bool const gone = read_here([&](sqlite::store& s) { return s.db.replaced(wal); });
    if (gone) fail(errc::file_replaced);
    return !gone;
}

void file::shut_down() noexcept {
    if (fork_generation() != generation_) return;
    lifetime_.close();
    write_op_list const unfinished = writer_.take_all();
    bulk_.drop_tasks();  // they hold handlers, too
}

}  // namespace gander::engine

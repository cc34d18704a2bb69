// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One open file's life: its connections, its writer, its shared reads, its checkpoints.
#pragma once

#include "engine/bulk_reader.hpp"
#include "engine/fork.hpp"
#include "engine/lifetime.hpp"
#include "engine/tail.hpp"
#include "engine/threads.hpp"
#include "engine/writer.hpp"
#include "gander/options.hpp"
#include "sqlite/checkpointer.hpp"
#include "sqlite/commit_watch.hpp"
#include "sqlite/side_file.hpp"
#include "sqlite/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace gander::engine {

/// Counters; see database_stats.
struct file_stats {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<std::uint64_t> file_events{0};
    std::atomic<std::uint64_t> missed_events{0};
    std::atomic<std::uint64_t> shared_reads{0};
    std::atomic<std::uint64_t> catch_up_reads{0};
    std::atomic<std::uint64_t> checkpoints{0};
};

/// Thread-safe. When the last shared pointer goes, its connections are closed on a thread of the
/// library.
class file final : private host, public std::enable_shared_from_this<file> {
public:
    using notification_subscription = subscription<detail::notification_row>;
    using event_subscription = subscription<detail::event_row>;

    /// Opens, and creates what is missing. Blocks.
    /// \throws system_error that names the file.
    static std::shared_ptr<file> open(std::string const& path, open_options const& options);

    /// For `open`: takes over a connection on which everything is in place.
    file(std::unique_ptr<sqlite::store> watch_store, sqlite::connection::settings const& settings,
         open_options const& options);
    ~file() override;

    std::string const& path() const noexcept { return settings_.path; }
    bool read_only() const noexcept { return settings_.mode == open_mode::read_only; }
    open_options const& options() const noexcept { return options_; }
    std::uint64_t next_id() noexcept { return ++last_id_; }

    /// What is called after a commit of ours, on a thread of the library, with no lock held. Set it
    /// once, before anything is written.
    void on_local_commit(std::function<void()> f) { local_commit_ = std::move(f); }

    /// Why nothing can work any more, or no error: replaced, or used after fork().
    error_code state() const;

    engine::writer& writer() noexcept { return writer_; }

    /// Guards the tails, their subscriptions, and whatever their users keep beside them.
    std::mutex& mutex() noexcept { return mutex_; }
    tail<detail::notification_row>& notifications() noexcept { return notifications_; }
    tail<detail::event_row>& events() noexcept { return events_; }

    /// How a look at the file ended.
    enum class sight {
        settled,    ///< Nothing more is to be expected on account of what led here.
        in_flight,  ///< A commit is about to show: look again in microseconds.
    };

    /// Has anybody committed? If so, reads what is new for those who wait. In WAL mode a small read
    /// is done here, on the caller's thread; what is more, or may touch the disk, goes to the pool.
    sight look();

    /// Whether the file still has its name, and in WAL mode what stands beside it. If not, everything
    /// fails from now on.
    bool check_identity() override;

    /// Lets a subscription whose wait needs it read for itself, on the pool.
    void catch_up(std::shared_ptr<notification_subscription> s);
    void catch_up(std::shared_ptr<event_subscription> s);

    /// Runs a read on the pool.
    void read_in_background(bulk_reader::task t) { bulk_.post(std::move(t)); }

    /// A short read on the caller's thread.
    /// \throws system_error.
    template <class F>
    auto read_here(F f) {
        std::lock_guard const lock(watch_mutex_);
        return f(*watch_store_);
    }

    /// Runs `work` on the pool after a time, if the file is still in use then.
    thread_pool::timer after(duration delay, std::function<void()> work) override;

    /// Waits for running tasks and lets none begin; destroys unfinished operations without running
    /// their handlers.
    void shut_down() noexcept;

    file_stats stats;

private:
    class finish_checkpoint;

    thread_pool::task guarded(std::function<void()> work) override;
    void committed(effects const& done) override;
    void wal_backlog(std::uint32_t frames) override;

    void fail(error_code why);
    void look_on_pool();
    void somebody_committed(bool here);

    template <class Row>
    void shared_read(tail<Row>& of, bool here);
    template <class Row>
    void shared_read_on(tail<Row>& of, sqlite::store& store, sqlite::read_limit limit, bool here);
    template <class Row>
    void start_catch_up(tail<Row>& of, std::shared_ptr<subscription<Row>> s);

    sqlite::connection::settings const settings_;
    open_options const options_;
    std::uint64_t const generation_ = fork_generation();
    open_file_mark const mark_;
    std::atomic<std::uint64_t> last_id_{0};
    std::function<void()> local_commit_;
    lifetime lifetime_;
    sqlite::side_file side_;

    mutable std::mutex mutex_;
    error_code failed_;  // mutex_
    tail<detail::notification_row> notifications_;
    tail<detail::event_row> events_;

    std::mutex watch_mutex_;
    std::unique_ptr<sqlite::store> watch_store_;  // watch_mutex_
    sqlite::commit_watch watch_;                  // watch_mutex_
    std::atomic<bool> wal_;
    std::atomic<bool> looking_{false};  // a look is queued on the pool
    std::atomic<int> busy_looks_{0};    // in a row

    bulk_reader bulk_;
    std::atomic<bool> checkpointing_{false};
    std::unique_ptr<sqlite::checkpointer> checkpointer_;  // of the running checkpoint
    engine::writer writer_;
};

}  // namespace gander::engine

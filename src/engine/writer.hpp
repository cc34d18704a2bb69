// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A file's writer: takes what waits, and makes one transaction of it.
#pragma once

#include "engine/claims.hpp"
#include "engine/host.hpp"
#include "engine/threads.hpp"
#include "engine/write_queue.hpp"
#include "gander/options.hpp"
#include "sqlite/authorizer.hpp"
#include "sqlite/side_file.hpp"
#include "sqlite/store.hpp"
#include "sqlite/wal_index.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

namespace gander::engine {

/// The writer's own connection, opened on the first write.
struct writer_store {
    writer_store(sqlite::connection::settings const& how, synchronous durability);

    sqlite::store store;
    sqlite::authorizer guard{store.db};
    sqlite::wal_index index;
};

/// Counters of a writer; see database_stats.
struct writer_stats {
    std::atomic<std::uint64_t> commits{0};
    std::atomic<std::uint64_t> operations{0};
    std::atomic<std::uint64_t> busy_retries{0};
    std::atomic<std::uint64_t> wal_frames{0};
};

/// Runs one step at a time, each on a thread of the pool: look for claims, BEGIN IMMEDIATE, run the
/// group, COMMIT, complete it. No step waits: where another process holds the lock, the group goes
/// back to the queue, the file is parked, and a timer tries again, so that a file whose lock is
/// held by a stopped process delays no other file.
class writer {
public:
    /// `mutex` guards the queues here and whatever else the file has; none of the host's functions
    /// is called with it held.
    writer(host& file, std::mutex& mutex, sqlite::side_file& side,
           sqlite::connection::settings const& settings, open_options const& options);
    writer(writer const&) = delete;
    writer& operator=(writer const&) = delete;

    /// Queues an operation, which must have an id. A claim waits until there is something for it.
    void submit(write_op_ptr op);

    /// Looks for claimable jobs: somebody else has committed.
    void look_for_jobs();

    /// Takes out an operation that has not begun; null when it has, or is gone.
    write_op_ptr remove(std::uint64_t id);

    /// The same for a claim; one that is part of a transaction ends with `why` if it gets nothing.
    write_op_ptr remove_claim(std::string const& queue, std::uint64_t id, error_code why);

    /// Everything unfinished. No step may be running or begin any more.
    write_op_list take_all();

    /// Ends everything queued with `why`, and everything that is submitted from now on.
    void fail_all(error_code why);

    std::size_t queued();

    /// Gives up the connection, to be closed elsewhere.
    std::unique_ptr<writer_store> release_store() noexcept { return std::move(store_); }

    /// How long a waiting claim sleeps at most before it looks again: a clock that was set, or a
    /// machine that slept, delays it no longer than this.
    static constexpr std::int64_t longest_sleep_ms = 30'000;

    writer_stats stats;

private:
    enum class state { idle, scheduled, running, parked };

    struct unfinished_commit {
        write_op_list group;
        effects done;
        std::int64_t began = 0;
    };

    void add_claim(write_op_ptr op);  // mutex held
    void schedule();                  // mutex held
    bool in_transaction_here() const noexcept;

    // One step, in the order in which it goes.
    void step();
    bool open_store(write_op_list& group);
    bool look(write_op_list& group);
    bool begin(write_op_list& group);
    bool take_turn();
    void run_group(write_op_list group);
    void run_user();
    bool run_one(write_op& op, effects& done);
    void commit(write_op_list group, effects const& done, std::int64_t began);
    void commit_failed(write_op_list group, int rc);
    void committed(write_op_list group, effects const& done, std::int64_t began);
    void end_step(bool looked);

    void park(write_op_list group, bool busy);
    void fail(write_op_list group, failure const& why);
    void end_turn();
    void schedule_next_look();
    void report(engine_event::kind what, std::int64_t value, std::int64_t micros) const;

    host& host_;
    std::mutex& mutex_;
    sqlite::side_file& side_;
    sqlite::connection::settings settings_;
    open_options const options_;

    // Under the mutex.
    write_queue queue_;
    claims claims_;
    state state_ = state::idle;
    bool look_ = false;
    bool lock_met_ = false;  // another process's lock is being waited out: busy deadlines run
    error_code failed_;
    thread_pool::timer look_timer_ = 0;

    // Of the running step; steps do not overlap.
    std::unique_ptr<writer_store> store_;
    std::optional<unfinished_commit> committing_;  // parked with its transaction open
    write_op_list user_;                           // on its way to the users' pool
    bool turn_ = false;
    bool looked_ = false;
    std::int64_t turn_wanted_since_ = 0;
    std::int64_t no_turn_until_ = 0;
    int attempts_ = 0;
    std::minstd_rand jitter_;
};

}  // namespace gander::engine

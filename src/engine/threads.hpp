// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The library's threads: a small pool for SQLite, one for users' callables, and timed waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gander::engine {

/// A fixed number of threads over one queue of tasks and a set of timers. A thread is started when
/// there is work and none is idle. Thread-safe.
class thread_pool {
public:
    using task = std::function<void()>;
    using clock = std::chrono::steady_clock;

    /// Names a timer; 0 is none.
    using timer = std::uint64_t;

    explicit thread_pool(std::size_t max_threads) noexcept;
    thread_pool(thread_pool const&) = delete;
    thread_pool& operator=(thread_pool const&) = delete;

    /// Runs what is queued, drops the timers, and joins.
    ~thread_pool();

    void post(task work);
    timer post_at(clock::time_point when, task work);
    timer post_after(clock::duration delay, task work) {
        return post_at(clock::now() + delay, std::move(work));
    }

    /// Drops a timer. One that has begun to run goes on.
    void cancel(timer t) noexcept;

private:
    using timer_key = std::pair<clock::time_point, timer>;

    void run();
    void start_thread_if_needed();
    void queue_expired();

    std::size_t const max_threads_;
    std::mutex mutex_;
    std::condition_variable work_;
    std::deque<task> tasks_;
    std::map<timer_key, task> timers_;
    std::map<timer, clock::time_point> times_;
    timer last_timer_ = 0;
    std::size_t idle_ = 0;
    bool timed_ = false;  // one idle thread waits for the earliest timer, the others for tasks
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

/// The pools of the process. They live until it exits, and then finish what is queued: a database
/// that is being closed gets closed.
struct threads {
    thread_pool sqlite{2};  ///< Writes, bulk reads, opening, closing, deadlines.
    thread_pool user{4};    ///< Callables of async_transact.

    static threads& instance();

    /// In the child of a fork(), which has none of the threads: the next call of `instance` makes
    /// new pools, and the old ones are left as they are.
    static void forget_after_fork() noexcept;
};

}  // namespace gander::engine

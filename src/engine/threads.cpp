// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/threads.hpp"

#include "engine/fork.hpp"

#include <atomic>
#include <memory>

namespace gander::engine {

thread_pool::thread_pool(std::size_t max_threads) noexcept : max_threads_(max_threads) {
    (void)fork_generation();  // from now on a fork() is noticed
}

thread_pool::~thread_pool() {
    {
        std::lock_guard const lock(mutex_);
        stopping_ = true;
        timers_.clear();
        times_.clear();
    }
    work_.notify_all();
    for (auto& t : threads_) t.join();
    // What the last tasks have queued, such as the closing of a file that they were the last to use.
    while (!tasks_.empty()) {
        task const last = std::move(tasks_.front());
        tasks_.pop_front();
        last();
    }
}

void thread_pool::post(task work) {
    {
        std::lock_guard const lock(mutex_);
        tasks_.push_back(std::move(work));
        start_thread_if_needed();
    }
    work_.notify_one();
}

thread_pool::timer thread_pool::post_at(clock::time_point when, task work) {
    std::lock_guard const lock(mutex_);
    timer const t = ++last_timer_;
    bool const earliest = timers_.empty() || when < timers_.begin()->first.first;
    timers_.emplace(timer_key(when, t), std::move(work));
    times_.emplace(t, when);
    start_thread_if_needed();
    // Whoever waits for the old earliest timer must look again, and notify_one might wake another.
    if (earliest) work_.notify_all();
    return t;
}

void thread_pool::cancel(timer t) noexcept {
    task dropped;  // may own the last reference to something: destroyed outside the lock
    std::lock_guard const lock(mutex_);
    auto const at = times_.find(t);
    if (at == times_.end()) return;
    auto const pending = timers_.find(timer_key(at->second, t));
    dropped = std::move(pending->second);
    timers_.erase(pending);
    times_.erase(at);
}

void thread_pool::start_thread_if_needed() {
    if (stopping_) return;  // threads_ is being joined
    if (idle_ >= tasks_.size() + (timers_.empty() || timed_ ? 0 : 1)) return;
    if (threads_.size() < max_threads_) threads_.emplace_back([this] { run(); });
}

void thread_pool::queue_expired() {
    auto const now = clock::now();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
        times_.erase(timers_.begin()->first.second);
        tasks_.push_back(std::move(timers_.begin()->second));
        timers_.erase(timers_.begin());
    }
}

void thread_pool::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        queue_expired();
        if (!tasks_.empty()) {
            task work = std::move(tasks_.front());
            tasks_.pop_front();
            // This thread may be the one that should have waited for a timer, or there is more to
            // do: pass that on.
            bool const more = !tasks_.empty() || (!timers_.empty() && !timed_);
            lock.unlock();
            if (more) work_.notify_one();
            work();
            work = nullptr;
            lock.lock();
            continue;
        }
        if (stopping_) return;
        ++idle_;
        if (!timers_.empty() && !timed_) {
            timed_ = true;
            auto const when = timers_.begin()->first.first;
            work_.wait_until(lock, when);
            timed_ = false;
        } else {
            work_.wait(lock);
        }
        --idle_;
    }
}

namespace {

std::atomic<threads*> current{nullptr};

struct at_exit {
    at_exit() = default;
    at_exit(at_exit const&) = delete;
    at_exit& operator=(at_exit const&) = delete;
    ~at_exit() { delete current.exchange(nullptr); }
};

}  // namespace

threads& threads::instance() {
    static at_exit const reaper;
    threads* pools = current.load(std::memory_order_acquire);
    if (pools != nullptr) return *pools;
    auto made = std::make_unique<threads>();
    if (current.compare_exchange_strong(pools, made.get())) return *made.release();
    return *pools;
}

void threads::forget_after_fork() noexcept { current.store(nullptr); }

}  // namespace gander::engine

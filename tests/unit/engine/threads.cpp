// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/threads.hpp"

#include "support/time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace gander::engine {
namespace {

using namespace std::chrono_literals;
using test::patience;

/// Something to wait for with a deadline.
class signal {
public:
    void set() { promise_.set_value(); }
    bool wait() { return future_.wait_for(patience) == std::future_status::ready; }

private:
    std::promise<void> promise_;
    std::future<void> future_ = promise_.get_future();
};

TEST(ThreadPool, RunsWhatIsPostedInOrderOnOneThread) {
    std::vector<int> order;
    signal done;
    thread_pool pool(1);
    for (int i = 0; i < 100; ++i) pool.post([&, i] { order.push_back(i); });
    pool.post([&] { done.set(); });
    ASSERT_TRUE(done.wait());
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(ThreadPool, UsesUpToItsNumberOfThreadsAtOnce) {
    signal first;
    signal second;
    thread_pool pool(2);
    std::promise<void> meet;
    auto const met = meet.get_future().share();
    pool.post([&] {
        EXPECT_EQ(met.wait_for(patience), std::future_status::ready);
        first.set();
    });
    pool.post([&] {
        meet.set_value();
        second.set();
    });
    EXPECT_TRUE(second.wait());
    EXPECT_TRUE(first.wait());
}

TEST(ThreadPool, NeverUsesMoreThanItsNumberOfThreads) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    {
        thread_pool pool(3);
        for (int i = 0; i < 300; ++i)
            pool.post([&] {
                std::lock_guard const lock(mutex);
                ids.insert(std::this_thread::get_id());
            });
    }
    EXPECT_LE(ids.size(), 3U);
    EXPECT_GE(ids.size(), 1U);
}

TEST(ThreadPool, DestructionRunsWhatIsQueuedAndDropsTimers) {
    std::atomic<int> ran{0};
    std::atomic<bool> timer_ran{false};
    auto const owned = std::make_shared<int>(1);
    {
        thread_pool pool(1);
        pool.post_after(1h, [&timer_ran, owned] { timer_ran = true; });
        for (int i = 0; i < 50; ++i) pool.post([&] { ++ran; });
    }
    EXPECT_EQ(ran, 50);
    EXPECT_FALSE(timer_ran);
    EXPECT_EQ(owned.use_count(), 1) << "the timer's task was not destroyed";
}

TEST(ThreadPool, ATimerRunsAtItsTimeNotBefore) {
    thread_pool pool(2);
    signal done;
    auto const asked = thread_pool::clock::now();
    thread_pool::clock::time_point ran;
    pool.post_after(30ms, [&] {
        ran = thread_pool::clock::now();
        done.set();
    });
    ASSERT_TRUE(done.wait());
    EXPECT_GE(ran - asked, 30ms);
}

TEST(ThreadPool, TimersRunInTheOrderOfTheirTimes) {
    signal done;
    std::vector<int> order;
    thread_pool pool(1);
    auto const base = thread_pool::clock::now() + 20ms;
    pool.post_at(base + 30ms, [&] {
        order.push_back(3);
        done.set();
    });
    pool.post_at(base, [&] { order.push_back(1); });
    pool.post_at(base + 10ms, [&] { order.push_back(2); });
    ASSERT_TRUE(done.wait());
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(ThreadPool, AnEarlierTimerIsNotDelayedByALaterOne) {
    signal done;
    thread_pool pool(1);
    pool.post_after(1h, [] { FAIL() << "an hour has not passed"; });
    pool.post_after(1ms, [&] { done.set(); });
    EXPECT_TRUE(done.wait());
}

TEST(ThreadPool, ATimerRunsWhileOtherTasksKeepAThreadBusy) {
    signal timer;
    std::promise<void> release;
    auto const released = release.get_future().share();
    thread_pool pool(2);
    pool.post([released] { released.wait(); });
    pool.post_after(1ms, [&] { timer.set(); });
    EXPECT_TRUE(timer.wait());
    release.set_value();
}

TEST(ThreadPool, ACancelledTimerNeverRunsAndItsTaskIsDestroyedAtOnce) {
    signal later;
    std::atomic<bool> ran{false};
    auto const owned = std::make_shared<int>(1);
    thread_pool pool(1);
    auto const t = pool.post_after(5ms, [&ran, owned] { ran = true; });
    EXPECT_EQ(owned.use_count(), 2);
    pool.cancel(t);
    EXPECT_EQ(owned.use_count(), 1);
    pool.post_after(20ms, [&] { later.set(); });
    ASSERT_TRUE(later.wait());
    EXPECT_FALSE(ran);
    pool.cancel(t);
    pool.cancel(0);
}

TEST(ThreadPool, ATaskThatIsDestroyedByCancelMayCallThePool) {
    struct poster {
        thread_pool* pool;
        std::atomic<int>* count;
        ~poster() {
            if (pool != nullptr) pool->post([c = count] { ++*c; });
        }
    };
    std::atomic<int> ran{0};
    {
        thread_pool pool(1);
        auto const owned = std::make_shared<poster>(poster{nullptr, nullptr});
        owned->pool = &pool;
        owned->count = &ran;
        auto const t = pool.post_after(1h, [keep = owned] {});
        const_cast<std::shared_ptr<poster>&>(owned).reset();
        pool.cancel(t);  // deadlocks if the lock is held
    }
    EXPECT_EQ(ran, 1);
}

TEST(ThreadPool, PostingAndCancellingFromManyThreadsLosesNothing) {
    std::atomic<int> ran{0};
    std::atomic<int> timers{0};
    constexpr int each = 2000;
    {
        thread_pool pool(2);
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    pool.post([&] { ++ran; });
                    auto const timer = pool.post_after(1h, [&] { ++timers; });
                    pool.cancel(timer);
                }
            });
        for (auto& t : threads) t.join();
    }
    EXPECT_EQ(ran, 3 * each);
    EXPECT_EQ(timers, 0);
}

}  // namespace
}  // namespace gander::engine

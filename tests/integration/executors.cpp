// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Where handlers run, in whose memory operations live, and plain threads that block.
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gander::test {
namespace {

class executors : public io_test {};

TEST_F(executors, a_handler_without_executor_runs_on_the_objects) {
    database db(io, path);
    queue q(db, "q");
    bool called = false;
    q.async_enqueue(payload(), [&](error_code, std::int64_t) {
        EXPECT_TRUE(io.get_executor().running_in_this_thread());
        called = true;
    });
    io.run_for(patience);
    EXPECT_TRUE(called);
}

TEST_F(executors, a_bound_executor_is_where_the_handler_runs) {
    asio::io_context other;
    database db(io, path);
    queue q(db, "q");
    int called = 0;
    auto const there = [&](auto const&...) {
        EXPECT_TRUE(other.get_executor().running_in_this_thread());
        EXPECT_FALSE(io.get_executor().running_in_this_thread());
        ++called;
    };
    q.async_enqueue(payload(), asio::bind_executor(other, there));
    q.async_claim("w", asio::bind_executor(other, there));
    q.async_sizes(asio::bind_executor(other, there));
    auto insert = [](transaction&) { return 1; };
    db.async_transact(insert, asio::bind_executor(other, there));
    q.async_claim("", asio::bind_executor(other, there));  // an error that is known at once
    std::thread runs([&] { other.run_for(patience); });
    io.run_for(patience);
    runs.join();
    EXPECT_EQ(called, 5);
    EXPECT_TRUE(other.stopped());
}

TEST_F(executors, a_foreign_context_is_kept_running_until_its_handler_has_run) {
    asio::io_context other;
    database db(io, path);
    queue q(db, "q");
    bool called = false;
    q.async_claim("w", asio::bind_executor(other, [&](error_code ec, job) {
                      EXPECT_FALSE(ec);
                      called = true;
                  }));
    std::thread runs([&] {
        other.run_for(patience);  // would return at once if nothing were outstanding
        EXPECT_TRUE(called);
    });
    run([&]() -> awaitable<void> { co_await q.async_enqueue(payload()); });
    runs.join();
    EXPECT_TRUE(called);
}

TEST_F(executors, an_operation_keeps_its_own_context_running_and_nothing_else_does) {
    database db(io, path);
    queue q(db, "q");
    listener l = db.listen("c");
    EXPECT_EQ(io.run_for(patience), 0U) << "an idle database keeps run() from returning";
    EXPECT_TRUE(io.stopped());
    bool called = false;
    q.async_claim("w", {.wait = 50ms}, [&](error_code ec, job) {
        EXPECT_EQ(ec, errc::timed_out);
        called = true;
    });
    io.restart();
    io.run_for(patience);
    EXPECT_TRUE(called);
    EXPECT_TRUE(io.stopped());
}

TEST_F(executors, handlers_on_a_strand_do_not_overlap) {
    asio::thread_pool pool(3);
    database db(pool, path);
    queue q(db, "q");
    auto strand = asio::make_strand(pool);
    std::atomic<int> inside{0};
    std::atomic<int> called{0};
    int unguarded = 0;
    for (int i = 0; i < 200; ++i)
        q.async_enqueue(payload(), asio::bind_executor(strand, [&](error_code, std::int64_t) {
                            EXPECT_EQ(++inside, 1);
                            EXPECT_TRUE(strand.running_in_this_thread());
                            ++unguarded;
                            --inside;
                            ++called;
                        }));
    pool.join();
    EXPECT_EQ(called, 200);
    EXPECT_EQ(unguarded, 200);
}

TEST_F(executors, a_database_may_live_on_a_strand) {
    asio::thread_pool pool(2);
    auto strand = asio::make_strand(pool);
    database db(strand, path);
    queue q(db, "q");
    std::atomic<bool> called{false};
    q.async_claim("w", [&](error_code ec, job) {
        EXPECT_FALSE(ec);
        EXPECT_TRUE(strand.running_in_this_thread());
        called = true;
    });
    q.async_enqueue(payload(), asio::use_future).get();
    pool.join();
    EXPECT_TRUE(called);
}

TEST_F(executors, plain_threads_push_pull_finish_and_count_by_futures) {
    asio::thread_pool pool(1);
    database db(pool, path);
    queue q(db, "q");
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 30; ++i) q.async_enqueue(payload(), asio::use_future).get();
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 30; ++i) {
                job j = q.async_claim("w", {.wait = patience}, asio::use_future).get();
                j.async_ack(asio::use_future).get();
                ++done;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(done, 60);
    queue_sizes const s = q.async_sizes(asio::use_future).get();
    EXPECT_EQ(s.ready + s.processing + s.delayed + s.dead, 0);
}

TEST_F(executors, a_handler_never_runs_inside_the_initiation_even_on_an_executor_that_would) {
    asio::thread_pool pool(2);
    database db(pool, path);
    queue q(db, "q");
    std::atomic<int> called{0};
    std::atomic<int> overlapped{0};
    for (int i = 0; i < 100; ++i)
        asio::post(pool, [&] {
            thread_local bool initiating = false;
            initiating = true;
            auto const check = [&](auto const&...) {
                if (initiating) ++overlapped;
                ++called;
            };
            q.async_enqueue(payload(), check);
            q.async_claim("", check);
            q.async_claim("w", {.wait = 0s}, check);
            queue().async_enqueue(payload(), check);
            initiating = false;
        });
    pool.join();
    EXPECT_TRUE(poll_until([&] { return called == 400; }));
    EXPECT_EQ(overlapped, 0);
}

/// Counts what is allocated and not given back.
template <class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(std::shared_ptr<std::atomic<std::ptrdiff_t>> to)
        : bytes(std::move(to)) {}
    template <class U>
    counting_allocator(counting_allocator<U> const& other) : bytes(other.bytes) {}  // NOLINT

    T* allocate(std::size_t n) {
        *bytes += static_cast<std::ptrdiff_t>(n * sizeof(T));
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }
    void deallocate(T* p, std::size_t n) {
        *bytes -= static_cast<std::ptrdiff_t>(n * sizeof(T));
        ::operator delete(p);
    }
    template <class U>
    bool operator==(counting_allocator<U> const& other) const {
        return bytes == other.bytes;
    }

    std::shared_ptr<std::atomic<std::ptrdiff_t>> bytes;
};

TEST_F(executors, the_handlers_allocator_is_used_and_balanced_before_the_handler_runs) {
    database db(io, path);
    queue q(db, "q");
    listener l = db.listen("c");
    int called = 0;
    auto const bound = [&](auto const& bytes) {
        return asio::bind_allocator(counting_allocator<char>(bytes),
                                    [&called, bytes](auto const&...) {
                                        EXPECT_EQ(*bytes, 0);
                                        ++called;
                                    });
    };
    auto const of_claim = std::make_shared<std::atomic<std::ptrdiff_t>>(0);
    auto const of_receive = std::make_shared<std::atomic<std::ptrdiff_t>>(0);
    q.async_claim("w", bound(of_claim));
    l.async_receive(bound(of_receive));
    io.poll();
    EXPECT_EQ(called, 0);
    EXPECT_GT(*of_claim, 0) << "a waiting claim lives elsewhere";
    EXPECT_GT(*of_receive, 0) << "a waiting receive lives elsewhere";
    q.async_enqueue(payload(), [&](error_code, std::int64_t) { l.cancel(); });
    io.restart();
    io.run_for(patience);
    EXPECT_EQ(called, 2);
    EXPECT_EQ(*of_claim, 0);
    EXPECT_EQ(*of_receive, 0);
}

TEST_F(executors, a_write_uses_the_handlers_allocator_too) {
    database db(io, path);
    queue q(db, "q");
    auto const bytes = std::make_shared<std::atomic<std::ptrdiff_t>>(0);
    counting_allocator<char> const allocator(bytes);
    raw_db lock(path);
    lock.execute("BEGIN IMMEDIATE");
    bool called = false;
    q.async_enqueue(payload(), asio::bind_allocator(allocator, [&](error_code, std::int64_t) {
                        EXPECT_EQ(*bytes, 0);
                        called = true;
                    }));
    EXPECT_GT(*bytes, 0);
    lock.execute("COMMIT");
    io.run_for(patience);
    EXPECT_TRUE(called);
    EXPECT_EQ(*bytes, 0);
}

}  // namespace
}  // namespace gander::test

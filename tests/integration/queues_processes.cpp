// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A queue between threads and between processes: each job exactly once.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace gander::test {
namespace {

class queues_processes : public io_test {};

TEST_F(queues_processes, a_hundred_jobs_by_four_threads_each_exactly_once) {
    asio::thread_pool pool(2);
    database db(pool, path);
    queue q(db, "q");
    q.async_enqueue_many(std::vector<payload>(100), asio::use_future).get();
    std::mutex mutex;
    std::map<std::int64_t, int> done;
    std::vector<std::thread> workers;
    for (int w = 0; w < 4; ++w)
        workers.emplace_back([&, w] {
            for (;;) {
                // Not by an exception: it would cross from the pool's thread to this one inside the
                // standard library, where the thread sanitizer does not see how it is guarded.
                error_code ec;
                job j = q.async_claim("w" + std::to_string(w), {.wait = 0s},
                                      asio::redirect_error(asio::use_future, ec))
                            .get();
                if (ec) {
                    EXPECT_EQ(ec, errc::timed_out) << ec.message();
                    return;
                }
                j.async_ack(asio::use_future).get();
                std::lock_guard const lock(mutex);
                ++done[j.id()];
            }
        });
    for (auto& w : workers) w.join();
    EXPECT_EQ(done.size(), 100U);
    for (auto const& [id, times] : done) EXPECT_EQ(times, 1) << id;
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), 0);
}

TEST_F(queues_processes, a_hundred_jobs_by_four_databases_each_exactly_once) {
    std::mutex mutex;
    std::map<std::int64_t, int> done;
    {
        asio::thread_pool pool(1);
        database db(pool, path);
        queue(db, "q").async_enqueue_many(std::vector<payload>(100), asio::use_future).get();
    }
    std::vector<std::thread> workers;
    for (int w = 0; w < 4; ++w)
        workers.emplace_back([&] {
            asio::io_context own;
            database db(own, path);
            queue q(db, "q");
            run_on(own, [&]() -> awaitable<void> {
                for (;;) {
                    auto const [ec, jobs] =
                        co_await q.async_claim_many("w", {.max = 3, .wait = 0s}, tuple);
                    if (ec == errc::timed_out) co_return;
                    GANDER_REQUIRE(!ec);
                    for (job const& j : jobs) {
                        co_await job(j).async_ack();
                        std::lock_guard const lock(mutex);
                        ++done[j.id()];
                    }
                }
            });
        });
    for (auto& w : workers) w.join();
    EXPECT_EQ(done.size(), 100U);
    for (auto const& [id, times] : done) EXPECT_EQ(times, 1) << id;
}

TEST_F(queues_processes, of_two_processes_that_wait_for_the_only_job_one_gets_it) {
    asio::thread_pool pool(1);
    database db(pool, path);
    queue q(db, "q");
    for (int round = 0; round < 3; ++round) {
        child a = peer({"claim", path, "q"});
        child b = peer({"claim", path, "q"});
        a.expect("ready");
        b.expect("ready");
        auto const first = q.async_enqueue(array(1), asio::use_future).get();
        ASSERT_TRUE(poll_until([&] {
            return raw_db(path).number(
                       "SELECT count(*) FROM _honker_live WHERE "
                       "state='processing'") == 1;
        }));
        auto const second = q.async_enqueue(array(2), asio::use_future).get();
        std::set<std::string> got;
        for (child* c : {&a, &b}) {
            auto const line = c->line();
            ASSERT_TRUE(line);
            got.insert(*line);
            c->close_input();
            EXPECT_EQ(c->wait(), 0);
        }
        EXPECT_EQ(got, (std::set<std::string>{std::to_string(first) + " [1]",
                                              std::to_string(second) + " [2]"}));
        raw_db(path).execute("DELETE FROM _honker_live");
    }
}

TEST_F(queues_processes, the_job_of_a_killed_worker_comes_back_after_its_lease) {
    asio::thread_pool pool(1);
    database db(pool, path);
    queue q(db, "q");
    q.async_enqueue(payload(), asio::use_future).get();
    {
        child worker = peer({"claim", path, "q"});
        worker.expect("ready");
        ASSERT_TRUE(worker.line());
        worker.signal(SIGKILL);
        EXPECT_EQ(worker.wait(), 128 + SIGKILL);
    }
    EXPECT_EQ(q.async_sizes(asio::use_future).get().processing, 1);
    // its lease is a minute; let it end in a second
    raw_db(path).execute("UPDATE _honker_live SET claim_expires_at=unixepoch()+1");
    job j = q.async_claim("next", {.wait = patience}, asio::use_future).get();
    EXPECT_EQ(j.attempt(), 2);
    j.async_ack(asio::use_future).get();
}

TEST_F(queues_processes, a_foreign_insert_wakes_a_waiting_claim) {
    asio::thread_pool pool(1);
    database db(pool, path);
    queue q(db, "q");
    foreign_writer python(path);
    for (int i = 0; i < 5; ++i) {
        auto claim = q.async_claim("w", {.wait = patience}, asio::use_future);
        python.run("INSERT INTO _honker_live(queue, payload) VALUES('q','" + std::to_string(i) +
                   "')");
        job j = claim.get();
        EXPECT_EQ(j.payload(), std::to_string(i));
        j.async_ack(asio::use_future).get();
    }
}

}  // namespace
}  // namespace gander::test

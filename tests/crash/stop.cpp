// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// SIGSTOP: a process that sleeps through its lease, or with the lock in its hands.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <string>

namespace gander::test {
namespace {

class stop : public ::testing::Test {
protected:
    child actor(std::string const& what) {
        return child({GANDER_CRASH_ACTOR, what, file.path(), "a"});
    }

    temp_db file;
    asio::thread_pool pool{1};
};

TEST_F(stop, a_worker_that_slept_through_its_lease_is_told_so_and_changes_nothing) {
    database db(pool, file.path());
    queue q(db, "q");
    auto const id = q.async_enqueue(payload(), asio::use_future).get();
    child worker = actor("hold");
    ASSERT_EQ(worker.line(), "got " + std::to_string(id) + " null");
    worker.freeze();
    job j = q.async_claim("next", {.lease = 1h, .wait = patience}, asio::use_future).get();
    EXPECT_EQ(j.attempt(), 2);
    worker.thaw();
    worker.say("ack it");
    EXPECT_EQ(worker.line(), "lost " + std::to_string(id) + " null");
    EXPECT_EQ(worker.wait(), 0);
    EXPECT_NO_THROW(j.async_ack(asio::use_future).get());
}

TEST_F(stop,
       a_lock_in_the_hands_of_a_stopped_process_is_busy_at_the_deadline_and_delays_no_other_file) {
    database db(pool, file.path(), {.busy_deadline = 300ms});
    temp_db elsewhere;
    database other(pool, elsewhere.path());
    child writer = actor("inside");
    writer.expect("inside");
    writer.freeze();
    auto blocked = db.async_notify("c", payload(), asio::use_future);
    while (blocked.wait_for(0s) != std::future_status::ready)
        other.async_notify("c", payload(), asio::use_future).get();
    EXPECT_GT(other.stats().commits, 2U);
    EXPECT_EQ(code_of([&] { blocked.get(); }), errc::busy);
    writer.thaw();
    writer.say("commit");
    writer.expect("committed");
    EXPECT_NO_THROW(db.async_notify("c", payload(), asio::use_future).get());
    EXPECT_EQ(raw_db(file.path()).number("SELECT count(*) FROM _honker_notifications"), 2);
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// SIGKILL of one process: what it was told is there, what it held comes back.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <signal.h>

#include <set>
#include <string>

namespace gander::test {
namespace {

class kill : public ::testing::Test {
protected:
    child actor(std::string const& what, std::string const& name = "a") {
        return child({GANDER_CRASH_ACTOR, what, file.path(), name});
    }

    void make_tables() {
        asio::io_context io;
        database(io, file.path());
        raw_db(file.path()).execute("CREATE TABLE mine(a)");
    }

    std::string integrity() { return raw_db(file.path()).text("PRAGMA integrity_check"); }

    temp_db file;
};

TEST_F(kill, a_writer_killed_again_and_again_keeps_what_was_acknowledged_and_nothing_else) {
    make_tables();
    std::set<std::string> tried;
    std::set<std::string> acknowledged;
    for (int round = 0; round < 12; ++round) {
        bool const whole = round % 2 == 0;
        child writer = actor(whole ? "transact" : "produce", "r" + std::to_string(round));
        // A different moment each time: the parent's own reading is the clock.
        for (int n = 0; n < 3 + round * 5; ++n) {
            auto const line = writer.line();
            ASSERT_TRUE(line) << "the writer ended by itself";
            ASSERT_FALSE(line->starts_with("error")) << *line;
            (line->starts_with("ok ") ? acknowledged : tried).insert(line->substr(line->find('"')));
        }
        writer.signal(SIGKILL);
        for (auto const& line : writer.rest())
            (line.starts_with("ok ") ? acknowledged : tried).insert(line.substr(line.find('"')));
        EXPECT_EQ(writer.wait(), 128 + SIGKILL);
        ASSERT_EQ(integrity(), "ok");
    }
    raw_db raw(file.path());
    for (auto const& text : acknowledged)
        EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_live WHERE payload='" + text + "'"), 1)
            << text << " was acknowledged";
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_live") >=
                  static_cast<std::int64_t>(acknowledged.size()),
              true);
    EXPECT_LE(raw.number("SELECT count(*) FROM _honker_live"),
              static_cast<std::int64_t>(tried.size()))
        << "something was stored that nobody tried";
    // Row, event, job and notification of a transaction: all or none.
    std::int64_t const rows = raw.number("SELECT count(*) FROM mine");
    EXPECT_GT(rows, 0);
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_stream"), rows);
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_notifications"), rows);
    EXPECT_EQ(raw.number("SELECT count(*) FROM mine JOIN _honker_live ON payload=a"), rows);
}

TEST_F(kill, the_job_of_a_killed_worker_comes_back_by_itself_after_its_lease) {
    asio::thread_pool pool(1);
    database db(pool, file.path());
    queue q(db, "q");
    auto const id = q.async_enqueue(payload(), asio::use_future).get();
    child worker = actor("hold");
    ASSERT_EQ(worker.line(), "got " + std::to_string(id) + " null");
    auto next = q.async_claim("next", {.lease = 1h, .wait = patience}, asio::use_future);
    worker.signal(SIGKILL);
    EXPECT_EQ(worker.wait(), 128 + SIGKILL);
    job j = next.get();
    EXPECT_EQ(j.id(), id);
    EXPECT_EQ(j.attempt(), 2);
    j.async_ack(asio::use_future).get();
}

TEST_F(kill, a_transaction_of_a_killed_process_leaves_nothing_and_frees_the_lock) {
    asio::thread_pool pool(1);
    database db(pool, file.path());
    queue q(db, "q");
    child writer = actor("inside");
    writer.expect("inside");
    auto waiting = q.async_enqueue(payload(), asio::use_future);
    EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout) << "the lock is held";
    writer.signal(SIGKILL);
    EXPECT_NO_THROW(waiting.get());
    EXPECT_EQ(raw_db(file.path()).number("SELECT count(*) FROM _honker_notifications"), 0);
    EXPECT_EQ(integrity(), "ok");
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Producers and workers killed at random and started again: no acknowledged job is lost, none
/// comes from nowhere, and none is finished twice.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <boost/asio/thread_pool.hpp>

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>

namespace gander::test {
namespace {

/// What all the processes said, added up: the total-queue check.
struct history {
    std::set<std::string> tried;
    std::set<std::string> acknowledged;
    std::set<std::string> delivered;
    std::map<std::string, int> finished;

    void add(std::string const& line) {
        std::string const text = line.substr(std::min(line.find('"'), line.size()));
        if (line.starts_with("try ")) tried.insert(text);
        if (line.starts_with("ok ")) acknowledged.insert(text);
        if (line.starts_with("got ")) delivered.insert(text);
        if (line.starts_with("done ")) ++finished[text];
        if (line.starts_with("error ")) ADD_FAILURE() << line;
    }
};

struct actor {
    std::string role;
    child process;
};

class storm : public ::testing::Test {
protected:
    actor start(std::string const& role) {
        return {role, child({GANDER_CRASH_ACTOR, role, file.path(),
                             role.substr(0, 1) + std::to_string(++started)})};
    }

    void end(actor& a) {
        a.process.signal(SIGKILL);
        for (auto const& line : a.process.rest()) all.add(line);
        EXPECT_EQ(a.process.wait(), 128 + SIGKILL) << a.role;
    }

    temp_db file;
    history all;
    int started = 0;
};

TEST_F(storm, no_job_is_lost_and_none_is_finished_twice) {
    asio::thread_pool pool(1);
    database db(pool, file.path());
    raw_db(file.path()).execute("CREATE TABLE mine(a)");
    std::list<actor> actors;
    for (char const* role : {"produce", "transact", "work", "work", "work"})
        actors.push_back(start(role));

    std::mt19937 random(std::random_device{}());
    auto const until = clock::now() + scaled(6s);
    auto next_kill = clock::now() + 300ms;
    int kills = 0;
    while (clock::now() < until) {
        for (auto& a : actors)
            while (auto const line = a.process.line(1ms)) all.add(*line);
        if (clock::now() < next_kill) continue;
        auto const victim =
            std::next(actors.begin(), static_cast<std::ptrdiff_t>(random() % actors.size()));
        end(*victim);
        actors.push_back(start(victim->role));
        actors.erase(victim);
        ++kills;
        next_kill = clock::now() + scaled(milliseconds(random() % 300));
    }
    for (auto& a : actors) end(a);
    EXPECT_GT(kills, 5);
    EXPECT_GT(all.acknowledged.size(), 20U);

    // The drain: what was in somebody's hands comes back after its lease.
    queue q(db, "q");
    for (;;) {
        queue_sizes const s = q.async_sizes(asio::use_future).get();
        EXPECT_EQ(s.dead, 0);
        if (s.ready + s.processing + s.delayed == 0) break;
        auto const jobs = q.async_claim_many("drain", {.max = 100, .lease = 1h, .wait = patience},
                                             asio::use_future)
                              .get();
        for (job const& j : jobs) {
            all.delivered.emplace(j.payload());
            job(j).async_ack(asio::use_future).get();
            ++all.finished[std::string(j.payload())];
        }
    }

    for (auto const& text : all.acknowledged)
        EXPECT_TRUE(all.delivered.contains(text)) << text << " was acknowledged and is lost";
    for (auto const& text : all.delivered)
        EXPECT_TRUE(all.tried.contains(text)) << text << " comes from nowhere";
    for (auto const& [text, times] : all.finished) EXPECT_EQ(times, 1) << text;
    raw_db raw(file.path());
    EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
    std::int64_t const rows = raw.number("SELECT count(*) FROM mine");
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_stream"), rows);
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_notifications"), rows);
    RecordProperty("acknowledged", static_cast<int>(all.acknowledged.size()));
    RecordProperty("kills", kills);
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The second process of tests that need one. Usage: gander_test_peer [as-nobody] COMMAND ...
///
///   sql FILE                  each line of input is a statement on a plain SQLite connection;
///                             answers "ok FIRST-COLUMN" or "error MESSAGE"
///   notify FILE CHANNEL N     says "ready", and at a line of input notifies 1 to N, then "done"
///   publish FILE TOPIC N      the same with events, one after the other
///   listen FILE CHANNEL N     says "ready", then "ID PAYLOAD" for each of N, then "done"
///   consume FILE TOPIC NAME N reads N events, committing each batch: "OFFSET PAYLOAD" each
///   claim FILE QUEUE          waits for one job, says "ID PAYLOAD" and holds it until input ends
///   open FILE MODE            says "ready", at a line of input opens it, and says "ok" or the
///   error use FILE MODE             opens it and says how each kind of operation ended fork FILE
///   HOW             forks with everything open: see peer_fork.cpp
///
/// An error is said as "error CATEGORY:VALUE TEXT", and the exit status is 1.
#include "support/peer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <sqlite3.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

namespace gander::test {

namespace asio = boost::asio;

bool hear(std::string& line) { return static_cast<bool>(std::getline(std::cin, line)); }

namespace {

using words = std::vector<std::string>;
constexpr auto tuple = asio::as_tuple(asio::deferred);

open_options options_for(std::string const& mode) {
    open_options o;
    if (mode == "existing") o.mode = open_mode::existing;
    if (mode == "read_only") o.mode = open_mode::read_only;
    return o;
}

void run(asio::io_context& io, asio::awaitable<void> body) {
    std::exception_ptr error;
    asio::co_spawn(io, std::move(body), [&](std::exception_ptr e) { error = std::move(e); });
    io.run();
    if (error) std::rethrow_exception(error);
}

int sql(words const& a) {
    sqlite3* db = nullptr;
    if (sqlite3_open(a[1].c_str(), &db) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(db, 10000);
    tell("ready");
    for (std::string line; hear(line);) {
        sqlite3_stmt* stmt = nullptr;
        int rc = sqlite3_prepare_v2(db, line.c_str(), -1, &stmt, nullptr);
        std::string value;
        if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            auto const* text = sqlite3_column_text(stmt, 0);
            value = text != nullptr ? reinterpret_cast<char const*>(text) : "";
            while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) continue;
        }
        tell(rc == SQLITE_DONE ? "ok " + value : std::string("error ") + sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    return sqlite3_close(db);
}

asio::awaitable<void> notify_all(database& db, std::string channel, int n) {
    // Several at a time: they share commits.
    int left = n;
    asio::steady_timer finished(co_await asio::this_coro::executor,
                                asio::steady_timer::time_point::max());
    for (int i = 1; i <= n; ++i)
        db.async_notify(channel, payload::raw(std::to_string(i)),
                        [&](error_code const& ec, std::int64_t) {
                            if (ec) tell("error " + word_of(ec) + ' ' + ec.message());
                            if (--left == 0) finished.cancel();
                        });
    if (left > 0) co_await finished.async_wait(tuple);
    tell("done");
}

int notify(words const& a) {
    asio::io_context io;
    database db(io, a[1]);
    tell("ready");
    std::string go;
    if (!hear(go)) return 1;
    run(io, notify_all(db, a[2], std::stoi(a[3])));
    return 0;
}

asio::awaitable<void> publish_all(database& db, std::string topic, int n) {
    std::string const key = std::to_string(::getpid());
    for (int i = 1; i <= n; ++i)
        co_await db.async_publish(topic, payload::raw(std::to_string(i)), key, asio::deferred);
    tell("done");
}

int publish(words const& a) {
    asio::io_context io;
    database db(io, a[1]);
    tell("ready");
    std::string go;
    if (!hear(go)) return 1;
    run(io, publish_all(db, a[2], std::stoi(a[3])));
    return 0;
}

asio::awaitable<void> listen_to(listener l, int n) {
    tell("ready");
    for (int i = 0; i < n; ++i) {
        notification const got = co_await l.async_receive(asio::deferred);
        tell(std::to_string(got.id()) + ' ' + std::string(got.payload()));
    }
    tell("done");
}

int listen(words const& a) {
    asio::io_context io;
    database db(io, a[1]);
    run(io, listen_to(db.listen(a[2]), std::stoi(a[3])));
    return 0;
}

asio::awaitable<void> consume_from(consumer c, std::size_t n) {
    tell("ready");
    for (std::size_t seen = 0; seen < n;) {
        batch const got = co_await c.async_read(asio::deferred);
        for (event const& e : got)
            tell(std::to_string(e.offset()) + ' ' + std::string(e.payload()));
        seen += got.size();
        co_await c.async_commit(got, asio::deferred);
    }
    tell("done");
}

int consume(words const& a) {
    asio::io_context io;
    database db(io, a[1]);
    run(io, consume_from(consumer(db, a[2], a[3]), std::stoul(a[4])));
    return 0;
}

asio::awaitable<void> claim_one(queue q) {
    tell("ready");
    job const got = co_await q.async_claim("peer", asio::deferred);
    tell(std::to_string(got.id()) + ' ' + std::string(got.payload()));
}

int claim(words const& a) {
    asio::io_context io;
    database db(io, a[1]);
    run(io, claim_one(queue(db, a[2])));
    for (std::string line; hear(line);) continue;
    return 0;
}

int open(words const& a) {
    asio::io_context io;
    tell("ready");
    std::string go;
    if (!hear(go)) return 1;
    database const db(io, a[1], options_for(a[2]));
    tell("ok");
    while (hear(go)) continue;
    return 0;
}

asio::awaitable<void> use_all(database& db) {
    auto const [notified, id] = co_await db.async_notify("c", payload::raw("1"), tuple);
    tell("notify " + word_of(notified));
    auto const [published, offset] = co_await db.async_publish("t", payload::raw("1"), tuple);
    tell("publish " + word_of(published));
    queue q(db, "q");
    auto const [enqueued, job_id] = co_await q.async_enqueue(payload::raw("1"), tuple);
    tell("enqueue " + word_of(enqueued));
    claim_options const now{.wait = std::chrono::seconds(0)};
    auto const [claimed, j] = co_await q.async_claim("w", now, tuple);
    tell("claim " + word_of(claimed));
    listener l = db.listen("c", {.since = 0});
    wait_options const at_once{.wait = std::chrono::seconds(0)};
    auto const [received, n] = co_await l.async_receive(at_once, tuple);
    tell("receive " + word_of(received));
    consumer c(db, "t", "name");
    read_options const events{.wait = std::chrono::seconds(0)};
    auto const [read, b] = co_await c.async_read(events, tuple);
    tell("read " + word_of(read));
}

int use(words const& a) {
    asio::io_context io;
    database db(io, a[1], options_for(a[2]));
    tell("opened ok");
    run(io, use_all(db));
    return 0;
}

int dispatch(words const& a) {
    std::string const& what = a.at(0);
    if (what == "sql") return sql(a);
    if (what == "notify") return notify(a);
    if (what == "publish") return publish(a);
    if (what == "listen") return listen(a);
    if (what == "consume") return consume(a);
    if (what == "claim") return claim(a);
    if (what == "open") return open(a);
    if (what == "use") return use(a);
    if (what == "fork") return run_fork(a.at(1), a.at(2));
    tell("error unknown command");
    return 2;
}

}  // namespace

}  // namespace gander::test

int main(int argc, char** argv) {
    using namespace gander::test;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<std::string> words(argv + 1, argv + argc);
    try {
        if (!words.empty() && words[0] == "as-nobody") {
            constexpr unsigned nobody = 65534;
            if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return 3;
            words.erase(words.begin());
        }
        return dispatch(words);
    } catch (gander::system_error const& e) {
        tell("error " + word_of(e.code()) + ' ' + e.what());
    } catch (std::exception const& e) {
        tell(std::string("error ") + e.what());
    }
    return 1;
}

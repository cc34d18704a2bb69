// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The process that gets killed. Usage: gander_crash_actor COMMAND FILE ...
///
///   produce FILE NAME    enqueues NAME-1, NAME-2, ... on "q": "try P" before, "ok P" after each
///   transact FILE NAME   the same, each with a row in `mine`, an event and a notification
///   work FILE NAME       claims from "q" with a lease of a second: "got ID P", and "done ID P" when
///                        acked or "lost ID P" when too late
///   hold FILE NAME       claims one job, says "got ID P", and acks it at a line of input
///   inside FILE NAME     writes in a transaction, says "inside", and commits at a line of input
///
/// A line is one write(): what was said before a SIGKILL is whole.
#include <gander/gander.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <string>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto tuple = asio::as_tuple(asio::deferred);

void say(std::string line) {
    line += '\n';
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(3);
}

std::string quoted(std::string const& text) { return '"' + text + '"'; }

asio::awaitable<void> produce(gander::database& db, std::string name) {
    gander::queue q(db, "q", {.max_attempts = 1'000'000});
    for (int i = 1;; ++i) {
        std::string const text = quoted(name + '-' + std::to_string(i));
        say("try " + text);
        co_await q.async_enqueue(gander::payload::raw(text));
        say("ok " + text);
    }
}

asio::awaitable<void> transact(gander::database& db, std::string name) {
    gander::queue q(db, "q", {.max_attempts = 1'000'000});
    for (int i = 1;; ++i) {
        std::string const text = quoted(name + '-' + std::to_string(i));
        auto all = [&](gander::transaction& tx) {
            auto const body = gander::payload::raw(text);
            tx.execute("INSERT INTO mine VALUES(?)", text);
            q.enqueue(tx, body);
            gander::publish(tx, "t", body);
            gander::notify(tx, "c", body);
        };
        say("try " + text);
        co_await db.async_transact(all);
        say("ok " + text);
    }
}

std::string of(gander::job const& j) {
    return std::to_string(j.id()) + ' ' + std::string(j.payload());
}

asio::awaitable<void> ack(gander::job j) {
    auto const [ec] = co_await j.async_ack(tuple);
    if (ec && ec != gander::errc::lease_lost) throw gander::system_error(ec, "ack");
    say((ec ? "lost " : "done ") + of(j));
}

asio::awaitable<void> work(gander::database& db, std::string name) {
    gander::queue q(db, "q", {.lease = 1s});
    for (;;) {
        gander::job const j = co_await q.async_claim(name);
        say("got " + of(j));
        co_await ack(j);
    }
}

asio::awaitable<void> hold(gander::database& db, std::string name) {
    gander::queue q(db, "q", {.lease = 1s});
    gander::job const j = co_await q.async_claim(name);
    say("got " + of(j));
    std::string line;
    std::getline(std::cin, line);
    co_await ack(j);
}

asio::awaitable<void> inside(gander::database& db, std::string) {
    auto body = [](gander::transaction& tx) {
        gander::notify(tx, "c", gander::payload());
        say("inside");
        std::string line;
        std::getline(std::cin, line);
    };
    co_await db.async_transact(body);
    say("committed");
}

}  // namespace

int main(int argc, char** argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 4) return 2;
    std::string const what = argv[1];
    std::string const name = argv[3];
    try {
        asio::io_context io;
        gander::database db(io, argv[2], {.busy_deadline = 60s});
        auto body = what == "produce"    ? produce(db, name)
                    : what == "transact" ? transact(db, name)
                    : what == "work"     ? work(db, name)
                    : what == "hold"     ? hold(db, name)
                                         : inside(db, name);
        std::exception_ptr error;
        asio::co_spawn(io, std::move(body), [&](std::exception_ptr e) { error = std::move(e); });
        io.run();
        if (error) std::rethrow_exception(error);
    } catch (std::exception const& e) {
        say(std::string("error ") + e.what());
        return 1;
    }
    return 0;
}

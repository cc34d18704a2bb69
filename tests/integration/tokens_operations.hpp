// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The operations as generic callables, to be started with any completion token.
#pragma once

#include "support/io_test.hpp"

#include <utility>
#include <vector>

namespace gander::test {

/// Everything that an operation needs, on a file where each of them succeeds at once.
struct world {
    explicit world(asio::any_io_executor const& ex, std::string const& path)
        : db(ex, path), q(db, "q"), events(db, "t", "c"), hear(db.listen("c")) {}

    database db;
    queue q;
    consumer events;
    listener hear;
    job held;
    batch read;
};

/// Makes one ready for every operation: rows to receive, to read, to claim, to ack.
inline awaitable<void> stock(world& w) {
    co_await w.db.async_notify("c", payload());
    co_await w.db.async_publish("t", payload());
    for (int i = 0; i < 3; ++i) co_await w.q.async_enqueue(payload());
    w.held = co_await w.q.async_claim("w");
    w.read = co_await w.events.async_read();
    co_await w.db.async_publish("t", payload());
}

/// One operation under a name: `start(world&, token)`.
template <class F>
struct operation {
    char const* name;
    F start;
};
template <class F>
operation(char const*, F) -> operation<F>;

/// Calls `f` with an operation of each kind: a write, a claim, an end, a receive, a read. Each is a
/// generic callable, so that it takes any token.
template <class F>
void few_operations(F f) {
    f(operation{"enqueue", [](world& w, auto&& t) {
                    return w.q.async_enqueue(payload(), std::forward<decltype(t)>(t));
                }});
    f(operation{"claim", [](world& w, auto&& t) {
                    return w.q.async_claim("w", std::forward<decltype(t)>(t));
                }});
    f(operation{"sizes",
                [](world& w, auto&& t) { return w.q.async_sizes(std::forward<decltype(t)>(t)); }});
    f(operation{"ack",
                [](world& w, auto&& t) { return w.held.async_ack(std::forward<decltype(t)>(t)); }});
    f(operation{"receive", [](world& w, auto&& t) {
                    return w.hear.async_receive(std::forward<decltype(t)>(t));
                }});
    f(operation{"read", [](world& w, auto&& t) {
                    return w.events.async_read(std::forward<decltype(t)>(t));
                }});
}

/// Calls `f` with each operation.
template <class F>
void each_operation(F f) {
    few_operations(f);
    f(operation{"notify", [](world& w, auto&& t) {
                    return w.db.async_notify("c", payload(), std::forward<decltype(t)>(t));
                }});
    f(operation{"publish", [](world& w, auto&& t) {
                    return w.db.async_publish("t", payload(), "key", std::forward<decltype(t)>(t));
                }});
    f(operation{"enqueue_many", [](world& w, auto&& t) {
                    return w.q.async_enqueue_many(std::vector<payload>(2),
                                                  std::forward<decltype(t)>(t));
                }});
    f(operation{"claim_many", [](world& w, auto&& t) {
                    return w.q.async_claim_many("w", {.max = 2}, std::forward<decltype(t)>(t));
                }});
    f(operation{"queue_wait",
                [](world& w, auto&& t) { return w.q.async_wait(std::forward<decltype(t)>(t)); }});
    f(operation{"cancel", [](world& w, auto&& t) {
                    return w.q.async_cancel(1, std::forward<decltype(t)>(t));
                }});
    f(operation{"retry", [](world& w, auto&& t) {
                    return w.held.async_retry("again", std::forward<decltype(t)>(t));
                }});
    f(operation{"fail", [](world& w, auto&& t) {
                    return w.held.async_fail("broken", std::forward<decltype(t)>(t));
                }});
    f(operation{"heartbeat", [](world& w, auto&& t) {
                    return w.held.async_heartbeat(60s, std::forward<decltype(t)>(t));
                }});
    f(operation{"listener_wait", [](world& w, auto&& t) {
                    return w.hear.async_wait(std::forward<decltype(t)>(t));
                }});
    f(operation{"commit", [](world& w, auto&& t) {
                    return w.events.async_commit(w.read, std::forward<decltype(t)>(t));
                }});
    f(operation{"offset", [](world& w, auto&& t) {
                    return w.events.async_offset(std::forward<decltype(t)>(t));
                }});
    f(operation{"jobs", [](world& w, auto&& t) {
                    return w.db.async_jobs("", job_state::any, 10, std::forward<decltype(t)>(t));
                }});
}

/// Whether the first argument of a handler says success.
inline bool good(error_code ec) { return !ec; }
inline bool good(std::exception_ptr const& e) { return !e; }

class tokens : public io_test {
protected:
    /// Runs `f(context, world, start)` for an operation, on a stocked file of its own.
    template <class F, class Operation>
    static void on_a_fresh_world(F& f, Operation const& op) {
        SCOPED_TRACE(op.name);
        temp_db fresh;
        asio::io_context context;
        world w(context.get_executor(), fresh.path());
        run_on(context, [&]() -> awaitable<void> { co_await stock(w); });
        f(context, w, op.start);
    }

    template <class F>
    static void for_each_operation(F f) {
        each_operation([&](auto op) { on_a_fresh_world(f, op); });
    }

    template <class F>
    static void for_few_operations(F f) {
        few_operations([&](auto op) { on_a_fresh_world(f, op); });
    }

    static void drive(asio::io_context& context) {
        context.restart();
        context.run_for(patience);
        EXPECT_TRUE(context.stopped()) << "something keeps run() from returning";
    }
};

}  // namespace gander::test

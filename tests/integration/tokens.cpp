// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Every operation with every kind of completion token.
#include "support/io_test.hpp"

#include <boost/asio/append.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gander::test {
namespace {

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
awaitable<void> stock(world& w) {
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

/// Calls `f` with each operation. An operation is a generic callable, so that it takes any token.
template <class F>
void each_operation(F f) {
    f(operation{"notify", [](world& w, auto&& t) {
                    return w.db.async_notify("c", payload(), std::forward<decltype(t)>(t));
                }});
    f(operation{"publish", [](world& w, auto&& t) {
                    return w.db.async_publish("t", payload(), "key", std::forward<decltype(t)>(t));
                }});
    f(operation{"enqueue", [](world& w, auto&& t) {
                    return w.q.async_enqueue(payload(), std::forward<decltype(t)>(t));
                }});
    f(operation{"enqueue_many", [](world& w, auto&& t) {
                    return w.q.async_enqueue_many(std::vector<payload>(2),
                                                  std::forward<decltype(t)>(t));
                }});
    f(operation{"claim", [](world& w, auto&& t) {
                    return w.q.async_claim("w", std::forward<decltype(t)>(t));
                }});
    f(operation{"claim_many", [](world& w, auto&& t) {
                    return w.q.async_claim_many("w", {.max = 2}, std::forward<decltype(t)>(t));
                }});
    f(operation{"queue_wait",
                [](world& w, auto&& t) { return w.q.async_wait(std::forward<decltype(t)>(t)); }});
    f(operation{"cancel", [](world& w, auto&& t) {
                    return w.q.async_cancel(1, std::forward<decltype(t)>(t));
                }});
    f(operation{"sizes",
                [](world& w, auto&& t) { return w.q.async_sizes(std::forward<decltype(t)>(t)); }});
    f(operation{"ack",
                [](world& w, auto&& t) { return w.held.async_ack(std::forward<decltype(t)>(t)); }});
    f(operation{"retry", [](world& w, auto&& t) {
                    return w.held.async_retry("again", std::forward<decltype(t)>(t));
                }});
    f(operation{"fail", [](world& w, auto&& t) {
                    return w.held.async_fail("broken", std::forward<decltype(t)>(t));
                }});
    f(operation{"heartbeat", [](world& w, auto&& t) {
                    return w.held.async_heartbeat(60s, std::forward<decltype(t)>(t));
                }});
    f(operation{"receive", [](world& w, auto&& t) {
                    return w.hear.async_receive(std::forward<decltype(t)>(t));
                }});
    f(operation{"listener_wait", [](world& w, auto&& t) {
                    return w.hear.async_wait(std::forward<decltype(t)>(t));
                }});
    f(operation{"read", [](world& w, auto&& t) {
                    return w.events.async_read(std::forward<decltype(t)>(t));
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
    /// Runs `f(name, start)` for each operation, each on a stocked file of its own.
    template <class F>
    void for_each_operation(F f) {
        each_operation([&](auto op) {
            SCOPED_TRACE(op.name);
            temp_db fresh;
            asio::io_context context;
            world w(context.get_executor(), fresh.path());
            run_on(context, [&]() -> awaitable<void> { co_await stock(w); });
            f(context, w, op.start);
        });
    }

    static void drive(asio::io_context& context) {
        context.restart();
        context.run_for(patience);
        EXPECT_TRUE(context.stopped()) << "something keeps run() from returning";
    }
};

TEST_F(tokens, a_callback_is_called_once_and_never_inside_the_initiation) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        int calls = 0;
        start(w, [&](auto const& first, auto const&...) {
            EXPECT_TRUE(good(first));
            ++calls;
        });
        EXPECT_EQ(calls, 0);
        drive(context);
        EXPECT_EQ(calls, 1);
    });
}

TEST_F(tokens, a_callback_may_be_move_only) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        auto calls = std::make_unique<int>(0);
        int* const count = calls.get();
        std::unique_ptr<int> kept;
        start(w, [calls = std::move(calls), &kept](auto const& first, auto const&...) mutable {
            EXPECT_TRUE(good(first));
            ++*calls;
            kept = std::move(calls);
        });
        drive(context);
        ASSERT_TRUE(kept);
        EXPECT_EQ(*count, 1);
    });
}

TEST_F(tokens, a_future_is_ready_with_the_result) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        auto future = start(w, asio::use_future);
        drive(context);
        ASSERT_EQ(future.wait_for(0s), std::future_status::ready);
        EXPECT_NO_THROW(future.get());
    });
}

TEST_F(tokens, awaitables_deferred_and_their_adapters_give_the_result) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        bool ended = false;
        asio::co_spawn(
            context,
            [&]() -> awaitable<void> {
                auto op = start(w, asio::as_tuple(asio::deferred));
                auto result = co_await std::move(op);
                EXPECT_TRUE(good(std::get<0>(result)));
                ended = true;
            },
            asio::detached);
        drive(context);
        EXPECT_TRUE(ended);
    });
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        bool ended = false;
        asio::co_spawn(
            context,
            [&]() -> awaitable<void> {
                auto result = co_await start(w, asio::as_tuple(asio::use_awaitable));
                EXPECT_TRUE(good(std::get<0>(result)));
                ended = true;
            },
            asio::detached);
        drive(context);
        EXPECT_TRUE(ended);
    });
}

TEST_F(tokens, redirect_error_takes_the_error_code) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        error_code ec = errc::closed;
        bool called = false;
        start(w, asio::redirect_error([&](auto const&...) { called = true; }, ec));
        drive(context);
        EXPECT_TRUE(called);
        EXPECT_FALSE(ec);
    });
}

TEST_F(tokens, consign_keeps_what_it_is_given_until_the_handler_has_run) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        auto owned = std::make_shared<int>(1);
        std::weak_ptr<int> const watch = owned;
        bool alive = false;
        start(w,
              asio::consign([&](auto const&...) { alive = !watch.expired(); }, std::move(owned)));
        EXPECT_FALSE(watch.expired());
        drive(context);
        EXPECT_TRUE(alive);
        EXPECT_TRUE(watch.expired()) << "the handler was not destroyed";
    });
}

TEST_F(tokens, detached_runs_to_its_end) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        start(w, asio::detached);
        drive(context);
    });
}

TEST_F(tokens, a_stored_deferred_operation_survives_the_objects_it_was_made_from) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        auto stored = start(w, asio::deferred);
        {
            database const db = std::move(w.db);
            queue const q = std::move(w.q);
            consumer const events = std::move(w.events);
            job const held = std::move(w.held);
            w.held = job();
            w.q = queue();
            w.events = consumer();
            w.db = database();
        }
        int calls = 0;
        std::move(stored)([&](auto const& first, auto const&...) {
            EXPECT_TRUE(good(first));
            ++calls;
        });
        drive(context);
        EXPECT_EQ(calls, 1);
    });
}

TEST_F(tokens, nothing_happens_before_a_deferred_operation_is_launched) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        auto stored = q.async_enqueue(payload(), asio::deferred);
        queue_sizes const before = co_await q.async_sizes();
        EXPECT_EQ(before.ready, 0);
        co_await std::move(stored);
        queue_sizes const after = co_await q.async_sizes();
        EXPECT_EQ(after.ready, 1);
    });
}

TEST_F(tokens, an_error_is_thrown_by_future_and_awaitable) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        queue q(db, "q");
        try {
            co_await q.async_claim("w", {.wait = 0s});
            ADD_FAILURE() << "no job, no error";
        } catch (system_error const& e) {
            EXPECT_EQ(e.code(), errc::timed_out);
        }
        auto future = q.async_claim("w", {.wait = 0s}, asio::use_future);
        while (future.wait_for(0s) != std::future_status::ready) co_await pause(1ms);
        EXPECT_EQ(code_of([&] { future.get(); }), errc::timed_out);
    });
}

TEST_F(tokens, transact_takes_every_token_with_and_without_a_result) {
    asio::io_context context;
    database db(context, path);
    auto nothing = [](transaction&) {};
    auto seven = [](transaction&) { return 7; };
    int calls = 0;
    db.async_transact(nothing, [&](std::exception_ptr e) { calls += e ? 0 : 1; });
    db.async_transact(seven, [&, own = std::make_unique<int>(1)](std::exception_ptr e, int n) {
        calls += e || n != 7 ? 0 : *own;
    });
    auto done = db.async_transact(nothing, asio::use_future);
    auto number = db.async_transact(seven, asio::use_future);
    asio::co_spawn(
        context,
        [&]() -> awaitable<void> {
            co_await db.async_transact(nothing);
            int const n = co_await db.async_transact(seven);
            int const m = co_await db.async_transact(seven, asio::use_awaitable);
            auto const [error, k] = co_await db.async_transact(seven, tuple);
            calls += n == 7 && m == 7 && k == 7 && !error ? 1 : 0;
        },
        asio::detached);
    drive(context);
    EXPECT_EQ(calls, 3);
    EXPECT_NO_THROW(done.get());
    EXPECT_EQ(number.get(), 7);
}

TEST_F(tokens, open_and_listen_take_every_token) {
    run([&]() -> awaitable<void> {
        auto ex = co_await asio::this_coro::executor;
        database db = co_await database::async_open(ex, path);
        auto const [error, again] = co_await database::async_open(ex, path, tuple);
        EXPECT_FALSE(error);
        listener l = co_await db.async_listen("c");
        auto const [bad, none] = co_await database::async_open(ex, ":memory:", tuple);
        EXPECT_EQ(code_of(bad), errc::not_a_file);
        EXPECT_FALSE(none);
        co_await db.async_notify("c", payload());
        notification const n = co_await l.async_receive();
        EXPECT_EQ(n.channel(), "c");
    });
}

}  // namespace
}  // namespace gander::test

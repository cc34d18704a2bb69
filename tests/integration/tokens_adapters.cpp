// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An operation of each kind with the rest of Asio's tokens and adapters.
#include "integration/tokens_operations.hpp"

#include <boost/asio/consign.hpp>
#include <boost/asio/detached.hpp>

#include <memory>
#include <tuple>
#include <utility>

namespace gander::test {
namespace {

class tokens_adapters : public tokens {};

TEST_F(tokens_adapters, a_callback_may_be_move_only) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
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

TEST_F(tokens_adapters, an_awaitable_gives_the_result) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
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

TEST_F(tokens_adapters, redirect_error_takes_the_error_code) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
        error_code ec = errc::closed;
        bool called = false;
        start(w, asio::redirect_error([&](auto const&...) { called = true; }, ec));
        drive(context);
        EXPECT_TRUE(called);
        EXPECT_FALSE(ec);
    });
}

TEST_F(tokens_adapters, consign_keeps_what_it_is_given_until_the_handler_has_run) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
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

TEST_F(tokens_adapters, detached_runs_to_its_end) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
        start(w, asio::detached);
        drive(context);
    });
}

TEST_F(tokens_adapters, a_stored_deferred_operation_survives_the_objects_it_was_made_from) {
    for_few_operations([](asio::io_context& context, world& w, auto start) {
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

TEST_F(tokens_adapters, transact_takes_every_token_with_and_without_a_result) {
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

TEST_F(tokens_adapters, open_and_listen_take_every_token) {
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

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Every operation with the three tokens that most programs use.
#include "integration/tokens_operations.hpp"

#include <boost/asio/detached.hpp>

#include <tuple>
#include <utility>

namespace gander::test {
namespace {

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

TEST_F(tokens, a_future_is_ready_with_the_result) {
    for_each_operation([](asio::io_context& context, world& w, auto start) {
        auto future = start(w, asio::use_future);
        drive(context);
        ASSERT_EQ(future.wait_for(0s), std::future_status::ready);
        EXPECT_NO_THROW(future.get());
    });
}

TEST_F(tokens, a_deferred_operation_is_awaited_and_gives_the_result) {
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

}  // namespace
}  // namespace gander::test

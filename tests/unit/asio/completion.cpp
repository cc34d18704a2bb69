// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gander/detail/completion.hpp>

#include "support/time.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace gander::detail {
namespace {

using test::patience;

TEST(Completion, KeepsBothContextsRunningAndRunsTheHandlerOnItsOwn) {
    asio::io_context objects;
    asio::io_context handlers;
    std::string got;
    auto handler = asio::bind_executor(handlers, [&](int n, std::string s) {
        EXPECT_TRUE(handlers.get_executor().running_in_this_thread());
        got = s + std::to_string(n);
    });
    auto pending = std::make_unique<completion<void(int, std::string)>>(std::move(handler),
                                                                        objects.get_executor());
    objects.poll();
    handlers.poll();
    EXPECT_FALSE(objects.stopped());
    EXPECT_FALSE(handlers.stopped());
    std::move(*pending).post(4, "a");
    pending.reset();
    std::thread other([&] { handlers.run_for(patience); });
    objects.run_for(patience);
    other.join();
    EXPECT_EQ(got, "a4");
    EXPECT_TRUE(handlers.stopped());
}

TEST(Completion, DestroyedUncalledItReleasesBothContexts) {
    asio::io_context objects;
    asio::io_context handlers;
    auto const alive = std::make_shared<int>();
    {
        completion<void()> const pending(asio::bind_executor(handlers, [alive] { FAIL(); }),
                                         objects.get_executor());
        EXPECT_EQ(alive.use_count(), 2);
    }
    EXPECT_EQ(alive.use_count(), 1);
    objects.poll();
    handlers.poll();
    EXPECT_TRUE(objects.stopped());
    EXPECT_TRUE(handlers.stopped());
}

TEST(Completion, PassesOnMoveOnlyHandlersAndResults) {
    asio::io_context io;
    auto own = std::make_unique<int>(1);
    int sum = 0;
    completion<void(std::unique_ptr<int>)> pending(
        [own = std::move(own), &sum](std::unique_ptr<int> n) { sum = *own + *n; },
        io.get_executor());
    std::move(pending).post(std::make_unique<int>(2));
    io.run_for(patience);
    EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace gander::detail

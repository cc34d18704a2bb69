// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/lifetime.hpp"

#include "support/time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace gander::engine {
namespace {

TEST(Lifetime, NobodyEntersAfterItIsClosed) {
    lifetime life;
    EXPECT_TRUE(lifetime::scope(life));
    life.close();
    EXPECT_FALSE(lifetime::scope(life));
    life.close();
}

TEST(Lifetime, ClosingWaitsForThoseInside) {
    lifetime life;
    std::promise<void> leave;
    std::promise<void> entered;
    std::atomic<bool> left{false};
    std::thread inside([&] {
        lifetime::scope const scope(life);
        EXPECT_TRUE(scope);
        entered.set_value();
        leave.get_future().wait();
        left = true;
    });
    entered.get_future().wait();
    auto closing = std::async(std::launch::async, [&] {
        life.close();
        EXPECT_TRUE(left);
    });
    // Once closing has begun nobody enters, although somebody is inside.
    EXPECT_TRUE(test::poll_until([&] { return !lifetime::scope(life); }));
    EXPECT_FALSE(left);
    leave.set_value();
    closing.get();
    inside.join();
}

}  // namespace
}  // namespace gander::engine

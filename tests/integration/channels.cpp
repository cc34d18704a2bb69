// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "support/io_test.hpp"

namespace gander::test {
namespace {

using channels = io_test;

TEST_F(channels, a_listener_receives_what_commits_after_it_was_made_and_nothing_before) {
    run([&]() -> awaitable<void> {
        database db(io, path);
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        listener l = db.listen("c");
        std::int64_t const id = co_await db.async_notify("c", payload::raw("2"), asio::deferred);
        notification const n = co_await l.async_receive(asio::deferred);
        EXPECT_EQ(n.id(), id);
        EXPECT_EQ(n.payload(), "2");
        EXPECT_EQ(l.position(), id);
    });
}

}  // namespace
}  // namespace gander::test

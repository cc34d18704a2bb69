// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/wait_op.hpp"

#include "support/time.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace gander::detail {
namespace {

using signature = void(error_code);
using op = wait_op<signature>;

class WaitList : public ::testing::Test {
protected:
    op::ptr make(std::uint64_t id) {
        return op::make(
            [this, id, keep = alive](error_code ec) {
                called.push_back(id);
                last = ec;
            },
            io.get_executor(), id);
    }

    std::vector<std::uint64_t> called;
    error_code last;
    std::shared_ptr<int> alive = std::make_shared<int>();
    asio::io_context io;
};

TEST_F(WaitList, IsFirstInFirstOut) {
    wait_list<signature> list;
    for (std::uint64_t i = 1; i <= 3; ++i) list.push_back(make(i));
    for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(list.pop_front()->id, i);
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(list.pop_front());
}

TEST_F(WaitList, OneCanBeTakenOutOfTheMiddle) {
    wait_list<signature> list;
    for (std::uint64_t i = 1; i <= 3; ++i) list.push_back(make(i));
    auto const second = [](op& o) { return o.id == 2; };
    EXPECT_TRUE(list.extract(second));
    EXPECT_FALSE(list.extract(second));
    EXPECT_EQ(list.pop_front()->id, 1U);
    EXPECT_EQ(list.pop_front()->id, 3U);
}

TEST_F(WaitList, DestructionDestroysTheHandlersUncalled) {
    {
        wait_list<signature> list;
        for (std::uint64_t i = 1; i <= 3; ++i) list.push_back(make(i));
        EXPECT_EQ(alive.use_count(), 4);
    }
    EXPECT_EQ(alive.use_count(), 1);
    io.run_for(test::patience);
    EXPECT_TRUE(called.empty());
}

TEST_F(WaitList, ACompletedOperationIsCalledByTheContextOnce) {
    op::complete(make(7), make_error_code(errc::timed_out));
    EXPECT_TRUE(called.empty()) << "called inline";
    io.run_for(test::patience);
    EXPECT_EQ(called, (std::vector<std::uint64_t>{7}));
    EXPECT_EQ(last, errc::timed_out);
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(WaitList, AnOperationIsWorkForItsContextUntilItIsGone) {
    auto waiting = make(1);
    EXPECT_EQ(io.poll(), 0U);
    EXPECT_FALSE(io.stopped());
    waiting.reset();
    EXPECT_EQ(io.poll(), 0U);
    EXPECT_TRUE(io.stopped());
}

TEST_F(WaitList, ACancellationForAStateThatIsGoneIsHarmless) {
    asio::cancellation_signal signal;
    int cancelled = 0;
    auto state = std::make_shared<int>();
    auto const handler = asio::bind_cancellation_slot(signal.slot(), [](error_code) {});
    connect_cancellation(asio::get_associated_cancellation_slot(handler), std::weak_ptr(state),
                         [&](int&) { ++cancelled; });
    signal.emit(asio::cancellation_type::none);
    EXPECT_EQ(cancelled, 0);
    signal.emit(asio::cancellation_type::total);
    signal.emit(asio::cancellation_type::terminal);
    EXPECT_EQ(cancelled, 2);
    state.reset();
    signal.emit(asio::cancellation_type::total);
    EXPECT_EQ(cancelled, 2);
}

}  // namespace
}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/write_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gander::engine {
namespace {

/// What became of the operations made here.
struct ledger {
    int abandoned = 0;
    int completed = 0;
};

class fake_op final : public write_op {
public:
    fake_op(ledger& of, std::uint64_t number, kind k) : of_(of), kind_(k) { id = number; }

    kind what() const noexcept override { return kind_; }
    void run(sqlite::store&, effects&) override {}
    void complete(failure const&) override {
        ++of_.completed;
        delete this;
    }
    void abandon() noexcept override {
        ++of_.abandoned;
        delete this;
    }

private:
    ledger& of_;
    kind kind_;
};

class WriteQueue : public ::testing::Test {
protected:
    using kind = write_op::kind;
    using ids = std::vector<std::uint64_t>;

    write_op_ptr op(std::uint64_t id, std::size_t bytes = 0, kind k = kind::grouped) {
        write_op_ptr made(new fake_op(seen, id, k));
        made->bytes = bytes;
        return made;
    }

    static ids ids_of(write_op_list list) {
        ids all;
        for (auto& o : list) all.push_back(o.id);
        return all;
    }

    ledger seen;
    write_queue queue{3, 100};
};

TEST_F(WriteQueue, AGroupIsTakenInOrderUpToItsOperations) {
    for (std::uint64_t i = 1; i <= 5; ++i) queue.push(op(i));
    EXPECT_EQ(queue.size(), 5U);
    EXPECT_EQ(ids_of(queue.take_group()), (ids{1, 2, 3}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{4, 5}));
    EXPECT_TRUE(queue.take_group().empty());
    EXPECT_TRUE(queue.empty());
}

TEST_F(WriteQueue, AGroupIsBoundedByBytesButOneAlwaysFits) {
    queue.push(op(1, 60));
    queue.push(op(2, 40));
    queue.push(op(3, 1));
    queue.push(op(4, 1000));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{1, 2}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{3}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{4}));
}

TEST_F(WriteQueue, WhatRunsAloneIsAGroupOfItsOwnInItsPlace) {
    queue.push(op(1));
    queue.push(op(2, 0, kind::user));
    queue.push(op(3, 0, kind::solitary));
    queue.push(op(4));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{1}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{2}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{3}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{4}));
}

TEST_F(WriteQueue, ASuspectRunsAlone) {
    for (std::uint64_t i = 1; i <= 2; ++i) {
        auto suspicious = op(i);
        suspicious->suspect = true;
        queue.push(std::move(suspicious));
    }
    EXPECT_EQ(ids_of(queue.take_group()), (ids{1}));
    EXPECT_EQ(ids_of(queue.take_group()), (ids{2}));
}

TEST_F(WriteQueue, WhatIsPutBackIsFirstAgain) {
    for (std::uint64_t i = 1; i <= 5; ++i) queue.push(op(i));
    queue.put_back(queue.take_group());
    EXPECT_EQ(ids_of(queue.take_all()), (ids{1, 2, 3, 4, 5}));
}

TEST_F(WriteQueue, AQueuedOperationCanBeTakenOut) {
    for (std::uint64_t i = 1; i <= 3; ++i) queue.push(op(i));
    EXPECT_EQ(queue.remove(2)->id, 2U);
    EXPECT_FALSE(queue.remove(2));
    EXPECT_FALSE(queue.remove(99));
    auto const group = queue.take_group();
    EXPECT_EQ(group.size(), 2U);
    EXPECT_FALSE(queue.remove(1)) << "it runs";
}

TEST_F(WriteQueue, DeadlinesStartOnceAndEndOnlyTheirOwn) {
    queue.push(op(1));
    queue.start_deadlines(100, false);
    queue.push(op(2));
    EXPECT_TRUE(queue.take_overdue(1000).size() == 1) << "only the first has a deadline";
    queue.start_deadlines(200, false);
    queue.push(op(3));
    queue.start_deadlines(300, false);
    EXPECT_TRUE(queue.take_overdue(199).empty());
    EXPECT_EQ(ids_of(queue.take_overdue(200)), (ids{2}));
    EXPECT_EQ(ids_of(queue.take_overdue(300)), (ids{3}));
    queue.push(op(4));
    queue.start_deadlines(400, false);
    queue.start_deadlines(500, true);
    EXPECT_TRUE(queue.take_overdue(499).empty());
    EXPECT_EQ(queue.take_overdue(500).size(), 1U);
}

TEST_F(WriteQueue, DestructionAbandonsWhatIsLeftAndRunsNothing) {
    {
        write_queue some(10, 10);
        for (std::uint64_t i = 1; i <= 4; ++i) some.push(op(i));
        some.take_group();
        for (std::uint64_t i = 5; i <= 6; ++i) some.push(op(i));
    }
    EXPECT_EQ(seen.abandoned, 6);
    EXPECT_EQ(seen.completed, 0);
}

TEST_F(WriteQueue, ListsOwnAndCanBeJoined) {
    write_op_list a;
    write_op_list b;
    a.push_back(op(1));
    b.push_back(op(2));
    b.push_back(op(3));
    a.append(std::move(b));
    EXPECT_TRUE(b.empty());
    write_op_list c;
    c.push_back(op(0));
    a.prepend(std::move(c));
    EXPECT_EQ(ids_of(std::move(a)), (ids{0, 1, 2, 3}));
    EXPECT_EQ(seen.abandoned, 4);
}

}  // namespace
}  // namespace gander::engine

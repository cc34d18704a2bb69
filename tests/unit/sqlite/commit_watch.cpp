// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/commit_watch.hpp"

#include "support/child.hpp"
#include "support/raw_db.hpp"
#include "support/temp.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gander::sqlite {
namespace {

using finding = commit_watch::finding;

class CommitWatch : public ::testing::TestWithParam<char const*> {
protected:
    bool wal() const { return std::string(GetParam()) == "WAL"; }

    CommitWatch() {
        other.text(std::string("PRAGMA journal_mode=") + GetParam());
        other.execute("CREATE TABLE t(a)");
        other.execute("INSERT INTO t VALUES(1)");
        db = std::make_unique<connection>(connection::settings{file.path(), open_mode::existing});
        watch = std::make_unique<commit_watch>(*db);
    }

    finding check() { return watch->check(); }

    test::temp_db file;
    test::raw_db other{file.path()};
    std::unique_ptr<connection> db;
    std::unique_ptr<commit_watch> watch;
};

TEST_P(CommitWatch, SaysUnchangedUntilSomebodyCommits) {
    EXPECT_EQ(watch->wal(), wal());
    EXPECT_EQ(check(), finding::unchanged);
    other.execute("INSERT INTO t VALUES(2)");
    EXPECT_EQ(check(), finding::changed);
    EXPECT_EQ(check(), finding::unchanged);
}

TEST_P(CommitWatch, ManyCommitsAreOneChange) {
    for (int i = 0; i < 50; ++i) other.execute("INSERT INTO t VALUES(2)");
    EXPECT_EQ(check(), finding::changed);
    EXPECT_EQ(check(), finding::unchanged);
}

TEST_P(CommitWatch, WhatDoesNotCommitIsNoChange) {
    other.execute("BEGIN");
    other.execute("INSERT INTO t VALUES(2)");
    other.execute("ROLLBACK");
    other.execute("BEGIN IMMEDIATE");
    other.execute("COMMIT");
    other.execute("UPDATE t SET a=9 WHERE a=1000");
    other.execute("UPDATE t SET a=a");
    EXPECT_EQ(check(), finding::unchanged);
}

TEST_P(CommitWatch, AnotherProcessesCommitIsSeen) {
    test::foreign_writer foreign(file.path());
    for (int i = 0; i < 5; ++i) {
        foreign.run("INSERT INTO t VALUES(3)");
        EXPECT_EQ(check(), finding::changed);
        EXPECT_EQ(check(), finding::unchanged);
    }
}

TEST_P(CommitWatch, TheDataVersionDiffersAfterACommitAndNotWithoutOne) {
    std::int64_t const before = watch->data_version();
    EXPECT_EQ(watch->data_version(), before);
    other.execute("INSERT INTO t VALUES(2)");
    EXPECT_NE(watch->data_version(), before);
}

TEST_P(CommitWatch, AnUncommittedWriteIsNoChangeAndItsCommitIs) {
    other.execute("BEGIN IMMEDIATE");
    other.execute("INSERT INTO t VALUES(2)");
    EXPECT_NE(check(), finding::changed);
    other.execute("COMMIT");
    EXPECT_EQ(check(), finding::changed);
}

TEST_P(CommitWatch, AChangedSchemaIsAChange) {
    other.execute("CREATE TABLE u(a)");
    EXPECT_EQ(check(), finding::changed);
}

TEST_P(CommitWatch, ALockedFileIsBusyOrUnchangedButChangesAfterwards) {
    other.execute("BEGIN EXCLUSIVE");
    other.execute("INSERT INTO t VALUES(2)");
    finding const meanwhile = check();
    EXPECT_EQ(meanwhile, wal() ? finding::unchanged : finding::busy);
    other.execute("COMMIT");
    EXPECT_EQ(check(), finding::changed);
}

TEST_P(CommitWatch, BegunOnALockedFileItReportsAChangeAtFirst) {
    if (wal()) GTEST_SKIP() << "an exclusive transaction hides nothing in WAL mode";
    connection mine{connection::settings{file.path(), open_mode::existing}};
    other.execute("BEGIN EXCLUSIVE");
    commit_watch late(mine);
    EXPECT_EQ(late.check(), finding::busy);
    other.execute("COMMIT");
    EXPECT_EQ(late.check(), finding::changed);
    EXPECT_EQ(late.check(), finding::unchanged);
}

INSTANTIATE_TEST_SUITE_P(Modes, CommitWatch,
                         ::testing::Values("WAL", "DELETE", "TRUNCATE", "PERSIST"),
                         [](auto const& mode) { return std::string(mode.param); });

class CommitWatchInWal : public CommitWatch {};

TEST_P(CommitWatchInWal, CommitsAreSeenAcrossCheckpointsThatRestartTheWal) {
    for (int i = 0; i < 20; ++i) {
        other.execute("INSERT INTO t VALUES(2)");
        EXPECT_EQ(check(), finding::changed) << i;
        other.text("PRAGMA wal_checkpoint(RESTART)");
        (void)check();
        EXPECT_EQ(check(), finding::unchanged) << i;
    }
    other.text("PRAGMA wal_checkpoint(TRUNCATE)");
    (void)check();
    other.execute("INSERT INTO t VALUES(2)");
    EXPECT_EQ(check(), finding::changed);
}

TEST_P(CommitWatchInWal, FramesAndBacklogAreCounted) {
    other.text("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(watch->wal_backlog(), 0U);
    other.execute("INSERT INTO t VALUES(2)");
    EXPECT_GT(watch->wal_frames(), 0U);
    EXPECT_EQ(watch->wal_backlog(), watch->wal_frames());
    other.text("PRAGMA wal_checkpoint(PASSIVE)");
    EXPECT_EQ(watch->wal_backlog(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, CommitWatchInWal, ::testing::Values("WAL"),
                         [](auto const& mode) { return std::string(mode.param); });

TEST(CommitWatchOfAConvertedFile, GoesOnWhenTheFileIsConvertedToWal) {
    test::temp_db file;
    test::raw_db other(file.path());
    other.execute("CREATE TABLE t(a)");
    connection db{connection::settings{file.path(), open_mode::existing}};
    commit_watch watch(db);
    EXPECT_FALSE(watch.wal());
    EXPECT_EQ(other.text("PRAGMA journal_mode=WAL"), "wal");
    for (int i = 0; i < 3; ++i) {
        other.execute("INSERT INTO t VALUES(1)");
        EXPECT_EQ(watch.check(), finding::changed) << i;
        EXPECT_EQ(watch.check(), finding::unchanged) << i;
    }
}

}  // namespace
}  // namespace gander::sqlite

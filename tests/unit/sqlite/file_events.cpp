// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/file_events.hpp"

#include "sqlite/side_file.hpp"
#include "support/raw_db.hpp"
#include "support/temp.hpp"
#include "support/time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace gander::sqlite {
namespace {

class FileEvents : public ::testing::Test {
protected:
    /// What is told about the file now; nothing: no event. Events are there when the system call that
    /// caused them has returned.
    std::optional<bool> told(file_events::key which) {
        std::vector<file_events::hit> hits;
        events.read(hits);
        std::optional<bool> replaced;
        for (auto const& h : hits) {
            if (h.file != which) continue;
            EXPECT_FALSE(replaced) << "two hits for one file";
            replaced = h.replaced;
        }
        return replaced;
    }

    void SetUp() override {
        ASSERT_GE(events.descriptor(), 0);
        db.text("PRAGMA journal_mode=WAL");
        db.execute("CREATE TABLE t(a)");
        ASSERT_TRUE(events.add(1, file.path()));
        told(1);
    }

    test::temp_db file;
    test::raw_db db{file.path()};
    file_events events;
};

TEST_F(FileEvents, NothingHappensNothingIsTold) { EXPECT_FALSE(told(1)); }

TEST_F(FileEvents, ACommitIsTold) {
    db.execute("INSERT INTO t VALUES(1)");
    auto const hit = told(1);
    ASSERT_TRUE(hit);
    EXPECT_FALSE(*hit);
    EXPECT_FALSE(told(1)) << "told once";
}

TEST_F(FileEvents, TheBellIsTold) {
    side_file bell(file.path(), true);
    told(1);
    bell.ring();
    EXPECT_TRUE(told(1));
    side_file reader(file.path(), false);
    told(1);
    reader.ring();
    EXPECT_TRUE(told(1)) << "a reader rings by reading";
}

TEST_F(FileEvents, AWalThatComesLaterIsWatched) {
    test::temp_db late;
    ASSERT_TRUE(events.add(2, late.path()));
    test::raw_db other(late.path());
    other.text("PRAGMA journal_mode=WAL");
    other.execute("CREATE TABLE t(a)");
    EXPECT_TRUE(told(2));
    other.execute("INSERT INTO t VALUES(1)");
    EXPECT_TRUE(told(2));
}

TEST_F(FileEvents, ACommitInARollbackModeIsTold) {
    test::temp_db plain;
    test::raw_db other(plain.path());
    other.execute("CREATE TABLE t(a)");
    ASSERT_TRUE(events.add(3, plain.path()));
    told(3);
    other.execute("INSERT INTO t VALUES(1)");
    EXPECT_TRUE(told(3));
}

TEST_F(FileEvents, AFileRenamedOverIsTold) {
    std::string const fresh = file.beside(".new");
    test::write_file(fresh, "x");
    told(1);
    ASSERT_EQ(std::rename(fresh.c_str(), file.path().c_str()), 0);
    EXPECT_EQ(told(1), true);
}

TEST_F(FileEvents, ADeletedFileIsTold) {
    ASSERT_EQ(std::remove(file.path().c_str()), 0);
    EXPECT_EQ(told(1), true);
}

TEST_F(FileEvents, ADeletedWalIsTold) {
    ASSERT_EQ(std::remove(file.beside("-wal").c_str()), 0);
    EXPECT_EQ(told(1), true);
}

TEST_F(FileEvents, NeighboursOfASimilarNameAreNotTold) {
    for (char const* suffix : {"2", "-walnut", ".bak", "-other"}) {
        test::write_file(file.beside(suffix), "x");
        EXPECT_FALSE(told(1)) << suffix;
    }
}

TEST_F(FileEvents, TwoFilesInADirectoryAreToldApart) {
    std::string const second = file.dir().file("second.db");
    test::raw_db other(second);
    other.text("PRAGMA journal_mode=WAL");
    other.execute("CREATE TABLE t(a)");
    ASSERT_TRUE(events.add(2, second));
    told(1);
    other.execute("INSERT INTO t VALUES(1)");
    std::vector<file_events::hit> hits;
    events.read(hits);
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_EQ(hits[0].file, 2U);
}

TEST_F(FileEvents, AFileWatchedTwiceIsToldTwiceAndOutlivesOneOfThem) {
    ASSERT_TRUE(events.add(2, file.path()));
    db.execute("INSERT INTO t VALUES(1)");
    std::vector<file_events::hit> hits;
    events.read(hits);
    EXPECT_EQ(hits.size(), 2U);
    events.remove(1);
    db.execute("INSERT INTO t VALUES(1)");
    EXPECT_TRUE(told(2));
    events.remove(2);
    db.execute("INSERT INTO t VALUES(1)");
    EXPECT_FALSE(told(2));
    events.remove(2);
}

TEST_F(FileEvents, AMissingDirectoryIsRefused) {
    EXPECT_FALSE(events.add(9, file.dir().file("none/app.db")));
    events.remove(9);
}

TEST_F(FileEvents, AnOverflowTellsEverybodyToLook) {
    std::string const limit = test::contents("/proc/sys/fs/inotify/max_queued_events");
    int const queue = limit.empty() ? 16384 : std::stoi(limit);
    if (queue > 100'000) GTEST_SKIP() << "the queue is too long to fill here";
    // Alternating names: equal events in a row become one.
    for (int i = 0; i < queue; ++i) {
        std::string const name = file.dir().file(i % 2 == 0 ? "x" : "y");
        test::write_file(name, "");
        std::remove(name.c_str());
    }
    EXPECT_EQ(told(1), true);
    told(1);
    db.execute("INSERT INTO t VALUES(1)");
    EXPECT_TRUE(told(1)) << "it goes on afterwards";
}

}  // namespace
}  // namespace gander::sqlite

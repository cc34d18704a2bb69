// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/side_file.hpp"

#include "support/child.hpp"
#include "support/raw_db.hpp"
#include "support/temp.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <string>

namespace gander::sqlite {
namespace {

class SideFile : public ::testing::Test {
protected:
    SideFile() { test::raw_db(file.path()).execute("CREATE TABLE t(a)"); }

    mode_t mode() const {
        struct stat s {};
        EXPECT_EQ(::stat(side_file::path_for(file.path()).c_str(), &s), 0);
        return s.st_mode & 0777;
    }

    /// Python that takes the lock on a byte of the side file and says so.
    test::child lock_byte(int byte) {
        return test::python(
            "import fcntl, sys\n"
            "f = open(sys.argv[1], 'r+b')\n"
            "fcntl.lockf(f, fcntl.LOCK_EX, 1, int(sys.argv[2]))\n"
            "print('locked', flush=True)\n"
            "sys.stdin.readline()\n",
            {side_file::path_for(file.path()), std::to_string(byte)});
    }

    test::temp_db file;
};

TEST_F(SideFile, ATurnExcludesAnotherHandleOfThisProcess) {
    side_file a(file.path(), true);
    side_file b(file.path(), true);
    EXPECT_TRUE(a.try_take_turn());
    EXPECT_FALSE(b.try_take_turn());
    a.end_turn();
    EXPECT_TRUE(b.try_take_turn());
    EXPECT_FALSE(a.try_take_turn());
    b.end_turn();
}

TEST_F(SideFile, ClosingOneHandleKeepsAnothersTurn) {
    side_file a(file.path(), true);
    EXPECT_TRUE(a.try_take_turn());
    { side_file b(file.path(), true); }
    side_file c(file.path(), true);
    EXPECT_FALSE(c.try_take_turn());
}

TEST_F(SideFile, ATurnExcludesAnotherProcessUntilItsDeath) {
    side_file mine(file.path(), true);
    auto other = lock_byte(0);
    other.expect("locked");
    EXPECT_FALSE(mine.try_take_turn());
    EXPECT_TRUE(mine.try_take_checkpoint()) << "another byte, another lock";
    mine.end_checkpoint();
    other.signal(SIGKILL);
    ASSERT_TRUE(other.wait());
    EXPECT_TRUE(mine.try_take_turn());
    mine.end_turn();
}

TEST_F(SideFile, TheCheckpointRightExcludesOthersAndIsNotTheTurn) {
    side_file a(file.path(), true);
    side_file b(file.path(), true);
    EXPECT_TRUE(a.try_take_checkpoint());
    EXPECT_FALSE(b.try_take_checkpoint());
    EXPECT_TRUE(b.try_take_turn());
    b.end_turn();
    a.end_checkpoint();
    EXPECT_TRUE(b.try_take_checkpoint());
    b.end_checkpoint();
}

TEST_F(SideFile, ItHasTheDatabasesMode) {
    for (mode_t wanted : {0600, 0640, 0664}) {
        ::unlink(side_file::path_for(file.path()).c_str());
        ASSERT_EQ(::chmod(file.path().c_str(), wanted), 0);
        mode_t const mask = ::umask(077);
        { side_file made(file.path(), true); }
        ::umask(mask);
        EXPECT_EQ(mode(), wanted);
    }
}

TEST_F(SideFile, AReaderMakesNone) {
    side_file reader(file.path(), false);
    EXPECT_FALSE(test::exists(side_file::path_for(file.path())));
    reader.ring();
    EXPECT_FALSE(reader.try_take_checkpoint()) << "without a file nobody checkpoints";
    EXPECT_TRUE(reader.try_take_turn()) << "without a file every turn is granted";
}

TEST_F(SideFile, LosingItCostsNothingButTheTurn) {
    side_file a(file.path(), true);
    ASSERT_EQ(::unlink(side_file::path_for(file.path()).c_str()), 0);
    EXPECT_TRUE(a.try_take_turn());
    a.ring();
    a.end_turn();
}

TEST_F(SideFile, ItDoesNotTakeTheNumberOfAClosedStandardStream) {
    int const saved = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    ::close(STDIN_FILENO);
    {
        side_file made(file.path(), true);
        EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "descriptor 0 is the side file";
        side_file other(file.path(), true);
        EXPECT_TRUE(made.try_take_turn());
        EXPECT_FALSE(other.try_take_turn());
    }
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
}

TEST_F(SideFile, ItIsNotInheritedByPrograms) {
    side_file made(file.path(), true);
    auto ls = test::child({"/bin/sh", "-c", "readlink /proc/self/fd/* 2>/dev/null; echo end"});
    for (auto const& line : ls.rest()) EXPECT_EQ(line.find("-gander"), std::string::npos) << line;
}

}  // namespace
}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A transaction around a connection that the user opened.
#include <gander/sqlite.hpp>

#include <gander/gander.hpp>

#include "support/raw_db.hpp"
#include "support/temp.hpp"

#include <sqlite3.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gander {
namespace {

using namespace std::string_literals;

class BorrowedTransaction : public ::testing::Test {
protected:
    template <class F>
    static error_code code(F f) {
        try {
            f();
        } catch (system_error const& e) {
            return e.code();
        }
        return {};
    }

    test::temp_db file;
    test::raw_db db{file.path()};
    transaction tx{db.handle()};
};

TEST_F(BorrowedTransaction, BindsAndReadsEveryType) {
    tx.execute("CREATE TABLE t(a)");
    std::vector<std::byte> const blob = {std::byte{0}, std::byte{255}};
    std::string const nul = "a\0b"s;
    tx.execute("INSERT INTO t VALUES(?)", nullptr);
    tx.execute("INSERT INTO t VALUES(?)", std::nullopt);
    tx.execute("INSERT INTO t VALUES(?)", std::numeric_limits<std::int64_t>::min());
    tx.execute("INSERT INTO t VALUES(?)", 2.5);
    tx.execute("INSERT INTO t VALUES(?)", nul);
    tx.execute("INSERT INTO t VALUES(?)", std::span<std::byte const>(blob));
    tx.execute("INSERT INTO t VALUES(?)", true);
    tx.execute("INSERT INTO t VALUES(?)", std::optional<int>(7));
    tx.execute("INSERT INTO t VALUES(?)", payload::text("x"));
    auto row = tx.query("SELECT a FROM t ORDER BY rowid");
    ASSERT_TRUE(row.step());
    EXPECT_TRUE(row.is_null(0));
    EXPECT_FALSE(row.get<std::optional<int>>(0));
    ASSERT_TRUE(row.step());
    EXPECT_TRUE(row.is_null(0));
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<std::int64_t>(0), std::numeric_limits<std::int64_t>::min());
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<double>(0), 2.5);
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<std::string>(0), nul);
    EXPECT_EQ(row.get<std::optional<std::string>>(0), nul);
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<std::string>(0), "\0\xff"s);
    ASSERT_TRUE(row.step());
    EXPECT_TRUE(row.get<bool>(0));
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<std::optional<std::int64_t>>(0), 7);
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.get<std::string_view>(0), "\"x\"");
    EXPECT_EQ(row.column_count(), 1);
    EXPECT_EQ(row.column_name(0), "a");
    EXPECT_FALSE(row.step());
}

TEST_F(BorrowedTransaction, UnsignedNumbersBeyondSixtyThreeBitsAreRefused) {
    EXPECT_EQ(code([&] { tx.query("SELECT ?", std::uint64_t{1} << 63U); }), errc::out_of_range);
    EXPECT_NO_THROW(tx.query("SELECT ?", (std::uint64_t{1} << 63U) - 1));
}

TEST_F(BorrowedTransaction, CountsTheRowsThatChanged) {
    EXPECT_EQ(tx.execute("CREATE TABLE t(a)"), 0);
    EXPECT_EQ(tx.execute("INSERT INTO t VALUES(1),(2),(3)"), 3);
    EXPECT_EQ(tx.last_insert_rowid(), 3);
    EXPECT_EQ(tx.execute("UPDATE t SET a=0 WHERE a>$1", 1), 2);
    EXPECT_EQ(tx.execute("DELETE FROM t WHERE a=99"), 0);
    EXPECT_EQ(tx.execute("CREATE TABLE u(a)"), 0) << "the count of the statement before";
}

TEST_F(BorrowedTransaction, AnErrorNamesTheStatementAndTheMessage) {
    try {
        tx.execute("INSERT INTO missing VALUES(1)");
        FAIL();
    } catch (system_error const& e) {
        EXPECT_EQ(e.code().category(), sqlite_category());
        std::string const text = e.what();
        EXPECT_NE(text.find("INSERT INTO missing"), std::string::npos) << text;
        EXPECT_NE(text.find("no such table"), std::string::npos) << text;
    }
}

TEST_F(BorrowedTransaction, WrongNumbersOfParametersAndStatementsAreRefused) {
    EXPECT_TRUE(code([&] { tx.execute("SELECT ?"); }).failed());
    EXPECT_TRUE(code([&] { tx.execute("SELECT ?", 1, 2); }).failed());
    EXPECT_TRUE(code([&] { tx.execute("SELECT 1; SELECT 2"); }).failed());
    EXPECT_TRUE(code([&] { tx.execute(""); }).failed());
    EXPECT_FALSE(code([&] { tx.execute("SELECT 1; \n"); }).failed());
}

TEST_F(BorrowedTransaction, OurWritesCommitAndRollBackWithTheUsers) {
    create_tables(tx);
    create_tables(tx);
    db.execute("CREATE TABLE mine(a)");
    db.execute("BEGIN");
    tx.execute("INSERT INTO mine VALUES(1)");
    publish(tx, "t", array(1), "key");
    notify(tx, "c", array(2));
    db.execute("ROLLBACK");
    EXPECT_EQ(db.number("SELECT (SELECT count(*) FROM mine) + (SELECT count(*) FROM "
                        "_honker_stream) + (SELECT count(*) FROM _honker_notifications)"),
              0);
    db.execute("BEGIN");
    publish(tx, "t", array(1), "key");
    notify(tx, "c", array(2));
    db.execute("COMMIT");
    EXPECT_EQ(db.text("SELECT topic||key||payload FROM _honker_stream"), "tkey[1]");
    EXPECT_EQ(db.text("SELECT channel||payload FROM _honker_notifications"), "c[2]");
}

TEST_F(BorrowedTransaction, OutsideOfATransactionEachWriteCommitsByItself) {
    create_tables(tx);
    notify(tx, "c", array(1));
    EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 1);
    test::raw_db other(file.path());
    EXPECT_EQ(other.number("SELECT count(*) FROM _honker_notifications"), 1);
}

TEST_F(BorrowedTransaction, CreatedTablesRollBackWithTheUsersTransaction) {
    db.execute("BEGIN");
    create_tables(tx);
    db.execute("ROLLBACK");
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master"), 0);
}

TEST_F(BorrowedTransaction, AFailingStatementDoesNotDoomIt) {
    db.execute("CREATE TABLE t(a UNIQUE)");
    db.execute("BEGIN");
    tx.execute("INSERT INTO t VALUES(1)");
    EXPECT_EQ(code([&] { tx.execute("INSERT INTO t VALUES(1)"); }).value(),
              SQLITE_CONSTRAINT_UNIQUE);
    tx.execute("INSERT INTO t VALUES(2)");
    db.execute("COMMIT");
    EXPECT_EQ(db.number("SELECT count(*) FROM t"), 2);
}

TEST_F(BorrowedTransaction, ASavepointIsUndoneByAThrowAndKeptByItsEnd) {
    db.execute("CREATE TABLE t(a)");
    db.execute("BEGIN");
    int const result = tx.savepoint([&] {
        tx.execute("INSERT INTO t VALUES(1)");
        return 7;
    });
    EXPECT_EQ(result, 7);
    EXPECT_THROW(tx.savepoint([&] {
        tx.execute("INSERT INTO t VALUES(2)");
        tx.savepoint([&] { tx.execute("INSERT INTO t VALUES(3)"); });
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    db.execute("COMMIT");
    EXPECT_EQ(db.text("SELECT group_concat(a) FROM t"), "1");
}

TEST_F(BorrowedTransaction, NothingIsInstalledOnTheConnection) {
    test::raw_db mine(file.path());
    auto const settings = [&] {
        return mine.text("PRAGMA synchronous") + mine.text("PRAGMA busy_timeout") +
               mine.text("PRAGMA foreign_keys") + mine.text("PRAGMA cache_size");
    };
    std::string const before = settings();
    {
        transaction borrowed(mine.handle());
        create_tables(borrowed);
        notify(borrowed, "c", array());
    }
    EXPECT_EQ(settings(), before);
    EXPECT_EQ(sqlite3_commit_hook(mine.handle(), nullptr, nullptr), nullptr);
    EXPECT_EQ(sqlite3_update_hook(mine.handle(), nullptr, nullptr), nullptr);
    EXPECT_EQ(sqlite3_next_stmt(mine.handle(), nullptr), nullptr) << "a statement was left behind";
}

TEST_F(BorrowedTransaction, NamesAreChecked) {
    create_tables(tx);
    for (std::string const& bad : {""s, "a\0b"s, "\xff"s}) {
        EXPECT_EQ(code([&] { notify(tx, bad, array()); }), errc::invalid_name);
        EXPECT_EQ(code([&] { publish(tx, bad, array()); }), errc::invalid_name);
    }
}

TEST_F(BorrowedTransaction, AFileWithoutTablesIsAnErrorThatSaysSo) {
    try {
        notify(tx, "c", array());
        FAIL();
    } catch (system_error const& e) {
        EXPECT_NE(std::string(e.what()).find("_honker_notifications"), std::string::npos);
    }
}

}  // namespace
}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/schema.hpp"

#include "support/raw_db.hpp"
#include "support/temp.hpp"

#include <gander/error.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace gander::sqlite {
namespace {

/// name type notnull default pk, a column each.
std::string columns(test::raw_db& db, std::string const& table) {
    return db.text(
        "SELECT group_concat(name || ' ' || type || iif(\"notnull\", ' NN', '') || "
        "iif(dflt_value IS NULL, '', '=' || dflt_value) || iif(pk, ' PK' || pk, ''), "
        "', ') FROM pragma_table_info('" +
        table + "')");
}

std::string indexed(test::raw_db& db, std::string const& index) {
    return db.text(
        "SELECT group_concat(name || iif(\"desc\", ' DESC', ''), ',') FROM "
        "pragma_index_xinfo('" +
        index + "') WHERE key");
}

std::map<std::string, std::string> const contract = {
    {"_honker_notifications",
     "id INTEGER PK1, channel TEXT NN, payload TEXT NN, created_at INTEGER NN=unixepoch()"},
    {"_honker_live",
     "id INTEGER PK1, queue TEXT NN, payload TEXT NN, state TEXT NN='pending', "
     "priority INTEGER NN=0, run_at INTEGER NN=unixepoch(), worker_id TEXT, "
     "claim_expires_at INTEGER, attempts INTEGER NN=0, max_attempts INTEGER NN=3, "
     "created_at INTEGER NN=unixepoch(), expires_at INTEGER"},
    {"_honker_dead",
     "id INTEGER PK1, queue TEXT NN, payload TEXT NN, priority INTEGER NN=0, "
     "run_at INTEGER NN=0, attempts INTEGER NN=0, max_attempts INTEGER NN=0, last_error TEXT, "
     "created_at INTEGER NN=unixepoch(), died_at INTEGER NN=unixepoch()"},
    {"_honker_locks", "name TEXT PK1, owner TEXT NN, expires_at INTEGER NN"},
    {"_honker_rate_limits", "name TEXT NN PK1, window_start INTEGER NN PK2, count INTEGER NN=0"},
    {"_honker_scheduler_tasks",
     "name TEXT PK1, queue TEXT NN, cron_expr TEXT NN, payload TEXT NN, priority INTEGER NN=0, "
     "expires_s INTEGER, next_fire_at INTEGER NN, enabled INTEGER NN=1, max_attempts INTEGER NN=3"},
    {"_honker_results",
     "job_id INTEGER PK1, value TEXT, created_at INTEGER NN=unixepoch(), expires_at INTEGER"},
    {"_honker_stream",
     "offset INTEGER PK1, topic TEXT NN, key TEXT, payload TEXT NN, "
     "created_at INTEGER NN=unixepoch()"},
    {"_honker_stream_consumers", "name TEXT NN PK1, topic TEXT NN PK2, offset INTEGER NN=0"},
};

class Schema : public ::testing::Test {
protected:
    void create() {
        connection db(settings);
        create_schema(db);
    }

    test::temp_db file;
    connection::settings settings{file.path()};
};

TEST_F(Schema, EveryTableHasTheColumnsOfTheContract) {
    create();
    test::raw_db db(file.path());
    for (auto const& [table, expected] : contract) EXPECT_EQ(columns(db, table), expected) << table;
}

TEST_F(Schema, IdsAreNeverUsedAgainWhereTheContractSaysSo) {
    create();
    test::raw_db db(file.path());
    for (char const* table : {"_honker_notifications", "_honker_live", "_honker_stream"})
        EXPECT_EQ(db.number("SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name='" +
                            std::string(table) + "'"),
                  1)
            << table;
    EXPECT_EQ(
        db.number("SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name='_honker_dead'"),
        0);
}

TEST_F(Schema, EveryIndexHasTheColumnsOfTheContract) {
    create();
    test::raw_db db(file.path());
    EXPECT_EQ(indexed(db, "_honker_notifications_recent"), "channel,id");
    EXPECT_EQ(indexed(db, "_honker_live_claim"), "queue,priority DESC,run_at,id");
    EXPECT_EQ(indexed(db, "_honker_live_pending_deadline"), "queue,run_at");
    EXPECT_EQ(indexed(db, "_honker_live_processing_deadline"), "queue,claim_expires_at");
    EXPECT_EQ(indexed(db, "_honker_stream_topic"), "topic,offset");
}

TEST_F(Schema, WhatIsNotHonkersIsNamedAsOurs) {
    create();
    test::raw_db db(file.path());
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger','view')"), 0);
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE name NOT LIKE '\\_honker\\_%' "
                        "ESCAPE '\\' AND name NOT LIKE '\\_gander\\_%' ESCAPE '\\' AND name NOT "
                        "LIKE 'sqlite\\_%' ESCAPE '\\'"),
              0);
    EXPECT_EQ(db.number("PRAGMA user_version"), 0) << "user_version is the application's";
}

TEST_F(Schema, MakingItTwiceChangesNothing) {
    create();
    test::raw_db db(file.path());
    std::int64_t const before = db.number("PRAGMA schema_version");
    create();
    EXPECT_EQ(db.number("PRAGMA schema_version"), before);
    EXPECT_EQ(db.number("SELECT count(*) FROM _gander_schema"), 1);
    connection again(settings);
    EXPECT_TRUE(schema_complete(again));
}

TEST_F(Schema, AnOlderHonkerFileGetsTheColumnsItLacksAndKeepsItsRows) {
    {
        test::raw_db old(file.path());
        old.execute(
            "CREATE TABLE _honker_scheduler_tasks(name TEXT PRIMARY KEY, queue TEXT NOT "
            "NULL, cron_expr TEXT NOT NULL, payload TEXT NOT NULL, priority INTEGER NOT "
            "NULL DEFAULT 0, expires_s INTEGER, next_fire_at INTEGER NOT NULL)");
        old.execute("INSERT INTO _honker_scheduler_tasks VALUES('t','q','@every 5s','1',0,NULL,7)");
    }
    create();
    test::raw_db db(file.path());
    EXPECT_EQ(columns(db, "_honker_scheduler_tasks"), contract.at("_honker_scheduler_tasks"));
    EXPECT_EQ(db.text("SELECT enabled || ',' || max_attempts || ',' || next_fire_at FROM "
                      "_honker_scheduler_tasks"),
              "1,3,7");
}

TEST_F(Schema, AFileThatLacksOnlyMaxAttemptsGetsIt) {
    create();
    test::raw_db db(file.path());
    db.execute("ALTER TABLE _honker_scheduler_tasks DROP COLUMN max_attempts");
    connection ours(settings);
    EXPECT_FALSE(schema_complete(ours));
    create_schema(ours);
    EXPECT_TRUE(schema_complete(ours));
    EXPECT_EQ(columns(db, "_honker_scheduler_tasks"), contract.at("_honker_scheduler_tasks"));
}

TEST_F(Schema, ADroppedTableIsMadeAgain) {
    create();
    test::raw_db(file.path()).execute("DROP TABLE _honker_notifications");
    connection db(settings);
    EXPECT_FALSE(schema_complete(db));
    create_schema(db);
    EXPECT_TRUE(schema_complete(db));
}

TEST_F(Schema, ANewerVersionIsRefusedAndLeftAlone) {
    create();
    test::raw_db db(file.path());
    db.execute("UPDATE _gander_schema SET version=99");
    db.execute("DROP TABLE _honker_locks");
    connection ours(settings);
    for (auto* f : {+[](connection& c) { (void)schema_complete(c); },
                    +[](connection& c) { create_schema(c); }}) {
        try {
            f(ours);
            FAIL() << "a newer schema was accepted";
        } catch (system_error const& e) {
            EXPECT_EQ(e.code(), errc::schema_too_new);
        }
    }
    EXPECT_FALSE(ours.in_transaction());
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE name='_honker_locks'"), 0);
}

TEST_F(Schema, InATransactionOfTheUsersItRollsBackWithIt) {
    connection db(settings);
    db.execute("BEGIN");
    create_schema(db);
    EXPECT_TRUE(db.in_transaction());
    db.execute("ROLLBACK");
    EXPECT_EQ(test::raw_db(file.path()).number("SELECT count(*) FROM sqlite_master"), 0);
}

TEST_F(Schema, ManyWhoMakeItAtOnceAllSucceed) {
    test::raw_db held(file.path());
    ASSERT_EQ(held.text("PRAGMA journal_mode=WAL"), "wal");
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([this] {
            connection db(settings);
            db.wait_for_locks(steady_ms() + 20'000);
            create_schema(db);
            EXPECT_TRUE(schema_complete(db));
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(test::raw_db(file.path()).number("SELECT count(*) FROM _gander_schema"), 1);
}

TEST_F(Schema, AFileWithManyJobsGetsTheClaimIndexOnlyWhenAskedFor) {
    create();
    {
        test::raw_db db(file.path());
        db.execute("DROP INDEX _gander_live_ready");
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100001) "
            "INSERT INTO _honker_live(queue, payload) SELECT 'q', '1' FROM n");
    }
    connection db(settings);
    EXPECT_TRUE(schema_complete(db));
    create_schema(db);
    auto const there = [&] {
        return db.query_text("SELECT count(*) FROM sqlite_master WHERE name='_gander_live_ready'");
    };
    EXPECT_EQ(there(), "0");
    create_schema(db, true);
    EXPECT_EQ(there(), "1");
}

}  // namespace
}  // namespace gander::sqlite

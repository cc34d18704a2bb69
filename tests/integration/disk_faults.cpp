// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A disk that fails at one call and works at the next.
#include "support/fault_vfs.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <sqlite3.h>

namespace gander::test {
namespace {

fault_vfs& disk() {
    static fault_vfs instance;
    return instance;
}

class disk_faults : public io_test {
protected:
    open_options const options{.vfs = disk().name()};

    std::int64_t rows() {
        return raw_db(path).number("SELECT count(*) FROM _honker_notifications");
    }
};

TEST_F(disk_faults,
       a_commit_whose_sync_failed_is_not_acknowledged_nor_is_its_connection_used_again) {
    database db(io, path, options);
    run([&]() -> awaitable<void> {
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        int const opened = disk().opened();
        int const failed = disk().failed();
        disk().fail_syncs(1);
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
        EXPECT_EQ(disk().failed(), failed + 1);
        EXPECT_EQ(ec, errc::commit_outcome_unknown) << ec.message();
        // The kernel may have dropped what it could not write, and the next sync would not say so:
        // what follows goes through a connection that reads the file anew.
        co_await db.async_notify("c", payload::raw("3"), asio::deferred);
        EXPECT_GT(disk().opened(), opened);
    });
    EXPECT_GE(rows(), 2);
    EXPECT_EQ(raw_db(path).text("PRAGMA integrity_check"), "ok");
}

TEST_F(disk_faults, a_sync_that_goes_on_failing_fails_every_write_until_it_works) {
    database db(io, path, options);
    listener l = db.listen("c");
    run([&]() -> awaitable<void> {
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
        disk().fail_syncs(1000000);
        for (int i = 0; i < 5; ++i) {
            auto const [ec, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
            EXPECT_TRUE(ec);
        }
        disk().fail_syncs(0);
        co_await db.async_notify("c", payload::raw("3"), asio::deferred);
        std::string last;
        while (last != "3") {
            notification const n = co_await l.async_receive({.wait = patience}, asio::deferred);
            last = n.payload();
        }
    });
}

TEST_F(disk_faults, a_write_that_finds_no_room_changes_nothing_whichever_one_it_is) {
    database db(io, path, options);
    queue q(db, "q");
    run([&]() -> awaitable<void> {
        std::int64_t acknowledged = 0;
        for (int n = 1; n < 30; ++n) {
            disk().fail_writes(n);  // as many in a row: the first of them ends the operation
            auto const [ec, id] = co_await q.async_enqueue(payload::raw("1"), tuple);
            disk().fail_writes(0);
            if (!ec)
                ++acknowledged;
            else
                EXPECT_EQ(ec, boost::system::errc::no_space_on_device) << ec.message();
            co_await q.async_enqueue(payload::raw("2"), asio::deferred);
            ++acknowledged;
        }
        EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_live"), acknowledged);
    });
    EXPECT_EQ(raw_db(path).text("PRAGMA integrity_check"), "ok");
}

TEST_F(disk_faults, all_of_a_group_fail_together_and_can_be_tried_again) {
    database db(io, path, options);
    run([&]() -> awaitable<void> {
        co_await db.async_notify("c", payload::raw("0"), asio::deferred);
        int failed = 0;
        int done = 0;
        disk().fail_writes(1);
        for (int i = 0; i < 50; ++i)
            db.async_notify("c", payload::raw("1"), [&](error_code const& ec, std::int64_t) {
                ++done;
                if (ec) ++failed;
            });
        while (done < 50) co_await pause(1ms);
        EXPECT_GT(failed, 0);
        EXPECT_EQ(rows(), 1 + done - failed);
        auto const [ec, id] = co_await db.async_notify("c", payload::raw("2"), tuple);
        EXPECT_FALSE(ec);
    });
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// No room: what is refused fails with a typed error and changes nothing, what is acknowledged is
/// there, and all goes on when there is room again.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>

namespace gander::test {
namespace {

constexpr int sqlite_full = 13;

/// A file system of its own, of `kib` KiB.
class small_disk {
public:
    explicit small_disk(int kib) {
        mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", MS_NODEV,
                           ("mode=0777,size=" + std::to_string(kib) + 'k').c_str()) == 0;
    }
    ~small_disk() {
        if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
    }

    bool mounted() const noexcept { return mounted_; }
    std::string file(std::string_view name) const { return dir_.file(name); }

    /// Takes all the room there is, to the last byte, or up to `bytes`.
    void fill(std::size_t bytes = SIZE_MAX) const {
        std::FILE* const f = std::fopen(file("ballast").c_str(), "ab");
        std::string const block(4096, 'x');
        std::setvbuf(f, nullptr, _IONBF, 0);
        for (std::size_t n = 0; n < bytes; n += block.size())
            if (std::fwrite(block.data(), 1, block.size(), f) < block.size()) break;
        std::fclose(f);
    }
    void free() const { std::filesystem::remove(file("ballast")); }

private:
    temp_dir dir_;
    bool mounted_ = false;
};

payload body(std::size_t bytes) { return payload::text(std::string(bytes, 'x')); }

/// Only "no room" may be the reason, in whichever of the ways SQLite reports it.
void expect_no_room(error_code const& ec) {
    EXPECT_TRUE(ec == boost::system::errc::no_space_on_device ||
                ec == boost::system::errc::io_error || ec == errc::commit_outcome_unknown)
        << ec << ' ' << ec.message();
}

class disk_full : public io_test {
protected:
    void SetUp() override {
        if (!disk.mounted()) GTEST_SKIP() << "a small file system cannot be mounted here";
    }

    small_disk disk{4096};
    std::string const full_path = disk.file("app.db");
};

TEST_F(disk_full, enqueue_and_notify_fail_and_all_goes_on_when_there_is_room) {
    std::int64_t acknowledged = 0;
    disk.fill(1024 * 1024);  // the room that there will be again
    {
        database db(io, full_path);
        queue q(db, "q");
        listener l = db.listen("c");
        run([&]() -> awaitable<void> {
            error_code ec;
            std::int64_t id = 0;
            payload const large = body(20000);
            for (int i = 0; i < 1000 && !ec; ++i) {
                std::tie(ec, id) = co_await q.async_enqueue(large, tuple);
                if (!ec) ++acknowledged;
            }
            EXPECT_GT(acknowledged, 10);
            expect_no_room(ec);
            disk.fill();
            auto const [notified, n] = co_await db.async_notify("c", large, tuple);
            expect_no_room(notified);
            auto const [published, offset] = co_await db.async_publish("t", large, tuple);
            expect_no_room(published);
            disk.free();
            for (int done = 0; done < 5; ++done, --acknowledged) {
                job j = co_await q.async_claim("w", {.wait = 0s}, asio::deferred);
                co_await j.async_ack(asio::deferred);
            }
            // Nothing of the refused ones is received.
            co_await db.async_notify("c", payload::raw("1"), asio::deferred);
            notification const first = co_await l.async_receive({.wait = patience}, asio::deferred);
            EXPECT_EQ(first.payload(), "1");
        });
        EXPECT_EQ(raw_db(full_path).number("SELECT count(*) FROM _honker_live"), acknowledged);
        EXPECT_EQ(raw_db(full_path).number("SELECT count(*) FROM _honker_notifications"), 1);
    }
    raw_db raw(full_path);
    EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_live"), acknowledged);
}

TEST_F(disk_full, an_ack_that_finds_no_room_fails_and_the_job_is_delivered_again) {
    database db(io, full_path);
    queue q(db, "q", {.lease = 1s});
    run([&]() -> awaitable<void> {
        co_await q.async_enqueue(payload::raw("1"), asio::deferred);
        job j = co_await q.async_claim("w", asio::deferred);
        disk.fill();
        auto const [ec] = co_await j.async_ack(tuple);
        expect_no_room(ec);
        GANDER_REQUIRE(ec);
        disk.free();
        job again = co_await q.async_claim("w", {.wait = patience}, asio::deferred);
        EXPECT_EQ(again.id(), j.id());
        EXPECT_EQ(again.attempt(), 2);
        auto const [late] = co_await j.async_ack(tuple);
        EXPECT_EQ(late, errc::lease_lost);
        co_await again.async_ack(asio::deferred);
        queue_sizes const sizes = co_await q.async_sizes(asio::deferred);
        EXPECT_EQ(sizes.ready + sizes.processing + sizes.dead, 0);
    });
}

TEST_F(disk_full, a_transaction_of_the_users_fails_whole) {
    database db(io, full_path);
    run([&]() -> awaitable<void> {
        auto const create = [](transaction& tx) { tx.execute("CREATE TABLE t(a)"); };
        co_await db.async_transact(create, asio::deferred);
        disk.fill();
        auto const f = [](transaction& tx) {
            tx.execute("INSERT INTO t VALUES(zeroblob(300000))");
            notify(tx, "c", payload::raw("1"));
        };
        std::exception_ptr const e = std::get<0>(co_await db.async_transact(f, tuple));
        expect_no_room(code_of(e));
        disk.free();
        co_await db.async_transact(f, asio::deferred);
    });
    raw_db raw(full_path);
    EXPECT_EQ(raw.number("SELECT count(*) FROM t"), 1);
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_notifications"), 1);
}

TEST_F(disk_full, listeners_and_consumers_live_through_it) {
    database db(io, full_path);
    listener l = db.listen("c");
    consumer c(db, "t", "n");
    run([&]() -> awaitable<void> {
        co_await db.async_publish("t", payload::raw("1"), asio::deferred);
        batch const b = co_await c.async_read(asio::deferred);
        disk.fill();
        auto const [ec] = co_await c.async_commit(b, tuple);
        expect_no_room(ec);
        auto const [waited, n] = co_await l.async_receive({.wait = 20ms}, tuple);
        EXPECT_EQ(waited, errc::timed_out);
        disk.free();
        co_await c.async_commit(b, asio::deferred);
        co_await db.async_notify("c", payload::raw("2"), asio::deferred);
        EXPECT_EQ((co_await l.async_receive({.wait = patience}, asio::deferred)).payload(), "2");
    });
}

TEST_F(disk_full, opening_a_new_file_fails_and_works_later) {
    disk.fill();
    error_code const ec = code_of([&] { database const db(io, full_path); });
    EXPECT_EQ(ec.category(), sqlite_category()) << ec.message();
    disk.free();
    EXPECT_EQ(code_of([&] { database const db(io, full_path); }), error_code());
}

class limited : public io_test {};

TEST_F(limited, a_database_at_its_page_limit_refuses_inserts_and_takes_acks) {
    database db(io, path);
    run([&]() -> awaitable<void> {
        queue q(db, "q");
        payload const large = body(8000);
        for (int i = 0; i < 3; ++i) co_await q.async_enqueue(large, asio::deferred);
        job j = co_await q.async_claim("w", asio::deferred);
        // The limit is the connection's own: the writer gets it through a transaction.
        auto const limit = [](transaction& tx) {
            auto pages = tx.query("PRAGMA page_count");
            pages.step();
            auto const now = pages.get<std::int64_t>(0);
            tx.query("PRAGMA max_page_count=" + std::to_string(now + 20)).step();
        };
        std::exception_ptr const refused = std::get<0>(co_await db.async_transact(limit, tuple));
        GANDER_REQUIRE(!refused);
        error_code ec;
        std::int64_t id = 0;
        int added = 0;
        for (; added < 100 && !ec; ++added)
            std::tie(ec, id) = co_await q.async_enqueue(large, tuple);
        EXPECT_EQ(ec.value() & 0xff, sqlite_full) << ec.message();
        co_await j.async_ack(asio::deferred);
        co_await q.async_enqueue(large, asio::deferred);
    });
}

TEST_F(limited, a_file_size_limit_is_an_error_and_not_the_end_of_the_process) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    database db(io, path);
    queue q(db, "q");
    int acknowledged = 0;
    run([&]() -> awaitable<void> {
        co_await q.async_enqueue(payload::raw("1"), asio::deferred);
        rlimit small = before;
        small.rlim_cur = 400 * 1024;
        ::setrlimit(RLIMIT_FSIZE, &small);
        error_code ec;
        std::int64_t id = 0;
        payload const large = body(20000);
        for (int i = 0; i < 100 && !ec; ++i) {
            std::tie(ec, id) = co_await q.async_enqueue(large, tuple);
            if (!ec) ++acknowledged;
        }
        expect_no_room(ec);
        ::setrlimit(RLIMIT_FSIZE, &before);
        co_await q.async_enqueue(large, asio::deferred);
        job j = co_await q.async_claim("w", asio::deferred);
        co_await j.async_ack(asio::deferred);
    });
    ::setrlimit(RLIMIT_FSIZE, &before);
    raw_db raw(path);
    EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_live"), acknowledged + 1);
    EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace gander::test

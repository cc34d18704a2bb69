// SPDX-License-Identifier: Apache-2.0 OR MIT
// Compares what the feeder put in with what came out, in the programs' own tables.
//
//   report app.db --held          how many jobs are in somebody's hands
//   report app.db --wait 60       waits until all is done, prints the table; exit 1 if anything is
//   lost
#include <gander/gander.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <sqlite3.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;

// A connection of our own, outside of gander: transaction{sqlite3*} lends its statements to it.
struct closer {
    void operator()(sqlite3* db) const { ::sqlite3_close(db); }
};
using connection = std::unique_ptr<sqlite3, closer>;

connection open_read_only(char const* path) {
    sqlite3* db = nullptr;
    int const rc = ::sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, nullptr);
    connection owned(db);
    if (rc != SQLITE_OK) throw std::runtime_error(std::string(path) + ": " + ::sqlite3_errstr(rc));
    ::sqlite3_busy_timeout(db, 5000);
    return owned;
}

struct counts {
    std::int64_t events_in, events_out;
    std::int64_t miscounted;  // Actions whose number differs between the two sides.
    std::int64_t jobs_in, jobs_out;
    std::int64_t jobs_missing;  // Jobs without an answer.
    std::int64_t repeated;      // Jobs that needed a second claim.

    bool complete() const {
        return events_in == events_out && miscounted == 0 && jobs_in == jobs_out &&
               jobs_missing == 0;
    }
};

std::int64_t number(gander::transaction& tx, std::string_view sql) {
    auto row = tx.query(sql);
    row.step();
    return row.get<std::int64_t>(0);
}

counts count(sqlite3* db) {
    gander::transaction tx{db};
    tx.execute("BEGIN");  // One snapshot for all that follows.
    counts const c{
        number(tx, "SELECT count(*) FROM log_lines"),
        number(tx, "SELECT coalesce(sum(n), 0) FROM totals"),
        number(tx,
               "SELECT count(*) FROM (SELECT action, count(*) AS m FROM log_lines GROUP BY action)"
               " LEFT JOIN totals USING(action) WHERE n IS NOT m"),
        number(tx, "SELECT count(job) FROM log_lines"),
        number(tx, "SELECT count(*) FROM answers"),
        number(tx,
               "SELECT count(*) FROM log_lines LEFT JOIN answers USING(job)"
               " WHERE log_lines.job IS NOT NULL AND answers.job IS NULL"),
        number(tx, "SELECT count(*) FROM answers WHERE attempt > 1"),
    };
    tx.execute("COMMIT");
    return c;
}

void print(counts const& c) {
    auto const row = [](char const* name, std::int64_t in, std::int64_t out) {
        std::printf("  %-8s %10lld %10lld %10lld\n", name, static_cast<long long>(in),
                    static_cast<long long>(out), static_cast<long long>(in - out));
    };
    std::printf("  %-8s %10s %10s %10s\n", "", "in", "out", "lost");
    row("events", c.events_in, c.events_out);
    row("jobs", c.jobs_in, c.jobs_out);
    std::printf("  %lld of the jobs came back after a lease had ended\n",
                static_cast<long long>(c.repeated));
    if (c.miscounted != 0)
        std::printf("  %lld actions were counted wrongly\n", static_cast<long long>(c.miscounted));
}

int wait_and_print(char const* path, std::chrono::seconds patience) {
    asio::io_context io;
    gander::notifier commits{io, path};
    auto const db = open_read_only(path);
    auto const deadline = std::chrono::steady_clock::now() + patience;
    auto c = count(db.get());
    // Looks again when anybody has committed; a second without a commit is a reason to look, too.
    while (!c.complete() && std::chrono::steady_clock::now() < deadline) {
        gander::error_code ec;
        commits.async_wait({.wait = std::chrono::seconds(1)},
                           [&](gander::error_code e, std::int64_t) { ec = e; });
        io.restart();
        io.run();
        if (ec && ec != gander::errc::timed_out) throw gander::system_error(ec, path);
        c = count(db.get());
    }
    print(c);
    return c.complete() ? 0 : 1;
}

int print_held(char const* path) {
    asio::io_context io;
    gander::database db{io, path, {.mode = gander::open_mode::read_only}};
    gander::queue packages{db, "packages"};
    auto sizes = packages.async_sizes(asio::use_future);
    io.run();
    std::cout << sizes.get().processing << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    std::string_view const mode = argc > 2 ? argv[2] : "";
    if (argc == 3 && mode == "--held") return print_held(argv[1]);
    int seconds = -1;
    std::string_view const text = argc == 4 ? argv[3] : "";
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (mode == "--wait" && seconds >= 0)
        return wait_and_print(argv[1], std::chrono::seconds(seconds));
    std::cerr << "usage: report FILE --held | report FILE --wait SECONDS\n";
    return 2;
} catch (std::exception const& e) {
    std::cerr << "report: " << e.what() << '\n';
    return 3;
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
// Feeds the lines of its standard input into the file: for each line, in ONE transaction, a row of
// its own, an event, a notification and, when the line says that a package was installed, a job.
// All of them are there after the commit, or none.
//
//   tail -n +1 -F /var/log/dpkg.log | feeder app.db
#include <gander/gander.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;

// Payloads are UTF-8. A line that is not is taken for Latin-1, which every byte sequence is.
std::string to_utf8(std::string line) {
    std::replace(line.begin(), line.end(), '\0', ' ');
    try {
        gander::payload::text(line);
        return line;
    } catch (gander::system_error const&) {
    }
    std::string utf8;
    for (char const c : line) {
        auto const byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            utf8 += c;
        } else {
            utf8 += static_cast<char>(0xC0 | (byte >> 6));
            utf8 += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return utf8;
}

struct log_line {
    std::string text;
    std::string action;   // The third word: dpkg's lines are "DATE TIME ACTION ...".
    std::string package;  // The word after "installed", else empty.
};

log_line parse(std::string text) {
    log_line line{std::move(text), "other", ""};
    std::istringstream words(line.text);
    std::string previous;
    std::string word;
    for (int i = 0; words >> word; ++i) {
        if (i == 2) line.action = word;
        if (previous == "installed" && line.package.empty()) line.package = word;
        previous = word;
    }
    return line;
}

// The next line, or nothing at the end of the input. A last line may lack its newline.
asio::awaitable<std::optional<std::string>> read_line(asio::posix::stream_descriptor& input,
                                                      std::string& buffer) {
    gander::error_code ec;
    auto size = co_await asio::async_read_until(input, asio::dynamic_buffer(buffer), '\n',
                                                asio::redirect_error(asio::use_awaitable, ec));
    if (ec && ec != asio::error::eof) throw gander::system_error(ec, "standard input");
    if (ec) size = buffer.size();
    if (size == 0) co_return std::nullopt;
    auto line = buffer.substr(0, size);
    buffer.erase(0, size);
    if (line.back() == '\n') line.pop_back();
    co_return line;
}

asio::awaitable<void> feed(gander::database& db) {
    auto create = [](gander::transaction& tx) {
        tx.execute(
            "CREATE TABLE IF NOT EXISTS log_lines"
            "(line INTEGER PRIMARY KEY, text TEXT, action TEXT, job INTEGER)");
    };
    co_await db.async_transact(create);

    // A lease of two seconds: that is how long a job of a killed worker stays away.
    gander::queue packages{db, "packages", {.max_attempts = 10, .lease = std::chrono::seconds(2)}};
    asio::posix::stream_descriptor input{co_await asio::this_coro::executor, ::dup(STDIN_FILENO)};
    std::string buffer;
    std::int64_t lines = 0;
    std::int64_t jobs = 0;
    auto const began = std::chrono::steady_clock::now();
    while (auto text = co_await read_line(input, buffer)) {
        auto const line = parse(to_utf8(std::move(*text)));
        auto commit = [&](gander::transaction& tx) {
            std::optional<std::int64_t> job;
            if (!line.package.empty())
                job = packages.enqueue(tx, gander::object("package", line.package));
            tx.execute("INSERT INTO log_lines(text, action, job) VALUES(?, ?, ?)", line.text,
                       line.action, job);
            auto const number = tx.last_insert_rowid();
            gander::publish(tx, "log-lines", gander::object("line", number, "action", line.action));
            gander::notify(tx, "lines", gander::object("line", number, "text", line.text));
        };
        co_await db.async_transact(commit);
        ++lines;
        jobs += line.package.empty() ? 0 : 1;
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    std::cout << "fed " << lines << " lines with " << jobs << " jobs in " << took.count()
              << " s, one durable transaction each" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: feeder FILE < LINES\n";
        return 2;
    }
    asio::io_context io{1};
    gander::database db{io, argv[1]};
    asio::co_spawn(io, feed(db), [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
    });
    io.run();
} catch (std::exception const& e) {
    std::cerr << "feeder: " << e.what() << '\n';
    return 1;
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
// An Asio server with LISTEN and a durable stream consumer in it: one io_context, one thread, one
// SQLite file that other processes write at the same time (feeder.cpp, worker.cpp).
//
//   quickstart app.db 7000
//   printf 'stats\n'  | nc localhost 7000     one line of JSON
//   printf 'follow\n' | nc localhost 7000     every notification as it commits
#include <gander/gander.hpp>

#include <boost/asio.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class server {
public:
    server(asio::io_context& io, std::string path, std::uint16_t port)
        : db_(io, std::move(path)),
          lines_(db_.listen("lines")),
          packages_(db_, "packages"),
          acceptor_(io, {asio::ip::address_v4::loopback(), port}) {}

    void start() {
        auto const rethrow = [](std::exception_ptr e) {
            if (e) std::rethrow_exception(e);  // Out of run(): the server ends.
        };
        asio::co_spawn(acceptor_.get_executor(), count_events(), rethrow);
        asio::co_spawn(acceptor_.get_executor(), accept_clients(), rethrow);
        hear();
        std::cout << "listening on port " << acceptor_.local_endpoint().port() << std::endl;
    }

private:
    // LISTEN, with a plain callback: it runs whenever any process has committed a notification.
    void hear() {
        lines_.async_receive([this](gander::error_code ec, gander::notification n) {
            if (ec) throw gander::system_error(ec, "listen");
            ++heard_;
            newest_ = n.id();
            hear();
        });
    }

    // A stream consumer. Its rows and its offset are one commit, so that each event is counted
    // exactly once however often this process is killed.
    asio::awaitable<void> count_events() {
        auto create = [](gander::transaction& tx) {
            tx.execute("CREATE TABLE IF NOT EXISTS totals(action TEXT PRIMARY KEY, n INTEGER)");
        };
        co_await db_.async_transact(create);

        gander::consumer events{db_, "log-lines", "totals"};
        for (;;) {
            auto batch = co_await events.async_read();
            auto count = [&](gander::transaction& tx) {
                for (auto const& event : batch)
                    tx.execute(
                        "INSERT INTO totals VALUES(json_extract(?, '$.action'), 1) "
                        "ON CONFLICT(action) DO UPDATE SET n = n + 1",
                        event.payload());
                events.commit(tx, batch);
            };
            co_await db_.async_transact(count);
        }
    }

    asio::awaitable<void> accept_clients() {
        for (;;) {
            auto client = co_await acceptor_.async_accept(asio::use_awaitable);
            // What ends a session ends that client only.
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(client)), asio::detached);
        }
    }

    asio::awaitable<void> serve(tcp::socket client) {
        std::string input;
        for (;;) {
            auto const size = co_await asio::async_read_until(
                client, asio::dynamic_buffer(input, 1024), '\n', asio::use_awaitable);
            auto const request = input.substr(0, size - 1);
            input.erase(0, size);
            if (request == "follow") co_await follow(client);
            std::string reply = R"({"error":"say stats or follow"})";
            if (request == "stats") reply = co_await stats();
            reply += '\n';
            co_await asio::async_write(client, asio::buffer(reply), asio::use_awaitable);
        }
    }

    // Every follower has a listener of its own; all of them together cost one read a commit.
    asio::awaitable<void> follow(tcp::socket& client) {
        auto lines = co_await db_.async_listen("lines");
        for (;;) {
            auto const n = co_await lines.async_receive();
            auto const text = std::string(n.payload()) + '\n';
            co_await asio::async_write(client, asio::buffer(text), asio::use_awaitable);
        }
    }

    asio::awaitable<std::string> stats() {
        auto sum = [](gander::transaction& tx) {
            auto row = tx.query("SELECT coalesce(sum(n), 0) FROM totals");
            row.step();
            return row.get<std::int64_t>(0);
        };
        auto const counted = co_await db_.async_transact(sum);
        auto const jobs = co_await packages_.async_sizes();
        co_return gander::object("heard", heard_, "newest", newest_, "counted", counted,
                                 "jobs_ready", jobs.ready, "jobs_held", jobs.processing)
            .str();
    }

    gander::database db_;
    gander::listener lines_;
    gander::queue packages_;
    tcp::acceptor acceptor_;
    std::int64_t heard_ = 0, newest_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
    std::uint16_t port = 0;
    std::string_view const text = argc == 3 ? argv[2] : "";
    auto const parsed = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
        std::cerr << "usage: quickstart FILE PORT    (port 0: any that is free)\n";
        return 2;
    }
    asio::io_context io{1};
    server s{io, argv[1], port};
    s.start();
    // Nothing to save on the way out: whatever was committed is in the file.
    asio::signal_set signals{io, SIGINT, SIGTERM};
    signals.async_wait([&](gander::error_code, int) { io.stop(); });
    io.run();
} catch (std::exception const& e) {
    std::cerr << "quickstart: " << e.what() << '\n';
    return 1;
}

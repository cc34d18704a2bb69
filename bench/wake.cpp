// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One process of the question "wake": how long after COMMIT has returned does the handler run?
//
//   wake prepare FILE MODE              makes the file, in MODE: normal, full (WAL) or delete
//   wake listen FILE MODE N             receives N notifications through gander
//   wake write FILE MODE N SEED         notifies N times through gander
//   wake foreign FILE MODE N SEED       the same through plain SQLite
//   wake same FILE MODE N SEED          listens and notifies in one process
//   wake pipe-listen N                  the limit: reads N messages from standard input with Asio
//   wake pipe-write N SEED FD...        writes each message to all of the pipes
//   wake pipe-same N SEED               a pipe within one process
//
// Writers and readers print "ready", writers wait for a line, and at the end each prints its stamps
// as "sequence nanoseconds".

#include "harness/clock.hpp"
#include "harness/foreign_writer.hpp"
#include "harness/pipe.hpp"
#include "harness/process.hpp"
#include "harness/sample_log.hpp"

#include <gander/gander.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace {

char const* const channel_name = "bench";

gander::synchronous synchronous_of(std::string_view mode) {
    return mode == "normal" ? gander::synchronous::normal : gander::synchronous::full;
}

/// Takes the writer's stamp. The completion of `async_notify` comes a thread hop after COMMIT, so
/// the stamp is taken in the library's event hook, which runs right after COMMIT has returned.
class commit_stamps {
public:
    explicit commit_stamps(std::size_t count) : log_(count) {}

    gander::open_options options(std::string_view mode) {
        gander::open_options o;
        o.mode = gander::open_mode::existing;
        o.synchronous = synchronous_of(mode);
        o.on_event = &commit_stamps::on_event;
        o.on_event_context = this;
        return o;
    }

    /// The next commit is that of message `seq`.
    void expect(std::size_t seq) { expected_.store(static_cast<std::int64_t>(seq)); }

    bench::sample_log const& samples() const noexcept { return log_; }

private:
    static void on_event(void* context, gander::engine_event const& event) {
        std::int64_t const now = bench::now_ns();
        if (event.what != gander::engine_event::kind::commit) return;
        auto& self = *static_cast<commit_stamps*>(context);
        std::int64_t const seq = self.expected_.exchange(-1);
        if (seq >= 0) self.log_.stamp(static_cast<std::size_t>(seq), now);
    }

    bench::sample_log log_;
    std::atomic<std::int64_t> expected_{-1};
};

/// Receives until every message of the log has its stamp.
class reader {
public:
    reader(gander::database& db, std::size_t count)
        : listener_(db.listen(channel_name)), log_(count), left_(count) {}

    void receive() {
        listener_.async_receive([this](gander::error_code ec, gander::notification const& n) {
            std::int64_t const now = bench::now_ns();
            if (ec) throw gander::system_error(ec, "receive");
            log_.stamp(bench::sequence_of(n.payload()), now);
            if (--left_ != 0) receive();
        });
    }

    bench::sample_log const& samples() const noexcept { return log_; }

private:
    gander::listener listener_;
    bench::sample_log log_;
    std::size_t left_;
};

/// Notifies with random gaps, one message at a time, on an io_context.
class writer {
public:
    writer(asio::io_context& context, gander::database& db, commit_stamps& stamps,
           std::uint64_t seed)
        : db_(db), stamps_(stamps), timer_(context), gaps_(seed) {}

    void next() {
        if (seq_ == stamps_.samples().size()) return;
        timer_.expires_after(gaps_.next());
        timer_.async_wait([this](boost::system::error_code) { notify(); });
    }

private:
    void notify() {
        stamps_.expect(seq_);
        db_.async_notify(channel_name, gander::payload::raw(bench::make_message(seq_)),
                         [this](gander::error_code ec, std::int64_t) {
                             if (ec) throw gander::system_error(ec, "notify");
                             if (!stamps_.samples().has(seq_))
                                 throw std::runtime_error("a notification without a commit event");
                             ++seq_;
                             next();
                         });
    }

    gander::database& db_;
    commit_stamps& stamps_;
    asio::steady_timer timer_;
    bench::gap_source gaps_;
    std::size_t seq_ = 0;
};

void prepare(std::string const& path, std::string const& mode) {
    // gander leaves the journal mode of a file that it did not create as it is.
    if (mode == "delete") bench::make_rollback_file(path);
    asio::io_context context;
    gander::database const db(context, path);
}

void listen(std::string const& path, std::string const& mode, std::size_t count) {
    asio::io_context context(1);
    gander::open_options options;
    options.mode = gander::open_mode::existing;
    options.synchronous = synchronous_of(mode);
    gander::database db(context, path, options);
    reader r(db, count);
    r.receive();
    asio::post(context, bench::say_ready);
    context.run();
    r.samples().dump();
}

void write(std::string const& path, std::string const& mode, std::size_t count,
           std::uint64_t seed) {
    asio::io_context context(1);
    commit_stamps stamps(count);
    gander::database db(context, path, stamps.options(mode));
    writer w(context, db, stamps, seed);
    bench::say_ready();
    bench::await_go();
    w.next();
    context.run();
    stamps.samples().dump();
}

void same(std::string const& path, std::string const& mode, std::size_t count, std::uint64_t seed) {
    asio::io_context context(1);
    commit_stamps stamps(count);
    gander::database db(context, path, stamps.options(mode));
    reader r(db, count);
    writer w(context, db, stamps, seed);
    bench::say_ready();
    bench::await_go();
    r.receive();
    w.next();
    context.run();
    stamps.samples().dump();
    r.samples().dump();
}

void foreign(std::string const& path, std::string const& mode, std::size_t count,
             std::uint64_t seed) {
    bench::foreign_writer w(path, mode == "normal" ? "NORMAL" : "FULL");
    bench::sample_log log(count);
    bench::gap_source gaps(seed);
    bench::say_ready();
    bench::await_go();
    for (std::size_t seq = 0; seq != count; ++seq) {
        std::this_thread::sleep_for(gaps.next());
        std::string const message = bench::make_message(seq);
        w.write(message);
        log.stamp(seq, bench::now_ns());
        w.finish();
    }
    log.dump();
}

void pipe_listen(std::size_t count) {
    asio::io_context context(1);
    bench::pipe_reader r(context, 0, count);
    r.read();
    asio::post(context, bench::say_ready);
    context.run();
    r.samples().dump();
}

void pipe_write(std::vector<int> const& pipes, std::size_t count, std::uint64_t seed) {
    bench::say_ready();
    bench::await_go();
    bench::write_pipes(pipes, count, seed).dump();
}

void pipe_same(std::size_t count, std::uint64_t seed) {
    auto const [in, out] = bench::make_pipe();
    asio::io_context context(1);
    bench::pipe_reader r(context, in, count);
    bench::say_ready();
    bench::await_go();
    r.read();
    std::thread reading([&context] { context.run(); });
    bench::sample_log const written = bench::write_pipes({out}, count, seed);
    reading.join();
    written.dump();
    r.samples().dump();
}

int run(std::vector<std::string> const& args) {
    auto const number = [&args](std::size_t i) { return std::stoull(args.at(i)); };
    std::string const& role = args.at(0);
    if (role == "prepare")
        prepare(args.at(1), args.at(2));
    else if (role == "listen")
        listen(args.at(1), args.at(2), number(3));
    else if (role == "write")
        write(args.at(1), args.at(2), number(3), number(4));
    else if (role == "foreign")
        foreign(args.at(1), args.at(2), number(3), number(4));
    else if (role == "same")
        same(args.at(1), args.at(2), number(3), number(4));
    else if (role == "pipe-listen")
        pipe_listen(number(1));
    else if (role == "pipe-same")
        pipe_same(number(1), number(2));
    else if (role == "pipe-write") {
        std::vector<int> pipes;
        for (std::size_t i = 3; i < args.size(); ++i) pipes.push_back(std::stoi(args[i]));
        pipe_write(pipes, number(1), number(2));
    } else
        throw std::invalid_argument("unknown role " + role);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (std::exception const& e) {
        std::fprintf(stderr, "wake: %s\n", e.what());
        return 1;
    }
}

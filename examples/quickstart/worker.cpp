// SPDX-License-Identifier: Apache-2.0 OR MIT
// Does the jobs: asks dpkg about each package, and commits the answer and the end of the job in one
// transaction. Kill it at any moment: a job that it held is claimed again when its lease has ended,
// and an answer is never stored twice.
//
//   worker app.db
#include <gander/gander.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

namespace asio = boost::asio;

// What dpkg says about a package, such as "install ok installed 5.2.15-2"; empty when it could not
// be started. posix_spawn and not fork: the child never sees the open database.
asio::awaitable<std::string> ask_dpkg(std::string package) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) co_return "";
    asio::posix::stream_descriptor output{co_await asio::this_coro::executor, ends[0]};

    std::string name = "dpkg-query";
    std::string show = "-W";
    std::string format = "-f=${Status} ${Version}";
    std::string end_of_options = "--";
    char* const arguments[] = {name.data(),           show.data(),    format.data(),
                               end_of_options.data(), package.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    int const failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed) co_return failed == ENOENT ? "no dpkg-query here" : "";

    std::string answer;
    gander::error_code ec;
    co_await asio::async_read(output, asio::dynamic_buffer(answer),
                              asio::redirect_error(asio::use_awaitable, ec));
    // Its output has ended, so it is about to exit: this does not hold up the other jobs.
    int status = 0;
    ::waitpid(child, &status, 0);
    co_return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "not installed any more";
}

std::string package_of(gander::job const& job) {
    boost::system::error_code ec;
    auto const value = boost::json::parse(job.payload(), ec);
    auto const* object = ec ? nullptr : value.if_object();
    auto const* package = object ? object->if_contains("package") : nullptr;
    return package && package->is_string() ? std::string(package->as_string()) : "";
}

asio::awaitable<void> do_job(gander::database& db, gander::job job) {
    auto const package = package_of(job);
    if (package.empty()) {
        co_await job.async_fail("the payload names no package");
        co_return;
    }
    auto const answer = co_await ask_dpkg(package);
    if (answer.empty()) {
        co_await job.async_retry("dpkg-query could not be started");
        co_return;
    }
    auto record = [&](gander::transaction& tx) {
        tx.execute("INSERT INTO answers(job, package, answer, attempt) VALUES(?, ?, ?, ?)",
                   job.id(), package, answer, job.attempt());
        job.ack(tx);
    };
    co_await db.async_transact(record);
}

asio::awaitable<void> work(gander::database& db, gander::queue& packages) {
    for (;;) {
        gander::error_code ec;
        auto job =
            co_await packages.async_claim("worker", asio::redirect_error(asio::use_awaitable, ec));
        if (ec == asio::error::operation_aborted) co_return;
        if (ec) throw gander::system_error(ec, "claim");
        try {
            co_await do_job(db, job);
        } catch (gander::system_error const& e) {
            // Too late, it is somebody else's job now; or the file was busy for too long. Either
            // way nothing was committed, and the job is still in the file.
            if (e.code() != gander::condition::gone && e.code() != gander::condition::try_again)
                throw;
            std::cerr << "worker: job " << job.id() << ": " << e.what() << '\n';
        }
    }
}

asio::awaitable<void> start(gander::database& db, gander::queue& packages) {
    auto create = [](gander::transaction& tx) {
        tx.execute(
            "CREATE TABLE IF NOT EXISTS answers"
            "(job INTEGER PRIMARY KEY, package TEXT, answer TEXT, attempt INTEGER)");
    };
    co_await db.async_transact(create);
    auto const rethrow = [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
    };
    auto const executor = co_await asio::this_coro::executor;
    for (int i = 0; i < 4; ++i) asio::co_spawn(executor, work(db, packages), rethrow);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: worker FILE\n";
        return 2;
    }
    asio::io_context io{1};
    gander::database db{io, argv[1]};
    gander::queue packages{db, "packages", {.lease = std::chrono::seconds(2)}};
    asio::co_spawn(io, start(db, packages), [](std::exception_ptr e) {
        if (e) std::rethrow_exception(e);
    });
    // The first signal ends the claims; jobs in hand are finished, then run() returns.
    asio::signal_set signals{io, SIGINT, SIGTERM};
    signals.async_wait([&](gander::error_code, int) { packages.cancel(); });
    io.run();
} catch (std::exception const& e) {
    std::cerr << "worker: " << e.what() << '\n';
    return 1;
}

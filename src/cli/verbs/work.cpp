// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../command.hpp"
#include "../errors.hpp"
#include "../session.hpp"
#include "job_run.hpp"

#include <gander/queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <stop_token>

#include <fmt/format.h>
#include <unistd.h>

namespace gander::cli::verbs {
namespace {

/// Claims jobs while there are free places, and runs each.
class worker {
public:
    worker(session& in, database& db, arguments const& args, work_settings settings)
        : in_(in),
          settings_(std::move(settings)),
          changed_(in.executor(), steady_timer::time_point::max()) {
        queue_options options;
        options.lease = settings_.lease;
        for (auto const& name : args.operands()) queues_.emplace_back(db, name, options);
    }

    /// Until a stop is requested or, with --drain, nothing is left; then what runs is finished.
    asio::awaitable<void> run() {
        std::stop_callback const cancel(in_.stop_token(), [this] {
            for (auto& q : queues_) q.cancel();
        });
        try {
            co_await claim_all();
        } catch (...) {
            fail(std::current_exception());
        }
        while (running_ > 0) co_await one_ended();
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    using steady_timer = asio::steady_timer;

    asio::awaitable<void> claim_all() {
        while (!in_.stopping()) {
            if (running_ == settings_.concurrency) {
                co_await one_ended();
                continue;
            }
            auto next = co_await claim();
            if (next) {
                ++running_;
                asio::co_spawn(in_.executor(), work_on(std::move(*next)), asio::detached);
            } else if (running_ > 0 && !in_.stopping()) {
                // What runs may enqueue more.
                co_await one_ended();
            } else {
                co_return;
            }
        }
    }

    /// The next job, in the order in which the queues were given. Nothing when there is none and
    /// --drain does not wait, or when stopping.
    asio::awaitable<std::optional<job>> claim() {
        claim_options options;
        if (settings_.drain || queues_.size() > 1) options.wait = std::chrono::seconds(0);
        while (!in_.stopping()) {
            for (auto& from : queues_) {
                auto [ec, held] =
                    co_await from.async_claim(name_, options, asio::as_tuple(asio::use_awaitable));
                // Even if stopping: it has been claimed, and will be finished.
                if (!ec) co_return std::move(held);
                if (in_.stopping()) co_return std::nullopt;
                if (ec != errc::timed_out) throw system_error(ec);
            }
            if (settings_.drain) co_return std::nullopt;
            if (queues_.size() > 1) co_await any_claimable();
        }
        co_return std::nullopt;
    }

    asio::awaitable<void> any_claimable() {
        using wait = decltype(queues_.front().async_wait(asio::deferred));
        std::vector<wait> waits;
        for (auto& q : queues_) waits.push_back(q.async_wait(asio::deferred));
        auto group = asio::experimental::make_parallel_group(std::move(waits));
        auto const result =
            co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
        auto const& [order, codes] = result;
        error_code const first = codes[order.front()];
        if (first && !in_.stopping()) throw system_error(first);
    }

    asio::awaitable<void> work_on(job held) {
        try {
            co_await run_job(in_, std::move(held), settings_);
        } catch (...) {
            fail(std::current_exception());
        }
        --running_;
        changed_.cancel();
    }

    asio::awaitable<void> one_ended() {
        co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
    }

    void fail(std::exception_ptr error) {
        if (!failure_) failure_ = std::move(error);
        in_.request_stop();
    }

    session& in_;
    work_settings settings_;
    std::string const name_ = fmt::format("work-{}", ::getpid());
    std::vector<queue> queues_;
    std::int64_t running_ = 0;
    steady_timer changed_;
    std::exception_ptr failure_;
};

asio::awaitable<int> run(session& in, arguments const& args) {
    in.end_on_signals();
    if (args.command().empty()) throw usage_error("-- COMMAND is missing");
    for (std::size_t i = 0; i < args.operands().size(); ++i) args.name_operand(i);
    work_settings settings;
    settings.command = args.command();
    if (auto const lease = args.duration("lease")) settings.lease = *lease;
    settings.timeout = args.duration("timeout");
    settings.concurrency = args.integer("concurrency", 1, 1000).value_or(1);
    settings.drain = args.has("drain");
    command::check(settings.command);
    auto db = co_await in.open(args, open_mode::create);
    worker all(in, db, args, std::move(settings));
    co_await all.run();
    co_return exit_status::done;
}

constexpr std::string_view details = R"(
Jobs of a QUEUE named earlier come first. Exit 0 acknowledges the job, 65 sends it to the dead
letters, anything else runs it again later, after a longer while each time. COMMAND finds
GANDER_JOB_ID, GANDER_QUEUE, GANDER_ATTEMPT and GANDER_CLAIM in its environment; its standard output
goes to standard error. SIGTERM lets running ones finish; a second one kills them.
)";

constexpr option options[] = {
    {"concurrency", "N", "run up to this many at a time (default 1)"},
    {"lease", "D", "how long a job is held without a sign of life (default 60s)"},
    {"timeout", "D", "end a run that takes longer; it counts as failed"},
    {"drain", "", "end when nothing is claimable"},
    synchronous_option,
};

}  // namespace

extern verb const work = {
    .name = "work",
    .synopsis = "QUEUE... [--concurrency N] [--lease D] [--timeout D] [--drain] -- COMMAND...",
    .summary = "runs COMMAND for each job, with its payload on standard input",
    .example = "gander work app.db emails --concurrency 4 -- ./send-email",
    .min_operands = 1,
    .max_operands = any_number,
    .options = options,
    .takes_command = true,
    .run = run,
    .details = details,
};

}  // namespace gander::cli::verbs

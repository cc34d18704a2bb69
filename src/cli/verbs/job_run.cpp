// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "job_run.hpp"

#include "../command.hpp"
#include "../errors.hpp"
#include "../json.hpp"
#include "../session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace gander::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// EX_DATAERR of sysexits.h: the job itself is wrong, and will be the next time.
constexpr int status_never_again = 65;
constexpr int status_cannot_run = 126;

/// What the coroutines of one run share.
struct run_state {
    run_state(session& s, job j, work_settings const& h)
        : in(s), held(std::move(j)), how(h), heartbeat(s.executor()), limit(s.executor()) {}

    session& in;
    job held;
    work_settings const& how;
    std::shared_ptr<command> child;
    asio::steady_timer heartbeat;
    asio::steady_timer limit;
    bool ended = false;
    bool lost = false;
    bool timed_out = false;
};

using shared_run = std::shared_ptr<run_state>;

command_line command_line_of(run_state const& run) {
    command_line line;
    line.words = run.how.command;
    line.environment.emplace_back("GANDER_JOB_ID", std::to_string(run.held.id()));
    line.environment.emplace_back("GANDER_QUEUE", run.held.queue());
    line.environment.emplace_back("GANDER_ATTEMPT", std::to_string(run.held.attempt()));
    line.environment.emplace_back("GANDER_CLAIM", run.held.worker());
    line.output_to_stderr = true;
    return line;
}

/// Renews the lease three times in its length. When it is lost, somebody else may be at the job:
/// COMMAND is ended.
asio::awaitable<void> keep_alive(shared_run run) {
    // Leases are whole seconds in the file.
    auto const lease = std::max(run->how.lease, milliseconds(1000));
    auto const period = std::min<milliseconds>(lease / 3, std::chrono::hours(1));
    for (;;) {
        run->heartbeat.expires_after(period);
        co_await run->heartbeat.async_wait(asio::as_tuple(asio::use_awaitable));
        if (run->ended) co_return;
        auto const [ec] =
            co_await run->held.async_heartbeat(lease, asio::as_tuple(asio::use_awaitable));
        if (run->ended) co_return;
        // Of other errors the verdict will tell; the next heartbeat may do better.
        if (ec != errc::lease_lost) continue;
        run->lost = true;
        run->child->end();
        co_return;
    }
}

asio::awaitable<void> limit_time(shared_run run) {
    // The clock counts in nanoseconds: a century is for ever.
    run->limit.expires_after(
        std::min<milliseconds>(*run->how.timeout, std::chrono::hours(24 * 365 * 100)));
    co_await run->limit.async_wait(asio::as_tuple(asio::use_awaitable));
    if (run->ended) co_return;
    run->timed_out = true;
    run->child->end();
}

asio::awaitable<command_end> run_command(shared_run run) {
    auto const line = command_line_of(*run);
    run->child = std::make_shared<command>(run->in, line);
    asio::co_spawn(run->in.executor(), keep_alive(run), asio::detached);
    if (run->how.timeout) asio::co_spawn(run->in.executor(), limit_time(run), asio::detached);
    auto input = std::string(run->held.payload()) + "\n";
    auto const end = co_await run->child->run(std::move(input));
    co_return end;
}

asio::awaitable<error_code> give_verdict(run_state& run, command_end end,
                                         std::string const& error) {
    auto const token = asio::as_tuple(asio::use_awaitable);
    if (end.status == 0 && error.empty()) {
        auto const [ec] = co_await run.held.async_ack(token);
        co_return ec;
    }
    if (end.status == status_never_again && !run.timed_out) {
        auto const [ec] = co_await run.held.async_fail(error, token);
        co_return ec;
    }
    auto const [ec] = co_await run.held.async_retry(error, token);
    co_return ec;
}

std::string error_of(run_state const& run, command_end end) {
    if (run.timed_out) return fmt::format("timed out after {} ms", run.how.timeout->count());
    return end.status == 0 ? std::string() : fmt::format("COMMAND {}", end.text());
}

std::string line_of(job const& done, command_end end, steady_clock::duration took) {
    json_line line;
    line.add("id", done.id()).add("queue", done.queue()).add("attempt", done.attempt());
    line.add("exit", std::int64_t{end.status});
    line.add("ms", std::int64_t{std::chrono::duration_cast<milliseconds>(took).count()});
    return std::move(line).str();
}

}  // namespace

asio::awaitable<void> run_job(session& in, job held, work_settings const& how) {
    auto const started = steady_clock::now();
    auto const run = std::make_shared<run_state>(in, std::move(held), how);
    command_end end;
    std::string error;
    try {
        end = co_await run_command(run);
        error = error_of(*run, end);
    } catch (system_failure const& e) {
        // No processes or descriptors left, or COMMAND has gone: the job is not to blame, but
        // without a verdict it would wait for its lease to end.
        end.status = status_cannot_run;
        error = e.what();
    }
    run->ended = true;
    run->heartbeat.cancel();
    run->limit.cancel();
    auto const took = steady_clock::now() - started;
    if (!run->lost) {
        auto const ec = co_await give_verdict(*run, end, error);
        run->lost = ec == errc::lease_lost;
        if (ec && !run->lost) throw system_error(ec);
    }
    if (run->lost)
        in.say(fmt::format("job {}: the claim was lost, or the job cancelled", run->held.id()));
    else if (!error.empty())
        in.say(fmt::format("job {}, attempt {} of {}: {}", run->held.id(), run->held.attempt(),
                           run->held.max_attempts(), error));
    co_await in.out().write(line_of(run->held, end, took));
}

}  // namespace gander::cli

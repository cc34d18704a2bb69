// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../json.hpp"
#include "../session.hpp"

#include <gander/queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <stop_token>

namespace gander::cli::verbs {
namespace {

std::string lines_of(std::vector<job> const& jobs) {
    std::string lines;
    for (auto const& j : jobs) {
        json_line line;
        line.add("id", j.id()).add("queue", j.queue()).add_payload(j.payload());
        line.add("attempt", j.attempt()).add("worker", j.worker());
        line.add("expires_at", j.lease_expires_at());
        lines += std::move(line).str();
    }
    return lines;
}

/// Nobody has learnt of these claims. A last attempt is left to its lease: a retry would bury it.
asio::awaitable<void> give_back(std::vector<job>& jobs) {
    retry_options at_once;
    at_once.delay = std::chrono::seconds(0);
    for (auto& j : jobs)
        if (j.attempt() < j.max_attempts())
            co_await j.async_retry("", at_once, asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> hand_over(session& in, std::vector<job>& jobs) {
    std::exception_ptr unheard;
    try {
        co_await in.out().write(lines_of(jobs));
        co_return;
    } catch (...) {
        unheard = std::current_exception();
    }
    co_await give_back(jobs);
    std::rethrow_exception(unheard);
}

asio::awaitable<int> run(session& in, arguments const& args) {
    in.end_on_signals();
    auto const& name = args.name_operand(0);
    auto const worker = args.text("worker");
    claim_options options;
    options.max = static_cast<std::size_t>(args.integer("count", 1, 1'000'000).value_or(1));
    options.wait = args.duration("wait").value_or(std::chrono::milliseconds(0));
    queue_options settings;
    settings.keep_worker_name = worker.has_value();
    if (auto const lease = args.duration("lease")) settings.lease = *lease;
    auto db = co_await in.open(args, open_mode::create);
    queue from(db, name, settings);
    std::stop_callback const cancel(in.stop_token(), [&from] { from.cancel(); });
    if (in.stopping()) co_return exit_status::done;

    auto [ec, jobs] = co_await from.async_claim_many(worker.value_or("cli"), options,
                                                     asio::as_tuple(asio::use_awaitable));
    if (ec == errc::timed_out) co_return exit_status::no;
    if (ec == asio::error::operation_aborted && in.stopping()) co_return exit_status::done;
    if (ec) throw system_error(ec);
    co_await hand_over(in, jobs);
    co_return exit_status::done;
}

constexpr option options[] = {
    {"count", "N", "up to this many (default 1)"},
    {"lease", "D", "how long they are held (default 60s)"},
    {"worker", "NAME", "who holds them, stored as it is; without it, a token is made"},
    {"wait", "D", "wait this long for one; without it, not at all"},
    synchronous_option,
};

}  // namespace

extern verb const claim = {
    .name = "claim",
    .synopsis = "QUEUE [--count N] [--lease D] [--worker NAME] [--wait D]",
    .summary = "takes jobs by hand; the printed `worker` is what ack, fail and retry take",
    .example = "gander claim app.db emails --lease 10m --wait 5s",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

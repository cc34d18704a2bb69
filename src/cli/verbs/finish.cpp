// SPDX-License-Identifier: Apache-2.0 OR MIT
// The verbs that let go of a claimed job: ack, fail, retry.
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../session.hpp"

#include <gander/job.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

namespace gander::cli::verbs {
namespace {

enum class verdict { ack, fail, retry };

asio::awaitable<error_code> give(verdict how, job held, arguments const& args) {
    auto const token = asio::as_tuple(asio::use_awaitable);
    if (how == verdict::ack) {
        auto const [ec] = co_await held.async_ack(token);
        co_return ec;
    }
    auto const error = args.text("error").value_or("");
    if (how == verdict::fail) {
        auto const [ec] = co_await held.async_fail(error, token);
        co_return ec;
    }
    retry_options options;
    if (auto const delay = args.duration("delay")) options.delay = *delay;
    auto const [ec] = co_await held.async_retry(error, options, token);
    co_return ec;
}

template <verdict How>
asio::awaitable<int> run(session& in, arguments const& args) {
    auto const id = args.id_operand(0);
    auto const worker = args.text("worker");
    if (!worker || worker->empty()) throw usage_error("--worker NAME is missing");
    args.duration("delay");  // Checked before anything is opened.
    // A file that is not there cannot hold the job: it is not made.
    auto db = co_await in.open(args, open_mode::existing);
    auto const ec = co_await give(How, db.held(id, *worker), args);
    if (ec == errc::lease_lost) {
        in.say(fmt::format("job {} is not held by '{}'", id, *worker));
        co_return exit_status::no;
    }
    if (ec) throw system_error(ec);
    co_return exit_status::done;
}

constexpr option worker_option = {"worker", "NAME", "who holds it: the `worker` of its claim"};
constexpr option error_option = {"error", "TEXT", "what went wrong, for the dead letters"};
constexpr option ack_options[] = {worker_option, synchronous_option};
constexpr option fail_options[] = {worker_option, error_option, synchronous_option};
constexpr option retry_verb_options[] = {
    worker_option,
    {"delay", "D", "how long until it runs again; without it, longer with each attempt"},
    error_option,
    synchronous_option,
};

}  // namespace

extern verb const ack = {
    .name = "ack",
    .synopsis = "ID --worker NAME",
    .summary = "finishes a claimed job",
    .example = "gander ack app.db 42 --worker cli-1f2e3d4c",
    .min_operands = 1,
    .max_operands = 1,
    .options = ack_options,
    .takes_command = false,
    .run = run<verdict::ack>,
};

extern verb const fail = {
    .name = "fail",
    .synopsis = "ID --worker NAME [--error TEXT]",
    .summary = "sends a claimed job to the dead letters",
    .example = "gander fail app.db 42 --worker cli-1f2e3d4c --error 'no such address'",
    .min_operands = 1,
    .max_operands = 1,
    .options = fail_options,
    .takes_command = false,
    .run = run<verdict::fail>,
};

extern verb const retry = {
    .name = "retry",
    .synopsis = "ID --worker NAME [--delay D] [--error TEXT]",
    .summary = "gives a claimed job back, to run again later; a last attempt is dead",
    .example = "gander retry app.db 42 --worker cli-1f2e3d4c --delay 10m",
    .min_operands = 1,
    .max_operands = 1,
    .options = retry_verb_options,
    .takes_command = false,
    .run = run<verdict::retry>,
};

}  // namespace gander::cli::verbs

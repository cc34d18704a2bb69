// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../payload_input.hpp"
#include "../session.hpp"

#include <gander/queue.hpp>

#include <boost/asio/use_awaitable.hpp>

namespace gander::cli::verbs {
namespace {

enqueue_options options_of(arguments const& args) {
    if (args.has("delay") && args.has("at"))
        throw usage_error("--delay and --at exclude each other");
    enqueue_options result;
    if (auto const delay = args.duration("delay")) result.delay = *delay;
    if (auto const at = args.time("at")) result.run_at = *at;
    result.priority = args.integer("priority", std::numeric_limits<std::int64_t>::min());
    result.max_attempts = args.integer("max-attempts", 1);
    if (auto const expires = args.duration("expires")) result.expires = *expires;
    return result;
}

asio::awaitable<int> run(session& in, arguments const& args) {
    auto const& name = args.name_operand(0);
    auto const options = options_of(args);
    payload_input input(in, args, 1);
    auto db = co_await in.open(args, open_mode::create);
    queue to(db, name);
    for (;;) {
        auto group = co_await input.next_group();
        if (group.empty()) co_return exit_status::done;
        auto const added =
            co_await to.async_enqueue_many(std::move(group), options, asio::use_awaitable);
        co_await in.out().write(id_lines(added));
    }
}

constexpr option options[] = {
    {"delay", "D", "run it this long after now"},
    {"at", "T", "run it not before this time"},
    {"priority", "N", "higher is claimed first (default 0)"},
    {"max-attempts", "N", "runs before it goes to the dead letters (default 3)"},
    {"expires", "D", "not run any more this long after now"},
    text_option,
    synchronous_option,
};

}  // namespace

extern verb const enqueue = {
    .name = "enqueue",
    .synopsis =
        "QUEUE [PAYLOAD] [--delay D | --at T] [--priority N] [--max-attempts N] "
        "[--expires D]",
    .summary = "adds a job to QUEUE, and prints its id",
    .example = R"(gander enqueue app.db emails '{"to": "a@example.com"}' --delay 10m)",
    .min_operands = 1,
    .max_operands = 2,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

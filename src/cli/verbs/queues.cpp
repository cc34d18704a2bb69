// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../json.hpp"
#include "../session.hpp"
#include "../table.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace gander::cli::verbs {
namespace {

std::string as_json(std::vector<queue_info> const& queues) {
    std::string lines;
    for (auto const& q : queues) {
        json_line line;
        line.add("queue", q.name);
        line.add("ready", q.sizes.ready).add("delayed", q.sizes.delayed);
        line.add("processing", q.sizes.processing).add("dead", q.sizes.dead);
        lines += std::move(line).str();
    }
    return lines;
}

std::string as_table(std::vector<queue_info> const& queues) {
    using enum table::align;
    table shown(
        {{"queue"}, {"ready", right}, {"delayed", right}, {"processing", right}, {"dead", right}});
    for (auto const& q : queues) {
        shown.add({in_one_line(q.name, 60), std::to_string(q.sizes.ready),
                   std::to_string(q.sizes.delayed), std::to_string(q.sizes.processing),
                   std::to_string(q.sizes.dead)});
    }
    return shown.str();
}

asio::awaitable<int> run(session& in, arguments const& args) {
    auto db = co_await in.open(args, open_mode::read_only);
    auto const queues = co_await db.async_queues(asio::use_awaitable);
    auto const text = args.has(json_option.name) ? as_json(queues) : as_table(queues);
    co_await in.out().write(text);
    co_return exit_status::done;
}

constexpr option options[] = {json_option};

}  // namespace

extern verb const queues = {
    .name = "queues",
    .synopsis = "[--json]",
    .summary = "lists the queues and how many jobs each holds",
    .example = "gander queues app.db",
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

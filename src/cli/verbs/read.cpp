// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../event_lines.hpp"
#include "../session.hpp"

#include <gander/stream.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <stop_token>

namespace gander::cli::verbs {
namespace {

constexpr std::int64_t batch_size = 100;

asio::awaitable<int> run(session& in, arguments const& args) {
    in.end_on_signals();
    auto const& topic = args.name_operand(0);
    auto left = args.integer("limit", 1);
    consumer_options begin;
    if (auto const after = args.integer("after", 0)) begin.start = start::after(*after);
    bool const follow = args.has("follow");
    auto db = co_await in.open(args, open_mode::read_only);
    consumer from(db, topic, begin);
    std::stop_callback const cancel(in.stop_token(), [&from] { from.cancel(); });

    while (!in.stopping() && left != 0) {
        read_options options;
        options.max = static_cast<std::size_t>(std::min(left.value_or(batch_size), batch_size));
        if (!follow) options.wait = std::chrono::seconds(0);
        auto [ec, events] = co_await from.async_read(options, asio::as_tuple(asio::use_awaitable));
        if (ec == errc::timed_out) break;
        if (ec == asio::error::operation_aborted && in.stopping()) break;
        if (ec) throw system_error(ec);
        if (left) *left -= static_cast<std::int64_t>(events.size());
        co_await in.out().write(event_lines(events));
    }
    co_return exit_status::done;
}

constexpr option options[] = {
    {"after", "OFFSET", "begin after this offset instead of with the oldest event"},
    {"limit", "N", "end after this many"},
    {"follow", "", "wait for more at the end"},
};

}  // namespace

extern verb const read = {
    .name = "read",
    .synopsis = "TOPIC [--after OFFSET] [--limit N] [--follow]",
    .summary = "prints the events of TOPIC, and with --follow those to come",
    .example = "gander read app.db log --after 1000 --follow",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

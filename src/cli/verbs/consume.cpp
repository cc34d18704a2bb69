// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../command.hpp"
#include "../errors.hpp"
#include "../event_lines.hpp"
#include "../session.hpp"

#include <gander/stream.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <stop_token>

#include <fmt/format.h>

namespace gander::cli::verbs {
namespace {

/// Hands `events` over: to COMMAND, or to standard output. False when COMMAND did not take them.
asio::awaitable<bool> deliver(session& in, arguments const& args, batch const& events) {
    auto lines = event_lines(events);
    if (args.command().empty()) {
        co_await in.out().write(std::move(lines));
        co_return true;
    }
    command_line line;
    line.words = args.command();
    auto const child = std::make_shared<command>(in, line);
    auto const end = co_await child->run(std::move(lines));
    if (end.status != 0)
        in.say(fmt::format("COMMAND {}; the offset stays at {}", end.text(), events.began_at()));
    co_return end.status == 0;
}

asio::awaitable<int> run(session& in, arguments const& args) {
    in.end_on_signals();
    auto const& topic = args.name_operand(0);
    auto const& name = args.name_operand(1);
    read_options options;
    options.max = static_cast<std::size_t>(args.integer("batch", 1, 1'000'000).value_or(100));
    if (!args.has("follow")) options.wait = std::chrono::seconds(0);
    if (!args.command().empty()) command::check(args.command());
    auto db = co_await in.open(args, open_mode::existing);
    consumer from(db, topic, name);
    std::stop_callback const cancel(in.stop_token(), [&from] { from.cancel(); });

    while (!in.stopping()) {
        auto [ec, events] = co_await from.async_read(options, asio::as_tuple(asio::use_awaitable));
        if (ec == errc::timed_out) break;
        if (ec == asio::error::operation_aborted && in.stopping()) break;
        if (ec) throw system_error(ec);
        bool const delivered = co_await deliver(in, args, events);
        if (!delivered) co_return exit_status::no;
        co_await from.async_commit(events, asio::use_awaitable);
    }
    co_return exit_status::done;
}

constexpr option options[] = {
    {"follow", "", "wait for more at the end"},
    {"batch", "N", "save the offset after at most this many events (default 100)"},
    synchronous_option,
};

}  // namespace

extern verb const consume = {
    .name = "consume",
    .synopsis = "TOPIC CONSUMER [--follow] [--batch N] [-- COMMAND...]",
    .summary = "hands over the events after CONSUMER's saved offset, and saves the new one",
    .example = "gander consume app.db log indexer --follow -- ./index-lines",
    .min_operands = 2,
    .max_operands = 2,
    .options = options,
    .takes_command = true,
    .run = run,
};

}  // namespace gander::cli::verbs

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../json.hpp"
#include "../session.hpp"

#include <gander/channel.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <stop_token>

namespace gander::cli::verbs {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t write_bytes = 64 * 1024;

/// Whether a channel is one of those asked for.
class channel_filter {
public:
    explicit channel_filter(std::span<std::string const> wanted) : wanted_(wanted) {}

    bool matches(std::string_view channel) const {
        return std::ranges::any_of(wanted_, [&](std::string_view wanted) {
            return wanted.ends_with('*') ? channel.starts_with(wanted.substr(0, wanted.size() - 1))
                                         : channel == wanted;
        });
    }

private:
    std::span<std::string const> wanted_;
};

std::string line_of(notification const& n) {
    json_line line;
    line.add("id", n.id()).add("channel", n.channel());
    line.add_payload(n.payload()).add("created_at", n.created_at());
    return std::move(line).str();
}

/// One listener for one channel. For several, one for all channels: several listeners would mix up
/// the order of what they receive.
asio::awaitable<listener> listen_to(database& db, arguments const& args, listen_options options) {
    std::string const channel = args.operands().size() == 1 ? args.operand(0) : "*";
    auto made = co_await db.async_listen(channel, options, asio::use_awaitable);
    co_return made;
}

wait_options until(std::optional<steady_clock::time_point> deadline) {
    wait_options result;
    if (deadline)
        result.wait = std::max(*deadline - steady_clock::now(), steady_clock::duration::zero());
    return result;
}

/// The deadline of `--timeout`; one beyond the clock's reach is none.
std::optional<steady_clock::time_point> deadline_of(arguments const& args) {
    auto const timeout = args.duration("timeout");
    if (!timeout || *timeout > std::chrono::hours(24 * 365 * 100)) return std::nullopt;
    return steady_clock::now() + *timeout;
}

asio::awaitable<int> run(session& in, arguments const& args) {
    in.end_on_signals();
    for (std::size_t i = 0; i < args.operands().size(); ++i) args.name_operand(i);
    channel_filter const filter(args.operands());
    auto const deadline = deadline_of(args);
    auto left = args.integer("count", 1);
    listen_options begin;
    begin.since = args.integer("since", 0);
    auto db = co_await in.open(args, open_mode::read_only);
    auto from = co_await listen_to(db, args, begin);
    std::stop_callback const cancel(in.stop_token(), [&from] { from.cancel(); });

    while (!in.stopping()) {
        auto const options = until(deadline);
        auto [ec, received] =
            co_await from.async_receive(options, asio::as_tuple(asio::use_awaitable));
        if (ec == asio::error::operation_aborted && in.stopping()) break;
        if (ec == errc::timed_out) co_return exit_status::no;
        if (ec == errc::lagged) {
            in.say("some notifications were pruned before they could be read");
            continue;
        }
        if (ec) throw system_error(ec);
        std::string lines;
        for (std::optional<notification> next = received; next; next = from.try_receive()) {
            if (!filter.matches(next->channel())) continue;
            lines += line_of(*next);
            if (left && --*left == 0) break;
            if (lines.size() >= write_bytes) break;
        }
        if (!lines.empty()) co_await in.out().write(std::move(lines));
        if (left && *left == 0) break;
    }
    co_return exit_status::done;
}

constexpr option options[] = {
    {"since", "ID", "begin after this notification instead of with the next one"},
    {"count", "N", "end after this many"},
    {"timeout", "D", "end after this long, with status 1"},
};

}  // namespace

extern verb const listen = {
    .name = "listen",
    .synopsis = "CHANNEL... [--since ID] [--count N] [--timeout D]",
    .summary = "prints what is notified on CHANNEL; one that ends in * is a prefix",
    .example = "gander listen app.db orders 'user.*'",
    .min_operands = 1,
    .max_operands = any_number,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../payload_input.hpp"
#include "../session.hpp"

#include <gander/channel.hpp>
#include <gander/sqlite.hpp>

#include <boost/asio/use_awaitable.hpp>

namespace gander::cli::verbs {
namespace {

using ids = std::vector<std::int64_t>;

asio::awaitable<ids> commit(database& db, std::string const& channel, std::vector<payload> group) {
    if (group.size() == 1) {
        auto const id = co_await db.async_notify(channel, group.front(), asio::use_awaitable);
        co_return ids(1, id);
    }
    auto const add_all = [&](transaction& tx) {
        ids added;
        for (auto const& body : group) {
            gander::notify(tx, channel, body);
            added.push_back(tx.last_insert_rowid());
        }
        return added;
    };
    auto added = co_await db.async_transact(add_all, asio::use_awaitable);
    co_return added;
}

asio::awaitable<int> run(session& in, arguments const& args) {
    auto const& channel = args.name_operand(0);
    payload_input input(in, args, 1);
    auto db = co_await in.open(args, open_mode::create);
    for (;;) {
        auto group = co_await input.next_group();
        if (group.empty()) co_return exit_status::done;
        auto const added = co_await commit(db, channel, std::move(group));
        co_await in.out().write(id_lines(added));
    }
}

constexpr option options[] = {text_option, synchronous_option};

}  // namespace

extern verb const notify = {
    .name = "notify",
    .synopsis = "CHANNEL [PAYLOAD]",
    .summary = "notifies whoever listens to CHANNEL, and prints the notification's id",
    .example = R"(gander notify app.db orders '{"id": 42}')",
    .min_operands = 1,
    .max_operands = 2,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../payload_input.hpp"
#include "../session.hpp"

#include <gander/sqlite.hpp>
#include <gander/stream.hpp>

#include <boost/asio/use_awaitable.hpp>

namespace gander::cli::verbs {
namespace {

using offsets = std::vector<std::int64_t>;

asio::awaitable<offsets> commit(database& db, std::string const& topic,
                                std::optional<std::string> const& key, std::vector<payload> group) {
    if (!key) {
        auto added = co_await db.async_publish_many(topic, std::move(group), asio::use_awaitable);
        co_return added;
    }
    if (group.size() == 1) {
        auto const offset =
            co_await db.async_publish(topic, group.front(), *key, asio::use_awaitable);
        co_return offsets(1, offset);
    }
    auto const add_all = [&](transaction& tx) {
        offsets added;
        for (auto const& body : group) {
            gander::publish(tx, topic, body, *key);
            added.push_back(tx.last_insert_rowid());
        }
        return added;
    };
    auto added = co_await db.async_transact(add_all, asio::use_awaitable);
    co_return added;
}

asio::awaitable<int> run(session& in, arguments const& args) {
    auto const& topic = args.name_operand(0);
    auto const key = args.text("key");
    payload_input input(in, args, 1);
    auto db = co_await in.open(args, open_mode::create);
    for (;;) {
        auto group = co_await input.next_group();
        if (group.empty()) co_return exit_status::done;
        auto const added = co_await commit(db, topic, key, std::move(group));
        co_await in.out().write(id_lines(added));
    }
}

constexpr option options[] = {
    {"key", "K", "what the event is about, for consumers that tell events apart"},
    text_option,
    synchronous_option,
};

}  // namespace

extern verb const publish = {
    .name = "publish",
    .synopsis = "TOPIC [PAYLOAD] [--key K]",
    .summary = "appends an event to the stream TOPIC, and prints its offset",
    .example = "tail -F app.log | gander publish app.db log --text",
    .min_operands = 1,
    .max_operands = 2,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

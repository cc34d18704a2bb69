// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../session.hpp"

namespace gander::cli::verbs {
namespace {

asio::awaitable<int> run(session& in, arguments const& args) {
    // Opening for writing makes the tables, but on a file with many jobs not the index for claims.
    auto db = co_await in.open(args, open_mode::create);
    auto complete = [](transaction& tx) { create_tables(tx); };
    co_await db.async_transact(complete);
    co_return exit_status::done;
}

constexpr option options[] = {synchronous_option};

}  // namespace

extern verb const init = {
    .name = "init",
    .synopsis = "",
    .summary = "creates the file, if need be, and its tables",
    .example = "gander init app.db",
    .min_operands = 0,
    .max_operands = 0,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

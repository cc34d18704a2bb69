// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "../arguments.hpp"
#include "../errors.hpp"
#include "../json.hpp"
#include "../session.hpp"
#include "../table.hpp"
#include "../values.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <limits>

#include <fmt/format.h>

namespace gander::cli::verbs {
namespace {

struct named_state {
    std::string_view name;
    job_state state;
};

constexpr named_state states[] = {{"ready", job_state::ready},
                                  {"delayed", job_state::delayed},
                                  {"processing", job_state::processing},
                                  {"dead", job_state::dead}};

std::string_view name_of(job_state state) {
    for (auto const& s : states)
        if (s.state == state) return s.name;
    return "";
}

job_state state_of(arguments const& args) {
    auto const given = args.text("state");
    if (!given) return job_state::any;
    for (auto const& s : states)
        if (s.name == *given) return s.state;
    throw usage_error(
        fmt::format("--state takes ready, delayed, processing or dead, not '{}'", *given));
}

/// The table's columns by their names, but for the state, which is what --state takes.
std::string as_json(std::vector<job_info> const& jobs) {
    std::string lines;
    for (auto const& j : jobs) {
        bool const held = !j.worker.empty();
        json_line line;
        line.add("id", j.id).add("queue", j.queue).add_payload(j.payload);
        line.add("state", name_of(j.state)).add("priority", j.priority).add("run_at", j.run_at);
        line.add_or_null("worker_id", held ? std::optional(j.worker) : std::nullopt);
        line.add_or_null("claim_expires_at",
                         held ? std::optional(j.lease_expires_at) : std::nullopt);
        line.add("attempts", j.attempts).add("max_attempts", j.max_attempts);
        line.add("created_at", j.created_at).add_or_null("expires_at", j.expires_at);
        line.add_or_null("last_error", j.last_error);
        lines += std::move(line).str();
    }
    return lines;
}

std::string as_table(std::vector<job_info> const& jobs) {
    using enum table::align;
    table shown({{"id", right},
                 {"queue"},
                 {"state"},
                 {"priority", right},
                 {"attempts", right},
                 {"run at"},
                 {"worker"},
                 {"lease ends"},
                 {"error"},
                 {"payload"}});
    for (auto const& j : jobs) {
        shown.add({std::to_string(j.id), in_one_line(j.queue, 30), std::string(name_of(j.state)),
                   std::to_string(j.priority), fmt::format("{}/{}", j.attempts, j.max_attempts),
                   show_time(j.run_at), in_one_line(j.worker, 40),
                   j.worker.empty() ? std::string() : show_time(j.lease_expires_at),
                   in_one_line(j.last_error.value_or(""), 40), in_one_line(j.payload, 60)});
    }
    return shown.str();
}

asio::awaitable<int> run(session& in, arguments const& args) {
    auto const state = state_of(args);
    std::string const queue = args.has_operand(0) ? args.name_operand(0) : std::string();
    constexpr auto no_limit = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    auto db = co_await in.open(args, open_mode::read_only);
    auto const jobs = co_await db.async_jobs(queue, state, no_limit, asio::use_awaitable);
    auto const text = args.has(json_option.name) ? as_json(jobs) : as_table(jobs);
    co_await in.out().write(text);
    co_return exit_status::done;
}

constexpr option options[] = {
    {"state", "ready|delayed|processing|dead", "only these"},
    json_option,
};

}  // namespace

extern verb const jobs = {
    .name = "jobs",
    .synopsis = "[QUEUE] [--state ready|delayed|processing|dead] [--json]",
    .summary = "lists the jobs of QUEUE, or of all queues",
    .example = "gander jobs app.db emails --state dead",
    .min_operands = 0,
    .max_operands = 1,
    .options = options,
    .takes_command = false,
    .run = run,
};

}  // namespace gander::cli::verbs

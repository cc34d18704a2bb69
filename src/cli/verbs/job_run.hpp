// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One job of `work`: COMMAND, its lease, its verdict.
#pragma once

#include <gander/job.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gander::cli {

class session;

struct work_settings {
    std::vector<std::string> command;
    std::chrono::milliseconds lease{60'000};
    std::optional<std::chrono::milliseconds> timeout;
    std::int64_t concurrency = 1;
    bool drain = false;
};

/// Runs COMMAND for `held`, keeps its lease alive meanwhile, acknowledges, buries or retries it by
/// the exit status, and prints the job's line. `in` and `how` outlive it.
/// \throws system_error when the verdict could not be written; what output::write throws.
boost::asio::awaitable<void> run_job(session& in, job held, work_settings const& how);

}  // namespace gander::cli

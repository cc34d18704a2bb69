// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The job table: a job's way in and out. Claiming is in claim.hpp.
#pragma once

#include "gander/detail/rows.hpp"
#include "sqlite/connection.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gander::sqlite {

using detail::job_row;

/// A checked job, ready to insert. Times are seconds of the file's clock.
struct new_job {
    std::int64_t priority = 0;
    std::int64_t run_at = 0;
    std::int64_t max_attempts = 3;
    std::int64_t created_at = 0;
    std::optional<std::int64_t> expires_at;
};

/// Jobs of one queue by state.
struct job_counts {
    std::int64_t ready = 0;
    std::int64_t delayed = 0;
    std::int64_t processing = 0;
    std::int64_t dead = 0;
};

/// Which jobs `list` returns.
enum class job_filter { any, ready, delayed, processing, dead };

class jobs {
public:
    explicit jobs(connection& db) noexcept : db_(db) {}

    /// Adds a job and returns its id.
    std::int64_t enqueue(std::string_view queue, std::string_view payload, new_job const& job);

    /// Adds many alike; ids are consecutive from the result on. Empty input returns 0.
    std::int64_t enqueue_many(std::string_view queue, std::span<std::string const> payloads,
                              new_job const& job);

    // What follows needs the same worker and a lease that has not ended; else returns false and
    // changes nothing.

    bool ack(std::int64_t id, std::string_view worker);

    /// Pending again after `delay_ms`, or after a backoff that grows with its attempts; or dead
    /// when these are used up.
    bool retry(std::int64_t id, std::string_view worker, std::optional<std::int64_t> delay_ms,
               std::string_view error);

    bool fail(std::int64_t id, std::string_view worker, std::string_view error);

    /// The lease ends `lease` seconds from now.
    bool heartbeat(std::int64_t id, std::string_view worker, std::int64_t lease);

    /// Removes a pending or processing job, whoever holds it.
    bool cancel(std::int64_t id);

    /// Moves a row to the dead letters as it is.
    void bury(std::int64_t id, std::string_view error);

    job_counts count(std::string_view queue);

    /// The names of all queues that hold a job, live or dead, in order.
    std::vector<std::string> queues();

    /// Up to `limit` jobs by id; an empty `queue` is all of them. A dead job has state 'dead'.
    std::vector<job_row> list(std::string_view queue, job_filter filter, std::size_t limit);

private:
    connection& db_;
};

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Rows as plain values: what the store returns and the public value types show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gander::detail {

/// One row of the notification table.
struct notification_row {
    std::int64_t id = 0;
    std::string channel;
    std::string payload;
    std::int64_t created_at = 0;
};

/// One row of the stream table.
struct event_row {
    std::int64_t offset = 0;
    std::string topic;
    std::optional<std::string> key;
    std::string payload;
    std::int64_t created_at = 0;
};

/// One row of the job table.
struct job_row {
    std::int64_t id = 0;
    std::string queue;
    std::string payload;
    std::string state;
    std::int64_t priority = 0;
    std::int64_t run_at = 0;
    std::string worker;
    std::int64_t claim_expires_at = 0;
    std::int64_t attempts = 0;
    std::int64_t max_attempts = 0;
    std::int64_t created_at = 0;
    std::optional<std::int64_t> expires_at;
    std::optional<std::string> last_error;
};

}  // namespace gander::detail

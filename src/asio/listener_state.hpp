// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What stands behind a gander::listener.
#pragma once

#include "asio/row_waiter.hpp"
#include "gander/channel.hpp"

#include <memory>
#include <optional>

namespace gander::detail {

class listener_state final : public row_waiter<notification_row, notification> {
public:
    static std::shared_ptr<listener_state> make(std::shared_ptr<database_state> db,
                                                sqlite::channel_pattern pattern, std::int64_t from);

    listener_state(std::shared_ptr<database_state> db, sqlite::channel_pattern pattern,
                   std::int64_t from);

    std::optional<notification> try_receive();
    std::int64_t position();

private:
    notification take(std::size_t max) override;

    std::int64_t position_;  // the file's mutex
};

/// Where a listener with these options begins.
/// \throws system_error.
std::int64_t listen_from(sqlite::store& store, listen_options const& options);

/// Checks a channel as listened to.
/// \throws system_error `errc::invalid_name`.
sqlite::channel_pattern listen_pattern(std::string_view channel, bool exact);

}  // namespace gander::detail

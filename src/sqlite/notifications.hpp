// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The notification table.
#pragma once

#include "gander/detail/rows.hpp"
#include "sqlite/connection.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace gander::sqlite {

using detail::notification_row;

/// How much one read may return. Whichever bound is met first ends it; one row always fits.
struct read_limit {
    std::size_t rows;
    std::size_t bytes;
};

/// Which notifications a reader wants.
struct channel_pattern {
    std::string name;
    bool prefix = false;

    bool matches(std::string_view channel) const noexcept {
        return prefix ? channel.starts_with(name) : channel == name;
    }
};

class notifications {
public:
    explicit notifications(connection& db) noexcept : db_(db) {}

    /// Adds one and returns its id.
    std::int64_t add(std::string_view channel, std::string_view payload);

    /// The newest id, also of a row that was pruned since; 0 when there never was one.
    std::int64_t newest();

    /// The oldest id still there, or `newest() + 1` when none is.
    std::int64_t oldest();

    /// All channels' rows after `after`, in id order. Appends to `into`; true when a limit ended
    /// it.
    bool read(std::int64_t after, read_limit limit, std::vector<notification_row>& into);

    /// One pattern's rows with `after < id <= until`.
    bool read(channel_pattern const& pattern, std::int64_t after, std::int64_t until,
              read_limit limit, std::vector<notification_row>& into);

private:
    connection& db_;
};

}  // namespace gander::sqlite

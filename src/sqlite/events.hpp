// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The stream table and the consumers' saved offsets.
#pragma once

#include "gander/detail/rows.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/notifications.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gander::sqlite {

using detail::event_row;

class events {
public:
    explicit events(connection& db) noexcept : db_(db) {}

    /// Appends one and returns its offset.
    std::int64_t publish(std::string_view topic, std::optional<std::string_view> key,
                         std::string_view payload);

    /// Appends many without keys, as few statements; the offsets are consecutive from the result
    /// on. Empty input returns 0.
    std::int64_t publish_many(std::string_view topic, std::span<std::string const> payloads);

    /// The newest offset over all topics; 0 when there never was one.
    std::int64_t newest();

    /// All topics' rows after `after`, in offset order. Appends; true when a limit ended it.
    bool read(std::int64_t after, read_limit limit, std::vector<event_row>& into);

    /// One topic's rows with `after < offset <= until`.
    bool read(std::string const& topic, std::int64_t after, std::int64_t until, read_limit limit,
              std::vector<event_row>& into);

    /// The last offset before the first event of `topic` created at or after `time`.
    std::int64_t offset_before(std::string_view topic, std::int64_t time);

    std::optional<std::int64_t> saved_offset(std::string_view consumer, std::string_view topic);

    /// Moves the saved offset from `from` to `to`; with `first`, also saves it where none was.
    /// False when it was elsewhere.
    bool advance(std::string_view consumer, std::string_view topic, std::int64_t from,
                 std::int64_t to, bool first);

    /// Sets the saved offset, forwards or backwards.
    void seek(std::string_view consumer, std::string_view topic, std::int64_t to);

private:
    connection& db_;
};

}  // namespace gander::sqlite

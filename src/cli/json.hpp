// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One line of JSON, member by member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gander::cli {

bool is_utf8(std::string_view text);

/// `text` with each byte that is not part of a UTF-8 sequence replaced by U+FFFD.
std::string mended(std::string_view text);

/// Builds `{"name":value,...}` and a newline. Members come in the order in which they are added.
class json_line {
public:
    json_line& add(std::string_view name, std::int64_t value);

    /// As a JSON string. What is not UTF-8 is mended, as other programs write into the file too.
    json_line& add(std::string_view name, std::string_view value);

    /// The value, or null.
    template <class T>
    json_line& add_or_null(std::string_view name, std::optional<T> const& value) {
        return value ? add(name, *value) : add_null(name);
    }

    /// The member `payload`: the JSON value as it was stored; or, when it is not JSON, the member
    /// `payload_text`, a string.
    json_line& add_payload(std::string_view stored);

    /// The finished line.
    std::string str() &&;

private:
    json_line& add_null(std::string_view name);
    void begin(std::string_view name);

    std::string text_ = "{";
};

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// UTF-8: what is valid, and how invalid text is mended.
#pragma once

#include <string>
#include <string_view>

namespace gander::sqlite {

/// The length of the longest valid UTF-8 prefix of `text` (RFC 3629: no surrogates, no overlong
/// forms, nothing above U+10FFFF).
std::size_t valid_utf8_prefix(std::string_view text) noexcept;

inline bool valid_utf8(std::string_view text) noexcept {
    return valid_utf8_prefix(text) == text.size();
}

/// True for what may name a channel, topic, queue, consumer or worker: not empty, no NUL, UTF-8.
bool valid_name(std::string_view name) noexcept;

/// `text` with NUL and invalid bytes as '?', cut to at most `max_bytes` at a character's boundary:
/// for error texts, which must be stored whatever they are.
std::string mended_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace gander::sqlite

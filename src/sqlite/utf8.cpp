// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/utf8.hpp"

#include <cstdint>

namespace gander::sqlite {

namespace {

/// The length of the valid sequence at the start of `s`, 0 when there is none.
std::size_t sequence_length(std::string_view s) noexcept {
    auto const at = [&](std::size_t i) { return static_cast<std::uint8_t>(s[i]); };
    auto const tail = [&](std::size_t i) { return i < s.size() && (at(i) & 0xC0) == 0x80; };
    std::uint8_t const lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if (lead == 0xE0 && at(1) < 0xA0) return 0;  // overlong
        if (lead == 0xED && at(1) > 0x9F) return 0;  // surrogate
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (lead == 0xF0 && at(1) < 0x90) return 0;  // overlong
        if (lead == 0xF4 && at(1) > 0x8F) return 0;  // beyond U+10FFFF
        return 4;
    }
    return 0;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t const length = sequence_length(text.substr(at));
        if (length == 0) break;
        at += length;
    }
    return at;
}

bool valid_name(std::string_view name) noexcept {
    return !name.empty() && name.find('\0') == std::string_view::npos && valid_utf8(name);
}

std::string mended_utf8(std::string_view text, std::size_t max_bytes) {
    std::string out;
    while (!text.empty()) {
        std::size_t const length = sequence_length(text);
        bool const bad = length == 0 || text[0] == '\0';
        std::size_t const taken = bad ? 1 : length;
        if (out.size() + taken > max_bytes) break;
        if (bad)
            out += '?';
        else
            out.append(text.substr(0, length));
        text.remove_prefix(taken);
    }
    return out;
}

}  // namespace gander::sqlite

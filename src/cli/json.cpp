// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "json.hpp"

#include <gander/payload.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace gander::cli {
namespace {

/// The length of the UTF-8 sequence at the front of `text`, which is not empty, or 0.
std::size_t sequence_length(std::string_view text) {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return 1;
    std::size_t const length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
    if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;
    if (byte(0) == 0xED && byte(1) > 0x9F) return 0;
    if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;
    if (byte(0) == 0xF4 && byte(1) > 0x8F) return 0;
    return length;
}

void append_string(std::string& to, std::string_view text) {
    to += '"';
    for (char const c : text) {
        if (c == '"' || c == '\\')
            (to += '\\') += c;
        else if (c == '\n')
            to += "\\n";
        else if (c == '\t')
            to += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20)
            fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned char>(c));
        else
            to += c;
    }
    to += '"';
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string mended(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        auto const length = sequence_length(text);
        if (length == 0)
            result += "\xEF\xBF\xBD";
        else
            result += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

void json_line::begin(std::string_view name) {
    if (text_.size() > 1) text_ += ',';
    append_string(text_, name);
    text_ += ':';
}

json_line& json_line::add(std::string_view name, std::int64_t value) {
    begin(name);
    fmt::format_to(std::back_inserter(text_), "{}", value);
    return *this;
}

json_line& json_line::add(std::string_view name, std::string_view value) {
    begin(name);
    append_string(text_, mended(value));
    return *this;
}

json_line& json_line::add_null(std::string_view name) {
    begin(name);
    text_ += "null";
    return *this;
}

json_line& json_line::add_payload(std::string_view stored) {
    error_code ec;
    auto json = payload::raw(std::string(stored), ec);
    if (ec) return add("payload_text", stored);
    begin("payload");
    auto const value_at = text_.size();
    text_ += json.str();
    // JSON allows line breaks between its tokens, and nowhere else; here one is the end.
    auto const is_break = [](char c) { return c == '\n' || c == '\r'; };
    std::replace_if(text_.begin() + static_cast<std::ptrdiff_t>(value_at), text_.end(), is_break,
                    ' ');
    return *this;
}

std::string json_line::str() && {
    text_ += "}\n";
    return std::move(text_);
}

}  // namespace gander::cli

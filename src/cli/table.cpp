// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "table.hpp"

#include "json.hpp"

#include <algorithm>

namespace gander::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Characters, not bytes. Wide ones count as one: near enough for a listing.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

}  // namespace

std::string table::str() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        widths.push_back(width(columns_[i].title));
        for (auto const& row : rows_) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string result;
    auto const line = [&](auto const& cell_of) {
        std::string text;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            std::string_view const cell = cell_of(i);
            std::string const padding(widths[i] - width(cell), ' ');
            if (i > 0) text += "  ";
            if (columns_[i].where == align::right) text += padding;
            text += cell;
            if (columns_[i].where == align::left) text += padding;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        result += text;
        result += '\n';
    };
    line([&](std::size_t i) { return columns_[i].title; });
    for (auto const& row : rows_) line([&](std::size_t i) { return std::string_view(row[i]); });
    return result;
}

std::string in_one_line(std::string_view text, std::size_t limit) {
    // Mend no more than can be shown: a payload may be large.
    std::string shown = mended(text.substr(0, limit * 4 + 4));
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    if (width(shown) <= limit) return shown;
    std::size_t end = 0;
    for (std::size_t kept = 0; end < shown.size(); ++end)
        if (!continues(shown[end]) && kept++ == limit - 3) break;
    return shown.substr(0, end) + "...";
}

}  // namespace gander::cli

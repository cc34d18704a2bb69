// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Aligned columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gander::cli {

class table {
public:
    enum class align { left, right };

    struct column {
        std::string_view title;
        align where = align::left;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

    /// One cell a column.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    /// The titles and the rows, a line each, no spaces at the end of any.
    std::string str() const;

private:
    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `text` in one line of at most `limit` characters: control characters are shown as spaces, and
/// what is cut off as "...".
std::string in_one_line(std::string_view text, std::size_t limit);

}  // namespace gander::cli

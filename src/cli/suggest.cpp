// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "suggest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace gander::cli {
namespace {

/// Insertions, deletions, substitutions, and swaps of neighbours: the usual slips of a typist.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const cost = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view given, std::span<std::string_view const> known) {
    // An option can be as long as the command line: beyond this, a distance tells nothing.
    given = given.substr(0, 64);
    std::string_view best;
    auto best_distance = std::numeric_limits<std::size_t>::max();
    for (auto name : known) {
        // A name that was cut short is nearer than any slip.
        auto const d = !given.empty() && name.starts_with(given) ? 0 : distance(given, name);
        if (d >= best_distance) continue;
        best = name;
        best_distance = d;
    }
    return best;
}

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "event_lines.hpp"

#include "json.hpp"

#include <gander/stream.hpp>

namespace gander::cli {

std::string event_lines(batch const& events) {
    std::string lines;
    for (auto const& e : events) {
        json_line line;
        line.add("offset", e.offset()).add("topic", e.topic()).add_or_null("key", e.key());
        line.add_payload(e.payload()).add("created_at", e.created_at());
        lines += std::move(line).str();
    }
    return lines;
}

}  // namespace gander::cli

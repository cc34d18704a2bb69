// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Events as lines.
#pragma once

#include <string>

namespace gander {
class batch;
}

namespace gander::cli {

/// `{"offset","topic","key","payload","created_at"}`, a line each.
std::string event_lines(batch const& events);

}  // namespace gander::cli

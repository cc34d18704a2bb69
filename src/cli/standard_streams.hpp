// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What the process inherits, brought into a known state.
#pragma once

namespace gander::cli {

/// Fills descriptors 0 to 2 that were closed, so that no database file gets one of these numbers,
/// ignores SIGPIPE, and undoes an inherited ignored SIGCHLD or blocked signal. Call it first.
void settle_standard_streams();

}  // namespace gander::cli

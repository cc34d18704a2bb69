// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Which symbols the library exports.
#pragma once

#define GANDER_DECL __attribute__((visibility("default")))

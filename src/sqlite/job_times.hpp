// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// When a job runs: options into checked seconds of the file's clock.
#pragma once

#include "gander/options.hpp"
#include "sqlite/jobs.hpp"

#include <cstdint>

namespace gander::sqlite {

/// The first whole second that is not before `now_ms + delay_ms`; now's own second for no delay.
/// Rounding up: a delay may end late by a part of a second, never early.
/// \throws system_error `errc::out_of_range`.
std::int64_t due_time(std::int64_t now_ms, std::int64_t delay_ms);

/// 2^attempt seconds, at most an hour, and up to a fifth more or less, so that jobs that failed
/// together do not come back together.
std::int64_t backoff_ms(std::int64_t attempt);

/// \throws system_error `errc::out_of_range` for what is negative, overflows or is below 1.
void check(queue_options const& options);
void check(enqueue_options const& options);

/// Throws when `d` is not a length of time: negative, too long or, unless `zero_allowed`, zero.
void check(duration d, char const* name, bool zero_allowed);

new_job make_job(queue_options const& queue, enqueue_options const& options, std::int64_t now_ms);

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/job_times.hpp"

#include "sqlite/checked.hpp"

#include <algorithm>
#include <chrono>
#include <random>

namespace gander::sqlite {

namespace {

constexpr std::int64_t longest_backoff_ms = 3'600'000;

std::int64_t floor_seconds(std::int64_t ms) noexcept {
    return ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000);
}

}  // namespace

std::int64_t due_time(std::int64_t now_ms, std::int64_t delay_ms) {
    if (delay_ms == 0) return floor_seconds(now_ms);
    return floor_seconds(checked_add(checked_add(now_ms, delay_ms), 999));
}

std::int64_t backoff_ms(std::int64_t attempt) {
    thread_local std::minstd_rand random(std::random_device{}());
    std::int64_t const power =
        std::clamp<std::int64_t>(attempt, 0, 12);  // 2^12 s is beyond an hour
    std::int64_t const base = std::min(longest_backoff_ms, std::int64_t{1000} << power);
    std::uniform_int_distribution<std::int64_t> spread(-base / 5, base / 5);
    return std::min(longest_backoff_ms, base + spread(random));
}

void check(duration d, char const* name, bool zero_allowed) {
    if (d.saturated() || d.milliseconds() < (zero_allowed ? 0 : 1))
        throw system_error(errc::out_of_range, name);
}

void check(queue_options const& options) {
    if (options.max_attempts < 1) throw system_error(errc::out_of_range, "max_attempts");
    check(options.lease, "lease", false);
}

void check(enqueue_options const& options) {
    if (options.delay) check(*options.delay, "delay", true);
    if (options.expires) check(*options.expires, "expires", true);
    if (options.run_at && options.run_at->time_since_epoch().count() < 0)
        throw system_error(errc::out_of_range, "run_at");
    if (options.max_attempts && *options.max_attempts < 1)
        throw system_error(errc::out_of_range, "max_attempts");
}

new_job make_job(queue_options const& queue, enqueue_options const& options, std::int64_t now_ms) {
    new_job job;
    job.created_at = floor_seconds(now_ms);
    job.priority = options.priority.value_or(queue.priority);
    job.max_attempts = options.max_attempts.value_or(queue.max_attempts);
    job.run_at = job.created_at;
    if (options.delay)
        job.run_at = due_time(now_ms, options.delay->milliseconds());
    else if (options.run_at)
        job.run_at =
            std::chrono::ceil<std::chrono::seconds>(*options.run_at).time_since_epoch().count();
    if (options.expires) job.expires_at = due_time(now_ms, options.expires->milliseconds());
    return job;
}

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/bulk_reader.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gander::engine {

bulk_reader::bulk_reader(sqlite::connection::settings const& settings, host& of)
    : settings_(settings), host_(of) {
    if (settings_.mode == open_mode::create) settings_.mode = open_mode::existing;
}

void bulk_reader::post(task t) {
    std::lock_guard const lock(mutex_);
    tasks_.push_back(std::move(t));
    if (std::exchange(running_, true)) return;
    threads::instance().sqlite.post(host_.guarded([this] { run(); }));
}

void bulk_reader::run() {
    task t;
    {
        std::lock_guard const lock(mutex_);
        t = std::move(tasks_.front());
        tasks_.pop_front();
    }
    std::int64_t delay_ms = 0;
    try {
        if (!store_) {
            store_ = std::make_unique<sqlite::store>(settings_);
            if (!host_.check_identity()) {
                store_.reset();
                throw system_error(errc::file_replaced, settings_.path);
            }
        }
        t.run(*store_);
        retry_ms_ = 1;
    } catch (...) {
        failure why = current_failure();
        if (sqlite::is_busy(why.code) && sqlite::steady_ms() < t.deadline) {
            delay_ms = retry_ms_;
            retry_ms_ = std::min<std::int64_t>(retry_ms_ * 2, 50);
        } else {
            if (sqlite::is_busy(why.code)) why = {make_error_code(errc::busy), nullptr};
            t.fail(why);
        }
    }
    std::lock_guard const lock(mutex_);
    if (delay_ms > 0) tasks_.push_front(std::move(t));
    running_ = !tasks_.empty();
    if (!running_) return;
    auto& pool = threads::instance().sqlite;
    if (delay_ms > 0)
        pool.post_after(std::chrono::milliseconds(delay_ms), host_.guarded([this] { run(); }));
    else
        pool.post(host_.guarded([this] { run(); }));
}

void bulk_reader::drop_tasks() noexcept {
    std::deque<task> dropped;  // may hold the last reference to anything: destroyed unlocked
    std::lock_guard const lock(mutex_);
    dropped.swap(tasks_);
}

}  // namespace gander::engine

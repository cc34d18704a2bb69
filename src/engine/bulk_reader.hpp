// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Reads of a file that are too long, or might block, for the thread that wants them.
#pragma once

#include "engine/host.hpp"
#include "engine/threads.hpp"
#include "engine/write_op.hpp"
#include "sqlite/store.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace gander::engine {

/// One connection, opened on the first read, and tasks that use it one after another on the pool.
/// Thread-safe.
class bulk_reader {
public:
    struct task {
        std::function<void(sqlite::store&)> run;   ///< May throw; is tried again while busy.
        std::function<void(failure const&)> fail;  ///< Instead, when it cannot be run.
        std::int64_t deadline = INT64_MAX;         ///< Steady ms at which busy is a failure.
    };

    bulk_reader(sqlite::connection::settings const& settings, host& of);

    void post(task t);

    /// Drops what has not run. Nothing may be running or begin to.
    void drop_tasks() noexcept;

    /// Gives up the connection, to be closed elsewhere. Nothing may be running.
    std::unique_ptr<sqlite::store> release_store() noexcept { return std::move(store_); }

private:
    void run();

    sqlite::connection::settings settings_;
    host& host_;
    std::mutex mutex_;
    std::deque<task> tasks_;
    bool running_ = false;
    std::unique_ptr<sqlite::store> store_;  // of the running task
    std::int64_t retry_ms_ = 1;
};

}  // namespace gander::engine

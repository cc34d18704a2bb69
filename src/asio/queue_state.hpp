// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What stands behind a gander::queue.
#pragma once

#include "asio/database_state.hpp"
#include "gander/queue.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace gander::detail {

class queue_state {
public:
    queue_state(std::shared_ptr<database_state> of, std::string called, queue_options with)
        : db(std::move(of)), name(std::move(called)), options(with) {}

    asio::any_io_executor const& executor() const noexcept { return db->executor(); }

    /// Claims waiting by this handle, so that it can cancel them.
    void waits(std::uint64_t id) {
        std::lock_guard const lock(mutex_);
        waiting_.insert(id);
    }
    void waits_no_more(std::uint64_t id) {
        std::lock_guard const lock(mutex_);
        waiting_.erase(id);
    }
    void cancel_all();

    std::shared_ptr<database_state> const db;
    std::string const name;
    queue_options const options;

private:
    std::mutex mutex_;
    std::set<std::uint64_t> waiting_;
};

/// The token of a claim by `worker`: its name and a random suffix, or just the name.
std::string claim_token(std::string const& worker, bool keep_name);

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/context_hook.hpp"

#include <boost/asio/query.hpp>

namespace gander::detail {

void hook_service::registry::add(context_hook& h) {
    std::lock_guard const lock(mutex_);
    hooks_.push_back(h);
}

void hook_service::registry::remove(context_hook& h) noexcept {
    std::lock_guard const lock(mutex_);
    if (h.is_linked()) hooks_.erase(hooks_.iterator_to(h));
}

std::shared_ptr<hook_service::registry> hook_service::of(asio::any_io_executor const& ex) {
    return asio::use_service<hook_service>(asio::query(ex, asio::execution::context)).registry_;
}

void hook_service::shutdown() noexcept {
    for (;;) {
        std::shared_ptr<context_hook> hook;
        {
            std::lock_guard const lock(registry_->mutex_);
            auto& hooks = registry_->hooks_;
            while (!hook && !hooks.empty()) {
                // Null for one that is being destroyed right now by another thread.
                hook = hooks.front().weak_from_this().lock();
                hooks.pop_front();
            }
        }
        if (!hook) return;
        hook->on_shutdown();
    }
}

}  // namespace gander::detail

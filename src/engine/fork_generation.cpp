// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fork_generation.hpp"

#include <pthread.h>

#include <atomic>

namespace gander::engine {

namespace {

std::atomic<std::uint64_t> generation{0};

}  // namespace

std::uint64_t fork_generation() noexcept {
    static int const registered = ::pthread_atfork(
        nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    (void)registered;
    return generation.load(std::memory_order_relaxed);
}

}  // namespace gander::engine

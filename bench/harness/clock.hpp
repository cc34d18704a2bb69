// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The one clock of all benchmark processes, and the gaps between writes.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace bench {

/// CLOCK_MONOTONIC in nanoseconds: the same clock in every process of the machine, so a stamp
/// taken in one can be subtracted from a stamp taken in another.
inline std::int64_t now_ns() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Random gaps of 1 to 20 ms. Splitmix64, written out here because the peers' programs draw the
/// same gaps from the same seed: every system of a round gets one and the same schedule. Random,
/// because a fixed period can fall into step with a poll and measure only one phase of it.
class gap_source {
public:
    explicit gap_source(std::uint64_t seed) noexcept : state_(seed) {}

    std::chrono::microseconds next() noexcept {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        z ^= z >> 31;
        return std::chrono::microseconds(1000 + static_cast<std::int64_t>(z % 19001));
    }

private:
    std::uint64_t state_;
};

}  // namespace bench

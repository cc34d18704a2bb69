// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Deadlines that know how slow the build is, and waiting without guessing how long.
#pragma once

#include <chrono>
#include <thread>

namespace gander::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slowness = 4;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr int slowness = 4;
#else
inline constexpr int slowness = 1;
#endif
#else
inline constexpr int slowness = 1;
#endif

/// `plain` is meant for an idle machine without a sanitizer.
inline constexpr milliseconds scaled(milliseconds plain) { return plain * slowness; }

/// How long anything may take before the test gives up on it. Not a bound that is tested.
inline constexpr milliseconds patience = scaled(20s);

/// Looks until `done()` or the deadline; whether it was done. For what cannot be waited for.
template <class F>
bool poll_until(F done, milliseconds within = patience) {
    auto const deadline = clock::now() + within;
    while (!done()) {
        if (clock::now() >= deadline) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

class stopwatch {
public:
    milliseconds elapsed() const {
        return std::chrono::duration_cast<milliseconds>(clock::now() - began_);
    }

private:
    clock::time_point began_ = clock::now();
};

}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Keeps an execution context from going away under a task of the library that is using it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace gander::engine {

/// Tasks on the library's threads enter it before they touch handlers or executors; `close` lets
/// none enter any more and waits for those inside. Thread-safe.
class lifetime {
public:
    class scope {
    public:
        explicit scope(lifetime& of) : of_(of), entered_(of.enter()) {}
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
        ~scope() {
            if (entered_) of_.leave();
        }
        explicit operator bool() const noexcept { return entered_; }

    private:
        lifetime& of_;
        bool entered_;
    };

    void close() {
        std::unique_lock lock(mutex_);
        closed_ = true;
        left_.wait(lock, [&] { return inside_ == 0; });
    }

private:
    bool enter() {
        std::lock_guard const lock(mutex_);
        if (closed_) return false;
        ++inside_;
        return true;
    }

    void leave() {
        std::lock_guard const lock(mutex_);
        if (--inside_ == 0 && closed_) left_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable left_;
    std::size_t inside_ = 0;
    bool closed_ = false;
};

}  // namespace gander::engine

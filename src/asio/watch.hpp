// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// File events, read by an execution context's own reactor, for all databases of that context.
#pragma once

#include "gander/fwd.hpp"
#include "gander/options.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace gander::detail {

/// Somebody who wants to know when a file changes.
class watched {
public:
    enum class sight {
        settled,    ///< Nothing more is to be expected.
        in_flight,  ///< Look again in microseconds.
    };

    virtual ~watched() = default;

    /// Has anybody committed? Called on a thread of the context, no lock held.
    virtual sight look() = 0;

    /// The file itself may have been replaced.
    virtual void check_identity() = 0;

    /// Grows with every commit noticed: tells whether a look found one.
    virtual std::uint64_t ticks() const = 0;

    virtual void count_event() = 0;
    virtual void count_missed() = 0;
};

class watch_core;

/// One file's place in its context's watch. Thread-safe.
class watch : public std::enable_shared_from_this<watch> {
public:
    /// While one of these is alive, file events are read and the poll runs.
    class arming {
    public:
        arming() = default;
        arming(arming&& other) noexcept : of_(std::move(other.of_)) {}
        arming& operator=(arming&& other) noexcept {
            std::swap(of_, other.of_);
            return *this;
        }
        ~arming();

    private:
        friend class watch;
        explicit arming(std::shared_ptr<watch> of) noexcept : of_(std::move(of)) {}
        std::shared_ptr<watch> of_;
    };

    watch(asio::any_io_executor const& ex, std::string path, wake_source source, duration poll);
    watch(watch const&) = delete;
    watch& operator=(watch const&) = delete;
    ~watch();

    /// Makes what the context needs for a watch. For whoever will make one on another thread: by then
    /// the context may be shutting down, and a service added then would never be shut down.
    static void prepare(asio::any_io_executor const& ex);

    /// Whom to tell. Set once.
    void attach(std::weak_ptr<watched> who);

    /// The first one is followed by a look.
    arming arm();

    bool armed() const;

    /// Has a look made on a thread of the context, soon.
    void request_look();

private:
    void disarm() noexcept;

    std::shared_ptr<watch_core> const core_;
    std::uint64_t const key_;
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The watch of one execution context: one inotify instance, one ladder, one poll.
#pragma once

#include "asio/watch.hpp"
#include "sqlite/file_events.hpp"

#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gander::detail {

/// Reads file events while somebody waits, so that `run()` returns when nobody does.
///
/// An event comes when a WAL frame is written, which is before its commit is visible. So a look
/// that finds a commit in flight is repeated on a ladder of short, growing steps. Under a burst,
/// when events come much faster than commits, the descriptor rests and the ladder reads the events.
class watch_core : public std::enable_shared_from_this<watch_core> {
public:
    using key = sqlite::file_events::key;

    static std::shared_ptr<watch_core> of(asio::any_io_executor const& ex);

    explicit watch_core(asio::any_io_executor const& ex);

    key add(std::string path, wake_source source, duration poll);
    void attach(key k, std::weak_ptr<watched> who);
    void remove(key k) noexcept;
    void arm(key k);
    void disarm(key k) noexcept;
    bool armed(key k) const;
    void request_look(key k);

    /// The context is going away.
    void shut_down() noexcept;

private:
    struct entry {
        std::string path;
        bool poll_only = false;
        std::chrono::milliseconds poll{};
        std::weak_ptr<watched> who;
        std::size_t arms = 0;
        bool registered = false;  // its events are asked for
        bool climbing = false;    // is on the ladder
        bool look_posted = false;
        bool disarm_posted = false;
    };
    using target = std::pair<key, std::shared_ptr<watched>>;

    void post_look(key k, entry& e);  // mutex held
    void follow(std::vector<sqlite::file_events::hit> const& hits);
    void look_at(key k, std::shared_ptr<watched> const& who);
    void disarm_if_unused(key k);

    void wait_readable();  // mutex held
    void on_readable();
    void climb();  // mutex held
    void on_step();
    void start_poll();  // mutex held
    void on_poll();

    mutable std::mutex mutex_;
    bool stopped_ = false;
    asio::any_io_executor ex_;
    sqlite::file_events events_;
    std::optional<asio::posix::stream_descriptor> descriptor_;
    std::optional<asio::steady_timer> ladder_;
    std::optional<asio::steady_timer> poll_;
    std::map<key, entry> files_;
    key last_key_ = 0;
    std::size_t armed_ = 0;
    bool reading_ = false;   // a wait for the descriptor is outstanding
    bool resting_ = false;   // the ladder reads the events
    bool stepping_ = false;  // a step of the ladder is outstanding
    bool polling_ = false;
    int step_ = 0;
    int idle_events_ = 0;  // events in a row that found nothing
    std::chrono::milliseconds poll_interval_{};
};

class watch_service final : public asio::execution_context::service {
public:
    static inline asio::execution_context::id id;

    explicit watch_service(asio::execution_context& context) : service(context) {}

    std::shared_ptr<watch_core> core(asio::any_io_executor const& ex);

private:
    void shutdown() noexcept override;

    std::mutex mutex_;
    std::shared_ptr<watch_core> core_;
};

}  // namespace gander::detail

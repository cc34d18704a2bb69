// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Options of every operation. All are aggregates for designated initialisers,
/// `{.max = 100, .wait = 5s}`, and trivially destructible: g++ 12 destroys other aggregates twice
/// inside a `co_await` expression.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace gander {

/// A span of time in whole milliseconds, made from any std::chrono duration: `500ms`, `10s`, `2h`.
/// Fractions round up, and what does not fit saturates, to be refused as `errc::out_of_range` by
/// the operation that gets it.
class duration {
public:
    constexpr duration() noexcept = default;

    template <class Rep, class Period>
    constexpr duration(std::chrono::duration<Rep, Period> d) noexcept  // NOLINT: meant to convert
        : ms_(saturate(d)) {}

    constexpr std::int64_t milliseconds() const noexcept { return ms_; }

    /// Whole seconds, rounded up.
    constexpr std::int64_t seconds() const noexcept {
        return ms_ / 1000 + (ms_ % 1000 > 0 ? 1 : 0);
    }

    constexpr bool saturated() const noexcept {
        return ms_ == std::numeric_limits<std::int64_t>::max() ||
               ms_ == std::numeric_limits<std::int64_t>::min();
    }

private:
    template <class Rep, class Period>
    static constexpr std::int64_t saturate(std::chrono::duration<Rep, Period> d) noexcept {
        using limits = std::numeric_limits<std::int64_t>;
        using exact = std::chrono::duration<long double, std::milli>;
        long double const ms = exact(d).count();
        if (!(ms > -9.2e18L)) return limits::min();
        if (!(ms < 9.2e18L)) return limits::max();
        auto const whole = static_cast<std::int64_t>(ms);
        return static_cast<long double>(whole) < ms ? whole + 1 : whole;
    }

    std::int64_t ms_ = 0;
};

/// How a database is opened.
enum class open_mode {
    create,     ///< Read and write; a missing file is created, in WAL mode.
    existing,   ///< Read and write; a missing file is an error.
    read_only,  ///< Listen, read and notifier work; writes are `errc::read_only`.
};

/// What an acknowledged write survives.
enum class synchronous {
    full,    ///< Power loss: an fsync stands before every acknowledgement.
    normal,  ///< A crash of the process; power loss may take the last commits.
};

/// Where commit ticks of other processes come from.
enum class wake_source {
    automatic,  ///< File events, with a slow poll under them.
    poll,       ///< Only the poll, for file systems without file events.
};

/// One thing that happened inside, for logs and metrics.
struct engine_event {
    enum class kind {
        commit,      ///< value: operations in the transaction; micros: BEGIN to COMMIT returned.
        busy,        ///< value: the attempt's number; the writer was parked.
        checkpoint,  ///< value: frames in the WAL before it; micros: its length.
        missed,      ///< The poll found a commit that no file event had told of.
        failed,      ///< value: an SQLite result code; a group's COMMIT failed.
    };
    kind what;
    std::int64_t value;
    std::int64_t micros;
};

/// Options of `database`.
struct open_options {
    open_mode mode = open_mode::create;

    /// Durability of every acknowledged write on this handle.
    gander::synchronous synchronous = synchronous::full;

    /// How long a write waits for another process's lock before it fails with `errc::busy`.
    duration busy_deadline = std::chrono::seconds(5);

    /// A group commit takes at most this many operations and bytes of payload; what is beyond waits
    /// for the next one. Smaller groups mean shorter write locks, larger ones more throughput.
    std::size_t max_group_operations = 1000;
    std::size_t max_group_bytes = 1024 * 1024;

    wake_source wake = wake_source::automatic;

    /// The poll's interval. Under file events it is only a safety net and backs off to 5 s.
    duration poll_interval = std::chrono::milliseconds(100);

    /// Bytes of the file that readers may map into memory. Faster for scans beyond the cache, but a
    /// file that is truncated by somebody else is then a SIGBUS in this process.
    std::int64_t read_mmap = 0;

    /// The WAL frame count at which background checkpoints begin; 0 leaves checkpoints to others.
    std::uint32_t checkpoint_frames = 500;

    /// A registered SQLite VFS by name, whose clock is then the file's clock; null: the default.
    char const* vfs = nullptr;

    /// Called for each engine_event, on a thread of the library, with `on_event_context`. It must
    /// be quick, must not throw and must not call into gander; it may not be called after the last
    /// handle and operation of the database are gone.
    void (*on_event)(void* context, engine_event const& event) = nullptr;
    void* on_event_context = nullptr;
};

/// Options of `database::listen`.
struct listen_options {
    /// Start after this notification id instead of from now; 0: with the oldest that is still there.
    std::optional<std::int64_t> since{};
};

/// Options of `listener::async_receive` and of every readiness wait.
struct wait_options {
    /// The longest wait; its end is `errc::timed_out`. Zero does not wait; unset waits for ever.
    std::optional<duration> wait{};
};

/// Options of `consumer::async_read`.
struct read_options {
    std::size_t max = 100;  ///< At most this many events; at least 1.
    std::optional<duration> wait{};
};

/// Where a consumer without a saved offset begins.
class start {
public:
    enum class kind { earliest, latest, at, after };

    static start const earliest;  ///< With the oldest event there is.
    static start const latest;    ///< With the first event published after the first read.

    /// With the first event published at or after this time.
    static constexpr start at(std::chrono::system_clock::time_point when) noexcept {
        return {kind::at,
                std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count()};
    }

    /// With the first event after this offset.
    static constexpr start after(std::int64_t offset) noexcept { return {kind::after, offset}; }

    constexpr kind what() const noexcept { return kind_; }
    constexpr std::int64_t value() const noexcept { return value_; }

private:
    constexpr start(kind k, std::int64_t v) noexcept : kind_(k), value_(v) {}

    kind kind_;
    std::int64_t value_;
};

inline constexpr start start::earliest{start::kind::earliest, 0};
inline constexpr start start::latest{start::kind::latest, 0};

/// Options of `consumer`.
struct consumer_options {
    gander::start start = start::earliest;
};

/// Options of `queue`: defaults for the jobs enqueued and claimed through it.
struct queue_options {
    std::int64_t max_attempts = 3;              ///< At least 1; then the dead letters.
    std::int64_t priority = 0;                  ///< Higher is claimed first.
    duration lease = std::chrono::seconds(60);  ///< How long a claim holds without heartbeat.

    /// Store the worker's name as it is, without a random suffix. Two claims under one name can
    /// then ack each other's jobs.
    bool keep_worker_name = false;
};

/// Options of enqueue.
struct enqueue_options {
    std::optional<duration> delay{};                                ///< From now; wins over run_at.
    std::optional<std::chrono::system_clock::time_point> run_at{};  ///< Not before this time.
    std::optional<std::int64_t> priority{};                         ///< The queue's when unset.
    std::optional<std::int64_t> max_attempts{};                     ///< The queue's when unset.
    std::optional<duration> expires{};  ///< Not claimed any more this long after now.
};

/// Options of `queue::async_claim` and `async_claim_many`.
struct claim_options {
    std::size_t max = 1;              ///< async_claim_many: at most this many jobs, at least 1.
    std::optional<duration> lease{};  ///< The queue's when unset.
    std::optional<duration> wait{};   ///< As in wait_options.
};

/// Options of retry.
struct retry_options {
    /// When unset: 2^attempt seconds, +-20 %, at most one hour.
    std::optional<duration> delay{};
};

/// Options of `notifier`.
struct notifier_options {
    wake_source wake = wake_source::automatic;
    duration poll_interval = std::chrono::milliseconds(100);
};

}  // namespace gander

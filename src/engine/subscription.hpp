// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One reader of a table that only grows at its end: a listener, or a consumer.
#pragma once

#include "gander/error.hpp"
#include "sqlite/notifications.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gander::engine {

/// A position, what it wants, and at most the rows of one read. Guarded by the file's mutex.
template <class Row>
class subscription {
public:
    using row_ptr = std::shared_ptr<Row const>;

    subscription(sqlite::channel_pattern pattern, std::int64_t from)
        : pattern_(std::move(pattern)), examined_(from) {}
    subscription(subscription const&) = delete;
    subscription& operator=(subscription const&) = delete;
    virtual ~subscription() = default;

    /// Tells it who owns it. Call once, before it waits.
    void owned_by(std::weak_ptr<subscription> self) noexcept { self_ = std::move(self); }

    /// Rows have arrived, or an error: hand them out. Called with no lock held.
    virtual void serve() = 0;

    std::shared_ptr<subscription> self() const noexcept { return self_.lock(); }
    sqlite::channel_pattern const& pattern() const noexcept { return pattern_; }

    bool has_row() const noexcept { return next_ < rows_.size(); }

    row_ptr take_row() {
        row_ptr row = std::move(rows_[next_++]);
        if (next_ == rows_.size()) {
            rows_.clear();
            next_ = 0;
        }
        return row;
    }

    error_code take_error() noexcept { return std::exchange(error_, {}); }
    /// True once after a catch-up for `tail::wait_once` found nothing.
    bool take_nothing_there() noexcept { return std::exchange(nothing_there_, false); }
    error_code peek_error() const noexcept { return error_; }
    bool has_error() const noexcept { return error_.failed(); }

private:
    template <class>
    friend class tail;

    enum class state {
        lagging,   ///< Has to read by itself what the shared cursor has passed.
        catching,  ///< Is doing so.
        joined,    ///< Gets its rows from the shared read.
    };

    sqlite::channel_pattern const pattern_;
    std::weak_ptr<subscription> self_;
    std::int64_t examined_;  ///< Every matching row up to here was handed out or stands in rows_.
    state state_ = state::lagging;
    bool waiting_ = false;  ///< An operation waits for a row.
    std::vector<row_ptr> rows_;
    std::size_t next_ = 0;
    error_code error_;
    std::uint64_t generation_ = 0;  ///< The shared read that rows_ came from.
    bool once_ = false;             ///< Wants to be told that there is nothing, too.
    bool nothing_there_ = false;
    bool dropping_ = false;  ///< Leaves at the end of the read being handed out.
};

template <class Row>
void serve(std::vector<std::shared_ptr<subscription<Row>>> const& ready) {
    for (auto const& s : ready) s->serve();
}

}  // namespace gander::engine

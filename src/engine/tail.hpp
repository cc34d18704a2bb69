// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The end of a growing table, read once for all who wait for it.
#pragma once

#include "engine/subscription.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gander::engine {

/// What one read of a table returned.
template <class Row>
struct page {
    std::shared_ptr<std::vector<Row>> rows = std::make_shared<std::vector<Row>>();
    std::int64_t after = 0;  ///< The position it was read from.
    std::int64_t end = 0;    ///< Everything up to here has been examined.
    std::int64_t pruned =
        0;              ///< Rows up to here are gone; above `after`, somebody has missed some.
    bool more = false;  ///< A limit ended it.
};

inline std::int64_t row_id(detail::notification_row const& r) noexcept { return r.id; }
inline std::int64_t row_id(detail::event_row const& r) noexcept { return r.offset; }
inline std::string const& row_name(detail::notification_row const& r) noexcept { return r.channel; }
inline std::string const& row_name(detail::event_row const& r) noexcept { return r.topic; }

/// A shared cursor and the subscriptions that follow it.
///
/// A subscription joins only if it has examined everything up to the cursor, and a shared read
/// hands it only rows beyond what it has examined. One that has not taken the rows of the read
/// before gets no more: it drops out, and catches up by itself when it asks again. So nothing is
/// lost, nothing comes twice, and nobody holds more than the rows of one read.
///
/// Guarded by the file's mutex; it reads nothing itself.
template <class Row>
class tail {
public:
    using subscriber = subscription<Row>;
    using state = typename subscriber::state;

    /// What has to be done for a subscription that waits.
    enum class need { nothing, shared_read, catch_up };

    /// Somebody waits at the shared cursor.
    bool wanted() const noexcept { return wanted_ > 0; }
    std::int64_t cursor() const noexcept { return cursor_; }

    /// An operation of `s`, which has no row, waits from now on.
    need wait(subscriber& s) {
        if (!s.waiting_) {
            s.waiting_ = true;
            if (s.state_ == state::joined) ++wanted_;
        }
        if (s.state_ == state::lagging && !try_join(s)) {
            s.state_ = state::catching;
            return need::catch_up;
        }
        return s.state_ == state::joined && stale_ ? need::shared_read : need::nothing;
    }

    /// An operation of `s` wants what there is now, or to be told that there is nothing.
    need wait_once(subscriber& s) noexcept {
        s.once_ = true;
        if (s.state_ == state::joined) leave(s, cursor_);
        s.waiting_ = true;
        if (s.state_ == state::catching) return need::nothing;  // that one will tell
        s.state_ = state::catching;
        return need::catch_up;
    }

    /// No operation of `s` waits any more.
    void stop_waiting(subscriber& s) noexcept {
        if (!s.waiting_) return;
        s.waiting_ = false;
        if (s.state_ == state::joined) --wanted_;
    }

    /// `s` is about to be destroyed.
    void remove(subscriber& s) noexcept {
        stop_waiting(s);
        leave(s, s.examined_);
    }

    /// A commit was noticed and nothing is being read on account of it.
    void mark_stale() noexcept { stale_ = true; }

    /// Begins a shared read from `cursor()`; false when nobody wants one or one is going on, which
    /// then goes round again.
    bool begin_shared_read() noexcept {
        again_ = reading_;
        stale_ = !wanted();
        if (reading_ || !wanted()) return false;
        reading_ = true;
        return true;
    }

    /// Hands out what it returned, appending those to be served to `ready`. True when it must go
    /// on: there is more, or a commit was noticed meanwhile.
    bool end_shared_read(page<Row> const& p, std::vector<std::shared_ptr<subscriber>>& ready) {
        reading_ = false;
        bool more = p.more || again_;
        again_ = false;
        if (cursor_ < p.after) {
            // Everybody left during the read and somebody joined from further back: what was read
            // does not begin where they are.
            more = true;
        } else {
            ++generation_;
            if (p.pruned > p.after) report_gap(p, ready);
            for (auto const& row : *p.rows) hand_out(row, p, ready);
            drop_marked();
            cursor_ = std::max(cursor_, p.end);
        }
        if (more && !wanted()) stale_ = true;
        return more && wanted();
    }

    /// The shared read failed: those who wait are told.
    void fail_shared_read(error_code ec, std::vector<std::shared_ptr<subscriber>>& ready) {
        reading_ = again_ = false;
        stale_ = true;
        for_each_joined([&](subscriber& s) {
            if (!s.waiting_) return;
            s.error_ = ec;
            wake(s, ready);
        });
    }

    /// Where a catch-up of `s` begins.
    std::int64_t examined(subscriber const& s) const noexcept { return s.examined_; }

    /// Hands `s` what it read by itself. True when it must read again.
    bool end_catch_up(subscriber& s, page<Row> const& p,
                      std::vector<std::shared_ptr<subscriber>>& ready) {
        if (p.after != s.examined_) return true;  // it was moved meanwhile
        s.state_ = state::lagging;
        if (p.pruned > s.examined_) s.error_ = lagged_;
        for (auto const& row : *p.rows) s.rows_.emplace_back(p.rows, &row);
        s.examined_ = std::max(s.examined_, p.end);
        s.nothing_there_ = s.once_ && !s.has_row() && !p.more;
        if (s.has_row() || s.has_error() || s.nothing_there_) {
            s.once_ = s.waiting_ = false;
            push(s, ready);
            return false;
        }
        if (!s.waiting_) return false;
        return wait(s) == need::catch_up;
    }

    void fail_catch_up(subscriber& s, error_code ec,
                       std::vector<std::shared_ptr<subscriber>>& ready) {
        s.state_ = state::lagging;
        s.once_ = s.waiting_ = false;
        s.error_ = ec;
        push(s, ready);
    }

    /// Joined subscriptions that have just joined need a read if commits went unread.
    bool needs_read() const noexcept { return stale_ && wanted(); }

    /// Moves a subscription, such as after a seek, and drops what it has.
    void reposition(subscriber& s, std::int64_t to) noexcept {
        leave(s, to);
        s.rows_.clear();
        s.next_ = 0;
        s.examined_ = to;
    }

    /// What a subscription gets whose unread rows were pruned; none: it is not told.
    void report_pruned(error_code ec) noexcept { lagged_ = ec; }

private:
    bool try_join(subscriber& s) {
        if (joined_ == 0) cursor_ = s.examined_;
        if (s.examined_ < cursor_) return false;
        s.state_ = state::joined;
        ++joined_;
        if (s.waiting_) ++wanted_;
        if (s.pattern().prefix)
            prefixes_.push_back(&s);
        else
            exact_[s.pattern().name].push_back(&s);
        stale_ = true;  // commits between its own read and now were nobody's business
        return true;
    }

    void leave(subscriber& s, std::int64_t examined) noexcept {
        if (s.state_ != state::joined) return;
        if (s.waiting_) --wanted_;
        s.waiting_ = false;
        --joined_;
        s.state_ = state::lagging;
        s.examined_ = std::max(s.examined_, examined);
        if (s.pattern().prefix) {
            std::erase(prefixes_, &s);
        } else if (auto const at = exact_.find(s.pattern().name); at != exact_.end()) {
            auto& list = at->second;
            auto const found = std::find(list.begin(), list.end(), &s);
            if (found != list.end()) {
                *found = list.back();
                list.pop_back();
            }
            if (list.empty()) exact_.erase(at);
        }
    }

    template <class F>
    void for_each_joined(F f) {
        for (auto* s : prefixes_) f(*s);
        for (auto& [name, list] : exact_)
            for (auto* s : list) f(*s);
    }

    void wake(subscriber& s, std::vector<std::shared_ptr<subscriber>>& ready) {
        if (!s.waiting_) return;
        s.waiting_ = false;
        --wanted_;
        push(s, ready);
    }

    void report_gap(page<Row> const& p, std::vector<std::shared_ptr<subscriber>>& ready) {
        if (!lagged_) return;
        for_each_joined([&](subscriber& s) {
            if (p.pruned <= s.examined_) return;
            s.error_ = lagged_;
            wake(s, ready);
        });
    }

    void hand_out(Row const& row, page<Row> const& p,
                  std::vector<std::shared_ptr<subscriber>>& ready) {
        auto const give = [&](subscriber& s) {
            if (row_id(row) <= s.examined_ || s.dropping_) return;
            if (s.has_row() && s.generation_ != generation_) {
                // Has not taken the rows of an earlier read: no more, and it reads for itself
                // later.
                s.dropping_ = true;
                dropping_.push_back(&s);
                return;
            }
            s.generation_ = generation_;
            s.rows_.emplace_back(p.rows, &row);
            wake(s, ready);
        };
        if (auto const at = exact_.find(row_name(row)); at != exact_.end())
            for (auto* s : at->second) give(*s);
        for (auto* s : prefixes_)
            if (s->pattern().matches(row_name(row))) give(*s);
    }

    void drop_marked() noexcept {
        for (auto* s : dropping_) {
            s->dropping_ = false;
            leave(*s, cursor_);  // as far as the read before this one
        }
        dropping_.clear();
    }

    static void push(subscriber& s, std::vector<std::shared_ptr<subscriber>>& ready) {
        // Null while it is being destroyed: then nobody waits for it.
        if (auto self = s.self()) ready.push_back(std::move(self));
    }

    std::int64_t cursor_ = 0;
    std::size_t joined_ = 0;
    std::size_t wanted_ = 0;
    bool reading_ = false;
    bool again_ = false;
    bool stale_ = true;
    std::uint64_t generation_ = 0;
    error_code lagged_;
    std::unordered_map<std::string, std::vector<subscriber*>> exact_;
    std::vector<subscriber*> prefixes_;
    std::vector<subscriber*> dropping_;
};

}  // namespace gander::engine

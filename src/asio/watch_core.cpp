// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/watch_core.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <array>

namespace gander::detail {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds longest_poll{5000};
constexpr int idle_events_before_rest = 4;

/// The ladder's steps: a commit usually shows within 20 to 100 us of its frames, one with a slow
/// sync within milliseconds. Negative: given up; the poll is still there.
microseconds step_length(int step) noexcept {
    constexpr std::array<int, 16> first = {20,  40,  60,  80,  100, 100, 100, 100,
                                           100, 100, 150, 200, 250, 300, 400, 500};
    if (step < static_cast<int>(first.size()))
        return microseconds(first[static_cast<std::size_t>(step)]);
    if (step < 66) return microseconds(1000);
    if (step < 86) return microseconds(5000);
    return microseconds(-1);
}

}  // namespace

std::shared_ptr<watch_core> watch_service::core(asio::any_io_executor const& ex) {
    std::lock_guard const lock(mutex_);
    if (!core_) core_ = std::make_shared<watch_core>(ex);
    return core_;
}

void watch_service::shutdown() noexcept {
    if (core_) core_->shut_down();
}

std::shared_ptr<watch_core> watch_core::of(asio::any_io_executor const& ex) {
    return asio::use_service<watch_service>(asio::query(ex, asio::execution::context)).core(ex);
}

watch_core::watch_core(asio::any_io_executor const& ex)
    : ex_(ex), ladder_(std::in_place, ex), poll_(std::in_place, ex) {
    if (events_.descriptor() < 0) return;
    descriptor_.emplace(ex);
    error_code ec;
    descriptor_->assign(events_.descriptor(), ec);
    if (ec) descriptor_.reset();
}

watch_core::key watch_core::add(std::string path, wake_source source, duration poll) {
    std::lock_guard const lock(mutex_);
    key const k = ++last_key_;
    entry& e = files_[k];
    e.path = std::move(path);
    e.poll_only = source == wake_source::poll || !descriptor_;
    e.poll = milliseconds(poll.milliseconds());
    return k;
}

void watch_core::attach(key k, std::weak_ptr<watched> who) {
    std::lock_guard const lock(mutex_);
    files_.at(k).who = std::move(who);
}

void watch_core::remove(key k) noexcept {
    std::lock_guard const lock(mutex_);
    auto const at = files_.find(k);
    if (at == files_.end()) return;
    if (at->second.registered) events_.remove(k);
    files_.erase(at);
}

void watch_core::arm(key k) {
    std::lock_guard const lock(mutex_);
    entry& e = files_.at(k);
    if (stopped_ || e.arms++ > 0) return;
    ++armed_;
    if (!reading_ && !resting_) wait_readable();
    // Still as it was a moment ago, when the last wait ended: nothing was missed.
    if (e.disarm_posted && polling_) return;
    if (!e.registered && !e.poll_only) {
        e.registered = events_.add(k, e.path);
        if (!e.registered) e.poll_only = true;
    }
    if (!polling_ || e.poll < poll_interval_) {
        poll_interval_ = e.poll;
        start_poll();
    }
    post_look(k, e);  // what was committed before the events were asked for is found by this
}

void watch_core::request_look(key k) {
    std::lock_guard const lock(mutex_);
    if (auto const at = files_.find(k); at != files_.end() && !stopped_) post_look(k, at->second);
}

void watch_core::post_look(key k, entry& e) {
    if (std::exchange(e.look_posted, true)) return;
    asio::post(ex_, [self = shared_from_this(), k] {
        std::shared_ptr<watched> who;
        {
            std::lock_guard const lock(self->mutex_);
            auto const at = self->files_.find(k);
            if (at == self->files_.end()) return;
            at->second.look_posted = false;  // before the look: a commit after it asks again
            who = at->second.who.lock();
        }
        self->look_at(k, who);
    });
}

bool watch_core::armed(key k) const {
    std::lock_guard const lock(mutex_);
    auto const at = files_.find(k);
    return at != files_.end() && at->second.arms > 0;
}

void watch_core::disarm(key k) noexcept {
    std::lock_guard const lock(mutex_);
    auto const at = files_.find(k);
    if (at == files_.end() || at->second.arms == 0 || --at->second.arms > 0) return;
    --armed_;
    if (stopped_ || at->second.disarm_posted) return;
    at->second.disarm_posted = true;
    // Posted behind the completion that led here, whose handler most likely waits again at once:
    // then nothing has to be undone and done again.
    asio::post(ex_, [self = shared_from_this(), k] { self->disarm_if_unused(k); });
}

void watch_core::disarm_if_unused(key k) {
    std::lock_guard const lock(mutex_);
    if (auto const at = files_.find(k); at != files_.end()) {
        at->second.disarm_posted = false;
        if (at->second.arms == 0 && at->second.registered) {
            events_.remove(k);
            at->second.registered = false;
        }
    }
    if (armed_ > 0 || stopped_) return;
    error_code ignored;
    if (descriptor_) descriptor_->cancel(ignored);
    ladder_->cancel();
    poll_->cancel();
    polling_ = false;
}

void watch_core::shut_down() noexcept {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
    if (descriptor_) events_.release();  // the descriptor object closes it
    descriptor_.reset();
    ladder_.reset();
    poll_.reset();
    ex_ = {};
}

void watch_core::look_at(key k, std::shared_ptr<watched> const& who) {
    if (!who) return;
    std::uint64_t const before = who->ticks();
    bool const climbs = who->look() == watched::sight::in_flight;
    bool const ticked = who->ticks() != before;
    std::lock_guard const lock(mutex_);
    auto const at = files_.find(k);
    if (stopped_ || at == files_.end()) return;
    at->second.climbing = climbs && at->second.arms > 0;
    if (at->second.climbing) {
        if (ticked || !stepping_) step_ = 0;
        if (!ticked && ++idle_events_ >= idle_events_before_rest) resting_ = true;
        if (!stepping_) climb();
    }
    if (ticked) idle_events_ = 0;
}

void watch_core::follow(std::vector<sqlite::file_events::hit> const& hits) {
    for (auto const& h : hits) {
        std::shared_ptr<watched> who;
        {
            std::lock_guard const lock(mutex_);
            auto const at = files_.find(h.file);
            if (at != files_.end()) who = at->second.who.lock();
        }
        if (!who) continue;
        who->count_event();
        if (h.replaced) who->check_identity();
        look_at(h.file, who);
    }
}

void watch_core::wait_readable() {
    if (!descriptor_) return;
    reading_ = true;
    descriptor_->async_wait(asio::posix::stream_descriptor::wait_read,
                            [self = shared_from_this()](error_code) { self->on_readable(); });
}

void watch_core::on_readable() {
    std::vector<sqlite::file_events::hit> hits;
    {
        std::lock_guard const lock(mutex_);
        reading_ = false;
        if (stopped_) return;
        events_.read(hits);
    }
    follow(hits);
    std::lock_guard const lock(mutex_);
    if (!stopped_ && armed_ > 0 && !reading_ && !resting_) wait_readable();
}

void watch_core::climb() {
    microseconds const wait = step_length(step_);
    if (wait.count() < 0) {  // whatever it was, it did not commit
        for (auto& [k, e] : files_) e.climbing = false;
        resting_ = false;
        if (!reading_ && armed_ > 0) wait_readable();
        return;
    }
    stepping_ = true;
    ladder_->expires_after(wait);
    ladder_->async_wait([self = shared_from_this()](error_code) { self->on_step(); });
}

void watch_core::on_step() {
    std::vector<sqlite::file_events::hit> hits;
    std::vector<target> climbing;
    {
        std::lock_guard const lock(mutex_);
        stepping_ = false;
        if (stopped_) return;
        ++step_;
        if (resting_) events_.read(hits);
        for (auto& [k, e] : files_)
            if (e.climbing && e.arms > 0)
                if (auto who = e.who.lock()) climbing.emplace_back(k, std::move(who));
        stepping_ = true;  // so that look_at does not start a second ladder
    }
    follow(hits);
    for (auto const& [k, who] : climbing) look_at(k, who);
    std::lock_guard const lock(mutex_);
    stepping_ = false;
    if (stopped_) return;
    bool const again = std::any_of(files_.begin(), files_.end(), [](auto const& f) {
        return f.second.climbing && f.second.arms > 0;
    });
    if (again) return climb();
    resting_ = false;
    idle_events_ = 0;
    if (!reading_ && armed_ > 0) wait_readable();
}

void watch_core::start_poll() {
    polling_ = true;
    poll_->expires_after(poll_interval_);
    poll_->async_wait([self = shared_from_this()](error_code ec) {
        // Cancelled: nobody waits, or somebody wants it sooner and has started it anew.
        if (ec != asio::error::operation_aborted) self->on_poll();
    });
}

void watch_core::on_poll() {
    std::vector<sqlite::file_events::hit> hits;
    std::vector<target> targets;
    {
        std::lock_guard const lock(mutex_);
        if (stopped_) return;
        events_.read(hits);
        for (auto const& [k, e] : files_)
            if (e.arms > 0)
                if (auto who = e.who.lock()) targets.emplace_back(k, std::move(who));
    }
    follow(hits);
    bool found = false;
    for (auto const& [k, who] : targets) {
        std::uint64_t const before = who->ticks();
        who->check_identity();
        look_at(k, who);
        if (who->ticks() == before) continue;
        found = true;
        std::lock_guard const lock(mutex_);
        if (auto const at = files_.find(k); at != files_.end() && !at->second.poll_only)
            who->count_missed();
    }
    std::lock_guard const lock(mutex_);
    polling_ = false;
    if (stopped_ || armed_ == 0) return;
    milliseconds shortest = longest_poll;
    milliseconds shortest_only = longest_poll;
    for (auto const& [k, e] : files_) {
        if (e.arms == 0) continue;
        shortest = std::min(shortest, e.poll);
        if (e.poll_only) shortest_only = std::min(shortest_only, e.poll);
    }
    poll_interval_ = found ? shortest : std::min(longest_poll, poll_interval_ * 2);
    poll_interval_ = std::min(poll_interval_, shortest_only);
    start_poll();
}

watch::watch(asio::any_io_executor const& ex, std::string path, wake_source source, duration poll)
    : core_(watch_core::of(ex)), key_(core_->add(std::move(path), source, poll)) {}

void watch::prepare(asio::any_io_executor const& ex) { watch_core::of(ex); }

watch::~watch() { core_->remove(key_); }

void watch::attach(std::weak_ptr<watched> who) { core_->attach(key_, std::move(who)); }

watch::arming watch::arm() {
    core_->arm(key_);
    return arming(shared_from_this());
}

bool watch::armed() const { return core_->armed(key_); }
void watch::request_look() { core_->request_look(key_); }
void watch::disarm() noexcept { core_->disarm(key_); }

watch::arming::~arming() {
    if (of_) of_->disarm();
}

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "asio/database_state.hpp"

namespace gander::detail {

std::shared_ptr<database_state> database_state::make(asio::any_io_executor const& ex,
                                                     std::shared_ptr<engine::file> file) {
    auto state = std::make_shared<database_state>(ex, std::move(file));
    std::weak_ptr<database_state> const weak = state;
    state->watch_->attach(weak);
    // The watch, not the state: the file's thread may be the last to hold the state otherwise.
    state->file_->on_local_commit([watch = std::weak_ptr(state->watch_)] {
        if (auto const w = watch.lock(); w && w->armed()) w->request_look();
    });
    state->registry_->add(*state);
    return state;
}

database_state::database_state(asio::any_io_executor ex, std::shared_ptr<engine::file> file)
    : ex_(std::move(ex)),
      file_(std::move(file)),
      registry_(hook_service::of(ex_)),
      watch_(std::make_shared<watch>(ex_, file_->path(), file_->options().wake,
                                     file_->options().poll_interval)) {}

database_state::~database_state() { registry_->remove(*this); }

error_code database_state::refusal(bool writes) const {
    if (closed_) return errc::closed;
    if (error_code const why = file_->state()) return why;
    return writes && file_->read_only() ? make_error_code(errc::read_only) : error_code();
}

void database_state::on_shutdown() noexcept {
    closed_ = true;
    file_->shut_down();
    // A strand must not outlive its context.
    ex_ = asio::system_executor();
}

watched::sight database_state::look() {
    return file_->look() == engine::file::sight::in_flight ? sight::in_flight : sight::settled;
}

void database_state::check_identity() { file_->check_identity(); }

void database_state::count_missed() {
    ++file_->stats.missed_events;
    if (auto const& o = file_->options(); o.on_event != nullptr) {
        engine_event const event{engine_event::kind::missed, 1, 0};
        o.on_event(o.on_event_context, event);
    }
}

database_stats database_state::stats() {
    auto const& of = file_->stats;
    auto& writer = file_->writer();
    database_stats s;
    s.commits = writer.stats.commits;
    s.operations = writer.stats.operations;
    s.busy_retries = writer.stats.busy_retries;
    s.ticks = of.ticks;
    s.file_events = of.file_events;
    s.missed_events = of.missed_events;
    s.shared_reads = of.shared_reads;
    s.catch_up_reads = of.catch_up_reads;
    s.checkpoints = of.checkpoints;
    s.queued_writes = writer.queued();
    s.wal_frames = writer.stats.wal_frames;
    return s;
}

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/writer.hpp"

#include <utility>

namespace gander::engine {

writer_store::writer_store(sqlite::connection::settings const& how, synchronous durability)
    : store(how) {
    store.db.execute(durability == synchronous::full ? "PRAGMA synchronous=FULL"
                                                     : "PRAGMA synchronous=NORMAL");
    store.db.execute("PRAGMA foreign_keys=ON");
    store.guard = &guard;
    store.db.query_text("SELECT count(*) FROM sqlite_master");  // opens the WAL
    if (store.db.query_text("PRAGMA journal_mode") == "wal") index.attach(store.db);
}

writer::writer(host& file, std::mutex& mutex, sqlite::side_file& side,
               sqlite::connection::settings const& settings, open_options const& options)
    : host_(file),
      mutex_(mutex),
      side_(side),
      settings_(settings),
      options_(options),
      queue_(options.max_group_operations, options.max_group_bytes),
      claims_(mutex),
      jitter_(std::random_device{}()) {
    settings_.mode = open_mode::existing;
    settings_.mmap = 0;
}

void writer::submit(write_op_ptr op) {
    error_code refused;
    if (in_transaction_here()) refused = errc::would_deadlock;
    if (!refused) {
        std::lock_guard const lock(mutex_);
        refused = failed_;
        if (!refused) {
            if (op->claim)
                add_claim(std::move(op));
            else
                queue_.push(std::move(op));
            schedule();
        }
    }
    if (refused) op.release()->complete({refused, nullptr});
}

void writer::add_claim(write_op_ptr op) {
    auto& claim = static_cast<claim_op&>(*op);
    if (claim.wait && !claim.no_wait)
        claim.timer = host_.after(*claim.wait, [this, queue = claim.queue, id = claim.id] {
            if (auto late = remove_claim(queue, id, errc::timed_out))
                late.release()->complete(failed_with(errc::timed_out));
        });
    claims_.add(std::move(op));
    look_ = true;
}

void writer::look_for_jobs() {
    std::lock_guard const lock(mutex_);
    if (claims_.empty()) return;
    look_ = true;
    schedule();
}

write_op_ptr writer::remove(std::uint64_t id) {
    std::lock_guard const lock(mutex_);
    return queue_.remove(id);
}

write_op_ptr writer::remove_claim(std::string const& queue, std::uint64_t id, error_code why) {
    std::lock_guard const lock(mutex_);
    return claims_.remove(queue, id, why);
}

write_op_list writer::take_all() {
    std::lock_guard const lock(mutex_);
    write_op_list all = queue_.take_all();
    all.append(claims_.take_all());
    all.append(std::move(user_));
    if (committing_) all.append(std::move(committing_->group));
    committing_.reset();
    threads::instance().sqlite.cancel(look_timer_);
    return all;
}

void writer::fail_all(error_code why) {
    write_op_list all;
    {
        std::lock_guard const lock(mutex_);
        failed_ = why;
        all = queue_.take_all();
        all.append(claims_.take_all());
    }
    complete_all(std::move(all), {why, nullptr});
}

std::size_t writer::queued() {
    std::lock_guard const lock(mutex_);
    return queue_.size();
}

void writer::schedule() {
    if (state_ != state::idle) return;
    state_ = state::scheduled;
    threads::instance().sqlite.post(host_.guarded([this] { step(); }));
}

void writer::report(engine_event::kind what, std::int64_t value, std::int64_t micros) const {
    if (options_.on_event == nullptr) return;
    engine_event const event{what, value, micros};
    options_.on_event(options_.on_event_context, event);
}

}  // namespace gander::engine

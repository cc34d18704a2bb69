// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/claims.hpp"

#include <algorithm>

namespace gander::engine {

void claims::add(write_op_ptr op) {
    std::string const& queue = static_cast<claim_op&>(*op).queue;
    waiting_[queue].push_back(std::move(op));
}

write_op_ptr claims::remove(std::string const& queue, std::uint64_t id, error_code why) {
    if (auto const taken = taken_.find(id); taken != taken_.end()) {
        taken->second = why;
        return nullptr;
    }
    auto const at = waiting_.find(queue);
    if (at == waiting_.end()) return nullptr;
    write_op_ptr op = at->second.remove(id);
    if (at->second.empty()) waiting_.erase(at);
    return op;
}

std::vector<std::string> claims::queues() const {
    std::lock_guard const lock(mutex_);
    std::vector<std::string> names;
    names.reserve(waiting_.size());
    for (auto const& [name, ops] : waiting_) names.push_back(name);
    return names;
}

void claims::look(sqlite::store& store, found& result) {
    for (std::string const& queue : queues()) {
        bool const claimable = store.claims.claimable(queue);
        std::lock_guard const lock(mutex_);
        auto const at = waiting_.find(queue);
        if (at == waiting_.end()) continue;
        write_op_list waiting = std::move(at->second);
        write_op_list staying;
        while (write_op_ptr op = waiting.pop_front()) {
            auto& c = static_cast<claim_op&>(*op);
            if (claimable && c.only_ready) {
                result.ready.push_back(std::move(op));
            } else if (claimable) {
                taken_.emplace(op->id, error_code());
                result.group.push_back(std::move(op));
            } else if (c.no_wait) {
                result.none.push_back(std::move(op));
            } else {
                staying.push_back(std::move(op));
            }
        }
        if (staying.empty())
            waiting_.erase(at);
        else
            at->second = std::move(staying);
    }
}

write_op_list claims::put_back(write_op_list&& ops, bool untried) {
    write_op_list ended;
    std::map<std::string, write_op_list, std::less<>> back;
    while (write_op_ptr op = ops.pop_front()) {
        auto const taken = taken_.find(op->id);
        error_code why = taken != taken_.end() ? taken->second : error_code();
        if (taken != taken_.end()) taken_.erase(taken);
        auto& c = static_cast<claim_op&>(*op);
        if (!why && c.no_wait && !untried) why = errc::timed_out;
        op->outcome = {};
        if (why) {
            op->outcome.code = why;
            ended.push_back(std::move(op));
        } else {
            back[c.queue].push_back(std::move(op));
        }
    }
    // They were first before, and are first again.
    for (auto& [queue, list] : back) waiting_[queue].prepend(std::move(list));
    return ended;
}

std::optional<std::int64_t> claims::next_look_in(sqlite::store& store, std::int64_t at_most) {
    auto const names = queues();
    if (names.empty()) return std::nullopt;
    std::int64_t wait = at_most;
    std::int64_t const now_ms = store.db.now_ms();
    for (std::string const& queue : names) {
        auto const next = store.claims.next_claim_at(queue);
        // In seconds first: a run_at near 2^63 times 1000 would overflow.
        if (next && *next <= now_ms / 1000 + at_most / 1000)
            wait = std::min(wait, std::max<std::int64_t>(*next * 1000 - now_ms, 1));
    }
    return wait;
}

write_op_list claims::take_all() {
    write_op_list all;
    for (auto& [name, ops] : waiting_) all.append(std::move(ops));
    waiting_.clear();
    return all;
}

}  // namespace gander::engine

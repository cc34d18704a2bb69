// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/write_queue.hpp"

namespace gander::engine {

write_op_list write_queue::take_group() {
    write_op_list group;
    std::size_t bytes = 0;
    while (!ops_.empty() && group.size() < max_operations_) {
        write_op& next = ops_.front();
        bool const alone = next.runs_alone();
        if (!group.empty() && (alone || bytes + next.bytes > max_bytes_)) break;
        bytes += next.bytes;
        group.push_back(ops_.pop_front());
        if (alone) break;
    }
    return group;
}

write_op_list write_queue::take_overdue(std::int64_t now_ms) {
    write_op_list overdue;
    for (auto at = ops_.begin(); at != ops_.end();) {
        write_op& op = *at++;
        if (op.busy_deadline != 0 && op.busy_deadline <= now_ms) overdue.push_back(ops_.remove(op));
    }
    return overdue;
}

void write_queue::start_deadlines(std::int64_t at_ms, bool anew) noexcept {
    for (write_op& op : ops_)
        if (anew || op.busy_deadline == 0) op.busy_deadline = at_ms;
}

}  // namespace gander::engine

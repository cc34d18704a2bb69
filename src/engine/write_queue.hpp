// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The operations that wait for a file's next transaction, in order.
#pragma once

#include "engine/write_op.hpp"

#include <cstddef>
#include <cstdint>

namespace gander::engine {

/// Not thread-safe: guarded by the file's mutex.
class write_queue {
public:
    write_queue(std::size_t max_operations, std::size_t max_bytes) noexcept
        : max_operations_(max_operations), max_bytes_(max_bytes) {}

    bool empty() const noexcept { return ops_.empty(); }
    std::size_t size() const noexcept { return ops_.size(); }

    void push(write_op_ptr op) noexcept { ops_.push_back(std::move(op)); }

    /// Takes what the next transaction holds: one operation that runs alone, or as many grouped
    /// ones as stand in front, within the bounds; one always fits.
    write_op_list take_group();

    /// Returns an untried or unfinished group to the front.
    void put_back(write_op_list&& group) noexcept { ops_.prepend(std::move(group)); }

    /// Takes a queued operation out, to be cancelled; null when it is not here.
    write_op_ptr remove(std::uint64_t id) noexcept { return ops_.remove(id); }

    /// Takes out those whose busy deadline has passed.
    write_op_list take_overdue(std::int64_t now_ms);

    /// Starts the busy deadlines of those that have none yet; with `anew`, of all.
    void start_deadlines(std::int64_t at_ms, bool anew) noexcept;

    write_op_list take_all() noexcept { return std::move(ops_); }

private:
    std::size_t const max_operations_;
    std::size_t const max_bytes_;
    write_op_list ops_;
};

}  // namespace gander::engine

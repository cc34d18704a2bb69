// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The claims of one file that wait for a job.
#pragma once

#include "engine/threads.hpp"
#include "engine/write_op.hpp"
#include "gander/options.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gander::engine {

/// A claim, or a wait until one would succeed.
class claim_op : public write_op {
public:
    explicit claim_op(std::string of) : queue(std::move(of)) { claim = true; }

    std::string const queue;
    bool no_wait = false;          ///< Ends with timed_out when there is nothing now.
    bool only_ready = false;       ///< Claims nothing: ends when a claim would succeed.
    std::optional<duration> wait;  ///< The longest wait.
    thread_pool::timer timer = 0;  ///< Ends it.

protected:
    ~claim_op() = default;
};

/// Waiting claims by queue, in order. They sleep here, not in the write queue, and go into a
/// transaction only after a read has found that there is something to claim.
class claims {
public:
    explicit claims(std::mutex& mutex) noexcept : mutex_(mutex) {}

    bool empty() const noexcept { return waiting_.empty(); }  // mutex held

    void add(write_op_ptr op);  // mutex held

    /// Takes a waiting claim out, to be ended with `why`. Null when it is part of a transaction
    /// now: if that hands it nothing, it ends with `why` instead of waiting on.
    write_op_ptr remove(std::string const& queue, std::uint64_t id, error_code why);  // mutex held

    /// What a look found.
    struct found {
        write_op_list group;  ///< To be run in a transaction.
        write_op_list ready;  ///< Readiness waits to complete.
        write_op_list none;   ///< Those that did not want to wait.
    };

    /// Reads, queue by queue, whether there is something to claim. Called without the mutex. What
    /// it found before it throws stands in `result`.
    void look(sqlite::store& store, found& result);

    /// Returns claims that a transaction did not serve. Those cancelled meanwhile come back, with
    /// the reason as their outcome, to be ended. `untried`: the transaction did not even begin, so
    /// those that did not want to wait have no answer yet and stay too.
    write_op_list put_back(write_op_list&& ops, bool untried);  // mutex held

    /// Forgets that the operation is part of a transaction.
    void settled(write_op const& op) { taken_.erase(op.id); }  // mutex held

    /// Milliseconds until a claim could next succeed without anybody's commit; at most `at_most`.
    /// Called without the mutex; none when nobody waits.
    std::optional<std::int64_t> next_look_in(sqlite::store& store, std::int64_t at_most);

    write_op_list take_all();  // mutex held

private:
    std::vector<std::string> queues() const;

    std::mutex& mutex_;
    std::map<std::string, write_op_list, std::less<>> waiting_;
    // Claims in a running transaction, and why they should end if it has nothing for them.
    std::unordered_map<std::uint64_t, error_code> taken_;
};

}  // namespace gander::engine

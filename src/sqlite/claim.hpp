// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Claiming jobs, at a cost that does not grow with what is ready, delayed, in flight or dead.
///
/// Order is priority high to low, then due time, then id. The index `_gander_live_ready` holds only
/// pending rows; the claim jumps from one priority that exists to the next lower one and reads due
/// rows off the front of each. Rows in flight are not in that index, and delayed ones stand behind
/// the due ones of their priority, so neither is ever walked over.
#pragma once

#include "gander/detail/rows.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/jobs.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace gander::sqlite {

class claims {
public:
    claims(connection& db, jobs& rows) noexcept : db_(db), jobs_(rows) {}

    /// Claims up to `max` jobs of `queue` for `worker`, with a lease of `lease` seconds from now.
    /// Several statements: run it inside a transaction, and undo all of it if it throws.
    ///
    /// On the way it makes claims that have run out pending again, and moves to the dead letters
    /// what has used up its attempts, has expired, or cannot be read (a payload that is no text, a
    /// number that is none), so that one bad row never holds up the others.
    std::vector<job_row> claim(std::string_view queue, std::string_view worker, std::size_t max,
                               std::int64_t lease);

    /// True when a claim would find something to do. Reads only, two or three seeks.
    bool claimable(std::string_view queue);

    /// When, in seconds of the file's clock, a claim could next succeed if nobody enqueues: the
    /// earliest due time to come, or the second after a lease's end.
    std::optional<std::int64_t> next_claim_at(std::string_view queue);

private:
    void reclaim(std::string_view queue, std::int64_t now);
    std::optional<std::int64_t> next_priority(std::string_view queue, std::int64_t at_most);
    void take(std::string_view queue, std::int64_t priority, std::string_view worker,
              std::size_t max, std::int64_t now, std::int64_t until, std::vector<job_row>& taken);
    std::vector<job_row> claim_once(std::string_view queue, std::string_view worker,
                                    std::size_t max, std::int64_t lease);

    /// Due rows that no priority leads to, since theirs is not an integer.
    void bury_unreachable(std::string_view queue, std::int64_t now);

    connection& db_;
    jobs& jobs_;
    bool indexed_ = true;
    std::uint64_t claims_without_ = 0;
};

}  // namespace gander::sqlite

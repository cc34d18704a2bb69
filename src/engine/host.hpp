// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An open file, as its writer and its readers see it.
#pragma once

#include "engine/threads.hpp"
#include "engine/write_op.hpp"
#include "gander/options.hpp"

#include <cstdint>
#include <functional>

namespace gander::engine {

/// What the parts of an open file need of it.
class host {
public:
    virtual ~host() = default;
    /// A task that runs `work` if the file is still in use then, and keeps it in use meanwhile.
    virtual thread_pool::task guarded(std::function<void()> work) = 0;
    /// Runs `work` after a time, in the same way.
    virtual thread_pool::timer after(duration delay, std::function<void()> work) = 0;
    /// A commit of ours returned, and what it touched.
    virtual void committed(effects const& done) = 0;
    /// Frames in the WAL that are not checkpointed yet, after a commit.
    virtual void wal_backlog(std::uint32_t frames) = 0;
    /// Whether the file still has its name. If not, everything on it fails from now on. To be
    /// asked after opening a connection by that name: it may be another file's by then.
    virtual bool check_identity() = 0;
};

}  // namespace gander::engine

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Tells the child of a fork() that what it inherited is not its own.
#pragma once

#include <cstdint>
#include <string>

namespace gander::engine {

/// Counts the forks between the first call in this program and here: it differs between an object's
/// birth and now exactly if there was a fork in between. A load; cheaper than getpid().
std::uint64_t fork_generation() noexcept;

/// While one is alive, a child of fork() knows that its parent has this file open.
///
/// SQLite keeps what locks a process holds by file, in memory, and a child inherits that record
/// without the locks: a connection that the child opens to the same file would believe that it
/// holds them.
class open_file_mark {
public:
    explicit open_file_mark(std::string const& path);
    open_file_mark(open_file_mark const&) = delete;
    open_file_mark& operator=(open_file_mark const&) = delete;
    ~open_file_mark();

private:
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

/// True in the child of a fork() for a file that was open in the parent.
bool open_in_parent(std::string const& path);

}  // namespace gander::engine

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// File events from the operating system for many databases, through one inotify instance: a user
/// may have only 128 of them.
///
/// They are hints. An event may come before the commit that caused it is visible, several may come
/// for one commit, and losing them costs latency only.
///
/// Watches go by path. Nothing here opens or reads a database file: closing any descriptor on it
/// would drop SQLite's locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gander::sqlite {

class file_events {
public:
    using key = std::uint64_t;

    struct hit {
        key file;
        bool replaced;  ///< The file itself was created, deleted, moved or its attributes changed.
    };

    file_events() noexcept;
    file_events(file_events const&) = delete;
    file_events& operator=(file_events const&) = delete;
    ~file_events();

    /// To wait on for readability; -1 when there are no file events here.
    int descriptor() const noexcept { return fd_; }

    /// Gives the descriptor to the caller, who now closes it.
    int release() noexcept { return std::exchange(fd_, -1); }
    void adopt(int fd) noexcept { fd_ = fd; }

    /// Watches a database and what stands beside it. False when the system refuses.
    bool add(key file, std::string const& database_path);
    void remove(key file);

    /// Reads what has arrived and appends a hit a file. Returns the number of events read.
    std::size_t read(std::vector<hit>& hits);

private:
    struct watched {
        std::string directory;
        std::string name;
        std::vector<int> watches;
    };

    void watch(key file, watched& at, std::string const& path, std::uint32_t mask);
    void watch_files(key file, watched& at, std::optional<std::string_view> only = {});
    void dispatch_name(int directory_watch, std::string_view name, std::uint32_t mask,
                       std::vector<hit>& hits);
    void forget(int watch);

    int fd_ = -1;
    std::unordered_map<key, watched> files_;
    // One watch serves all databases that look at the same inode: a directory, or a file opened
    // twice.
    std::unordered_map<int, std::vector<key>> by_watch_;
};

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/file_events.hpp"

#include "sqlite/side_file.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

namespace gander::sqlite {

namespace {

constexpr std::uint32_t directory_mask =
    IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR;

/// What stands beside a database under its name, and what is asked about it.
struct companion {
    std::string_view suffix;
    std::uint32_t mask;
};
constexpr companion companions[] = {
    {"", IN_MODIFY | IN_ATTRIB},
    {"-wal", IN_MODIFY},
    {"-journal", IN_MODIFY},
    {side_file::suffix, IN_MODIFY | IN_ACCESS},  // a reader rings by reading
};

void add_hit(std::vector<file_events::hit>& hits, file_events::key file, bool replaced) {
    for (auto& h : hits)
        if (h.file == file) {
            h.replaced = h.replaced || replaced;
            return;
        }
    hits.push_back({file, replaced});
}

}  // namespace

file_events::file_events() noexcept : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

file_events::~file_events() {
    if (fd_ >= 0) ::close(fd_);
}

bool file_events::add(key file, std::string const& database_path) {
    if (fd_ < 0) return false;
    auto const slash = database_path.rfind('/');
    watched& at = files_[file];
    at.directory = slash == std::string::npos ? "." : database_path.substr(0, slash + 1);
    at.name = database_path.substr(slash == std::string::npos ? 0 : slash + 1);
    watch(file, at, at.directory, directory_mask);
    if (at.watches.empty()) {
        files_.erase(file);
        return false;
    }
    watch_files(file, at);
    return true;
}

void file_events::watch(key file, watched& at, std::string const& path, std::uint32_t mask) {
    // IN_MASK_ADD: another database may have a watch on this inode with a mask of its own.
    int const id = ::inotify_add_watch(fd_, path.c_str(), mask | IN_MASK_ADD);
    if (id < 0) return;  // not there yet; the directory tells when it comes
    auto& keys = by_watch_[id];
    if (std::find(keys.begin(), keys.end(), file) != keys.end()) return;
    keys.push_back(file);
    at.watches.push_back(id);
}

void file_events::watch_files(key file, watched& at, std::optional<std::string_view> only) {
    for (companion const& c : companions) {
        if (only && *only != c.suffix) continue;
        std::string path = at.directory.ends_with('/') ? at.directory : at.directory + '/';
        watch(file, at, path.append(at.name).append(c.suffix), c.mask);
    }
}

void file_events::remove(key file) {
    auto const at = files_.find(file);
    if (at == files_.end()) return;
    for (int id : at->second.watches) {
        auto const shared = by_watch_.find(id);
        if (shared == by_watch_.end()) continue;
        std::erase(shared->second, file);
        if (!shared->second.empty()) continue;
        by_watch_.erase(shared);
        if (fd_ >= 0) ::inotify_rm_watch(fd_, id);
    }
    files_.erase(at);
}

void file_events::forget(int id) {
    auto const shared = by_watch_.find(id);
    if (shared == by_watch_.end()) return;
    for (key file : shared->second)
        if (auto const at = files_.find(file); at != files_.end())
            std::erase(at->second.watches, id);
    by_watch_.erase(shared);
}

std::size_t file_events::read(std::vector<hit>& hits) {
    std::size_t count = 0;
    if (fd_ < 0) return count;
    alignas(inotify_event) std::array<char, 16384> buffer;
    for (;;) {
        ssize_t const got = ::read(fd_, buffer.data(), buffer.size());
        if (got <= 0) return count;
        // One more event would still have fitted: there is none, and a read that says so is saved.
        bool const last =
            static_cast<std::size_t>(got) + sizeof(inotify_event) + NAME_MAX < buffer.size();
        for (char const* at = buffer.data(); at < buffer.data() + got;) {
            auto const& e = *reinterpret_cast<inotify_event const*>(at);
            at += sizeof(inotify_event) + e.len;
            ++count;
            if ((e.mask & IN_Q_OVERFLOW) != 0) {  // anything may have happened, to anyone
                for (auto& [file, w] : files_) {
                    watch_files(file, w);
                    add_hit(hits, file, true);
                }
            } else if ((e.mask & IN_IGNORED) != 0) {
                forget(e.wd);
            } else if (e.len > 0) {
                std::string_view const name(e.name);  // padded with NUL to e.len
                dispatch_name(e.wd, name, e.mask, hits);
            } else if (auto const shared = by_watch_.find(e.wd); shared != by_watch_.end()) {
                for (key file : shared->second) add_hit(hits, file, (e.mask & IN_ATTRIB) != 0);
            }
        }
        if (last) return count;
    }
}

void file_events::dispatch_name(int directory_watch, std::string_view name, std::uint32_t mask,
                                std::vector<hit>& hits) {
    auto const shared = by_watch_.find(directory_watch);
    if (shared == by_watch_.end()) return;
    std::vector<key> const keys = shared->second;  // watch_files may add to by_watch_
    for (key file : keys) {
        auto const at = files_.find(file);
        if (at == files_.end() || !name.starts_with(at->second.name)) continue;
        std::string_view const suffix = name.substr(at->second.name.size());
        bool const ours = suffix.empty() || suffix == "-wal" || suffix == "-shm" ||
                          suffix == "-journal" || suffix == "-gander";
        if (!ours) continue;
        if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) watch_files(file, at->second, suffix);
        bool const gone = (mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) != 0;
        add_hit(hits, file, suffix.empty() || (gone && (suffix == "-wal" || suffix == "-shm")));
    }
}

}  // namespace gander::sqlite

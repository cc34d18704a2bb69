// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fork.hpp"

#include "engine/threads.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

namespace gander::engine {

namespace {

using file_id = std::pair<std::uint64_t, std::uint64_t>;

std::atomic<std::uint64_t> generation{0};

// Never destroyed: a fork() may come at any moment of the program's end.
struct open_files {
    std::mutex mutex;
    std::multiset<file_id> ours;
    std::set<file_id> of_parent;
};

open_files& files() {
    static auto& instance = *new open_files;
    return instance;
}

file_id identify(std::string const& path) noexcept {
    struct stat s {};
    if (::stat(path.c_str(), &s) != 0) return {0, 0};
    return {s.st_dev, s.st_ino};
}

// The lock is held across the fork, so that the child finds the sets whole and the mutex its own.
void before_fork() { files().mutex.lock(); }
void after_fork_in_parent() { files().mutex.unlock(); }

void after_fork_in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
    open_files& f = files();
    f.of_parent.insert(f.ours.begin(), f.ours.end());
    f.ours.clear();
    f.mutex.unlock();
    threads::forget_after_fork();
}

}  // namespace

std::uint64_t fork_generation() noexcept {
    static int const registered =
        ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)registered;
    return generation.load(std::memory_order_relaxed);
}

open_file_mark::open_file_mark(std::string const& path) {
    std::tie(device_, inode_) = identify(path);
    std::lock_guard const lock(files().mutex);
    files().ours.emplace(device_, inode_);
}

open_file_mark::~open_file_mark() {
    std::lock_guard const lock(files().mutex);
    auto& ours = files().ours;
    if (auto const at = ours.find({device_, inode_}); at != ours.end()) ours.erase(at);
}

bool open_in_parent(std::string const& path) {
    file_id const id = identify(path);
    std::lock_guard const lock(files().mutex);
    return id.second != 0 && files().of_parent.contains(id);
}

}  // namespace gander::engine

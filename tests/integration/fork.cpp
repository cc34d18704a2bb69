// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// fork() with everything open. The forking process is the peer program: see
/// tests/support/peer_fork.cpp.
#include "support/child.hpp"
#include "support/io_test.hpp"
#include "support/raw_db.hpp"

#include <map>

namespace gander::test {
namespace {

class forks : public io_test, public ::testing::WithParamInterface<char const*> {
protected:
    /// Runs the peer to the point where its child has ended; what each operation said.
    std::map<std::string, std::string> fork_and_use() {
        std::map<std::string, std::string> said;
        while (auto const line = parent_.line()) {
            if (*line == "ready") break;
            std::size_t const blank = line->rfind(' ');
            EXPECT_TRUE(said.emplace(line->substr(0, blank), line->substr(blank + 1)).second)
                << *line << " (a second time)";
        }
        return said;
    }

    // TSan ends a child of a process with threads unless told not to; what the child inherited it
    // leaks on purpose.
    child parent_ = peer({"fork", path, GetParam()},
                         {"TSAN_OPTIONS=die_after_fork=0", "ASAN_OPTIONS=detect_leaks=0"});
};

TEST_P(forks, every_call_in_the_child_is_an_error_and_the_parent_goes_on) {
    auto said = fork_and_use();
    std::string const used = "gander:" + std::to_string(static_cast<int>(errc::used_after_fork));
    for (char const* what :
         {"notify",    "publish",       "publish_many", "transact",   "queues",
          "jobs",      "async_listen",  "listen",       "receive",    "listener_wait",
          "read",      "consumer_wait", "commit",       "seek",       "offset",
          "enqueue",   "enqueue_many",  "claim",        "claim_many", "queue_wait",
          "cancel",    "sizes",         "ack",          "retry",      "fail",
          "heartbeat", "notifier_wait"})
        EXPECT_EQ(said[what], used) << what;
    EXPECT_EQ(said["child"], "7");
    for (char const* what :
         {"enqueued", "received", "notified", "parent notify", "parent ack", "parent receive"})
        EXPECT_EQ(said[what], "ok") << what;
}

TEST_P(forks, the_childs_end_leaves_the_parents_file_intact) {
    fork_and_use();
    // Had the child closed what it inherited, the parent's locks would be gone, and this one would
    // take itself for the last and remove the -wal.
    { EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_notifications"), 2); }
    EXPECT_TRUE(exists(file.beside("-wal")));
    {
        raw_db raw(path);
        EXPECT_EQ(raw.number("SELECT count(*) FROM _honker_live"), 0);
        EXPECT_EQ(raw.text("PRAGMA integrity_check"), "ok");
    }
    EXPECT_TRUE(exists(file.beside("-wal")));
    parent_.close_input();
    EXPECT_EQ(parent_.wait(), 0);
    EXPECT_EQ(raw_db(path).number("SELECT count(*) FROM _honker_notifications"), 2);
}

INSTANTIATE_TEST_SUITE_P(any_end, forks, ::testing::Values("exit", "_exit", "return"),
                         [](auto const& of) { return "child_ends_by_" + std::string(of.param); });

class spawned : public io_test {};

TEST_F(spawned, a_program_started_with_exec_inherits_no_descriptor_of_ours) {
    database db(io, path);
    notifier n(io, path);
    run([&]() -> awaitable<void> {
        co_await db.async_notify("c", payload::raw("1"), asio::deferred);
    });
    child script = python(
        "import os, sys\n"
        "for f in os.listdir('/proc/self/fd'):\n"
        "    try: to = os.readlink('/proc/self/fd/' + f)\n"
        "    except OSError: continue\n"
        "    if sys.argv[1] in to or 'inotify' in to: print(to)\n",
        {file.dir().path()});
    EXPECT_EQ(script.rest(), std::vector<std::string>());
    EXPECT_EQ(script.wait(), 0);
}

}  // namespace
}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// fork() with everything open, in a process whose other threads are gander's own: the child tries
/// each kind of call on what it inherited and says how it ended, and then ends itself by
/// `exit`, `_exit`, or `return`, which destroys everything first. The parent says "parent CODE" for
/// a write and a read after that, and stays until its input ends.
#include "support/peer.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>

namespace gander::test {

namespace asio = boost::asio;

namespace {

struct everything {
    explicit everything(std::string const& file)
        : db(io, file), l(db.listen("c")), c(db, "t", "name"), q(db, "q"), n(io, file) {}

    asio::io_context io;
    database db;
    listener l;
    consumer c;
    queue q;
    notifier n;
};

/// A handler that says how `what` ended.
auto saying(std::string what) {
    return [what = std::move(what)](error_code const& ec, auto const&...) {
        tell(what + ' ' + word_of(ec));
    };
}

auto saying_exception(std::string what) {
    return [what = std::move(what)](std::exception_ptr const& e, auto const&...) {
        try {
            if (e) std::rethrow_exception(e);
            tell(what + " ok");
        } catch (system_error const& s) {
            tell(what + ' ' + word_of(s.code()));
        } catch (std::exception const& x) {
            tell(what + ' ' + x.what());
        }
    };
}

void use(everything& e, job& held) {
    e.db.async_notify("c", payload::raw("1"), saying("notify"));
    e.db.async_publish("t", payload::raw("1"), saying("publish"));
    std::vector<payload> many(2);
    e.db.async_publish_many("t", many, saying("publish_many"));
    e.db.async_transact([](transaction& tx) { tx.execute("SELECT 1"); },
                        saying_exception("transact"));
    e.db.async_queues(saying("queues"));
    e.db.async_jobs("q", job_state::any, 10, saying("jobs"));
    e.db.async_listen("c", saying_exception("async_listen"));
    try {
        e.db.listen("c");
        tell("listen ok");
    } catch (system_error const& s) {
        tell("listen " + word_of(s.code()));
    }
    e.l.async_receive(saying("receive"));
    e.l.async_wait(saying("listener_wait"));
    e.c.async_read(saying("read"));
    e.c.async_wait(saying("consumer_wait"));
    e.c.async_commit(batch(), saying("commit"));
    e.c.async_seek(0, saying("seek"));
    e.c.async_offset(saying("offset"));
    e.q.async_enqueue(payload::raw("1"), saying("enqueue"));
    e.q.async_enqueue_many(many, saying("enqueue_many"));
    e.q.async_claim("w", saying("claim"));
    e.q.async_claim_many("w", claim_options{}, saying("claim_many"));
    e.q.async_wait(saying("queue_wait"));
    e.q.async_cancel(1, saying("cancel"));
    e.q.async_sizes(saying("sizes"));
    held.async_ack(saying("ack"));
    held.async_retry("x", saying("retry"));
    held.async_fail("x", saying("fail"));
    held.async_heartbeat(std::chrono::seconds(1), saying("heartbeat"));
    e.n.async_wait(saying("notifier_wait"));
    // Waits that found no error would keep it running.
    e.io.restart();
    e.io.run_for(std::chrono::seconds(5));
}

}  // namespace

int run_fork(std::string const& file, std::string const& how) {
    std::optional<everything> e(std::in_place, file);
    job held;
    e->q.async_enqueue(payload::raw("1"), saying("enqueued"));
    e->q.async_claim("w", [&](error_code const&, job j) { held = std::move(j); });
    // A wait that is outstanding at the time of the fork.
    e->l.async_receive(saying("received"));
    e->db.async_notify("c", payload::raw("1"), saying("notified"));
    e->io.run();

    pid_t const pid = ::fork();
    if (pid == 0) {
        e->io.notify_fork(asio::execution_context::fork_child);
        use(*e, held);
        if (how == "_exit") ::_exit(7);
        if (how == "return") {
            held = job();
            e.reset();
            return 7;
        }
        std::exit(7);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    tell("child " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status));
    e->io.restart();
    e->db.async_notify("c", payload::raw("2"), saying("parent notify"));
    held.async_ack(saying("parent ack"));
    e->l.async_receive(wait_options{.wait = std::chrono::seconds(10)}, saying("parent receive"));
    e->io.run();
    tell("ready");
    for (std::string line; hear(line);) continue;
    return 0;
}

}  // namespace gander::test

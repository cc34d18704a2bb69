// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An asynchronous write: a function over the store, run in the writer's next transaction.
#pragma once

#include "asio/database_state.hpp"
#include "asio/wait_op.hpp"
#include "engine/write_op.hpp"

#include <boost/asio/error.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gander::detail {

template <class Signature, class F>
class write_call;

/// `F` is `R(sqlite::store&, engine::effects&)`; it throws to fail, and may be called again. It may
/// also have a `committed()`, called once between the commit and the handler.
template <class... R, class F>
class write_call<void(error_code, R...), F> final : public engine::write_op {
public:
    using signature = void(error_code, R...);
    using handler_type = typename completion<signature>::handler_type;
    using memory = op_memory<write_call>;

    write_call(handler_type handler, std::shared_ptr<database_state> db, bool several, F f)
        : db_(std::move(db)),
          several_(several),
          f_(std::move(f)),
          done_(std::move(handler), db_->executor()) {}

    bool several_statements() const noexcept override { return several_; }

    void run(sqlite::store& store, engine::effects& done) override {
        if constexpr (sizeof...(R) == 0)
            f_(store, done);
        else
            result_ = std::tuple<R...>(f_(store, done));
    }

    void complete(engine::failure const& why) override {
        if constexpr (requires { f_.committed(); })
            if (!why) f_.committed();
        auto result = why ? std::tuple<R...>() : std::move(result_);
        // The database outlives the operation's memory, but not by the handler's doing.
        auto const keep = std::move(db_);
        auto done = std::move(done_);
        error_code const ec = why.code;
        memory::free(this, done.handler());
        std::apply([&](auto&&... r) { std::move(done).post(ec, std::move(r)...); },
                   std::move(result));
    }

    void abandon() noexcept override {
        auto const keep = std::move(db_);
        auto const done = std::move(done_);
        memory::free(this, done.handler());
    }

private:
    std::shared_ptr<database_state> db_;
    bool const several_;
    F f_;
    std::tuple<R...> result_;
    completion<signature> done_;
};

/// Ends a write that has not begun.
inline void cancel_write(database_state& db, std::uint64_t id) {
    if (auto op = db.file().writer().remove(id))
        op.release()->complete({asio::error::operation_aborted, nullptr});
}

/// The JSON texts of many payloads, and their length in bytes.
inline std::pair<std::vector<std::string>, std::size_t> texts_of(std::vector<payload>&& bodies) {
    std::pair<std::vector<std::string>, std::size_t> result{{}, 0};
    result.first.reserve(bodies.size());
    for (payload& body : bodies) {
        result.second += body.str().size();
        result.first.push_back(std::move(body).str());
    }
    return result;
}

/// Queues `f`; any cancellation type removes it while it waits. `bytes` counts towards the bounds
/// of a group; `several` says that `f` makes more than one change.
template <class... R, class F>
void submit_write(std::shared_ptr<database_state> const& db,
                  asio::any_completion_handler<void(error_code, R...)> handler, std::size_t bytes,
                  bool several, F f) {
    if (!db)
        return complete_at_once(std::move(handler), executor_of(db), make_error_code(errc::closed),
                                R()...);
    if (error_code const why = db->refusal(true))
        return complete_at_once(std::move(handler), db->executor(), why, R()...);
    using call = write_call<void(error_code, R...), F>;
    std::uint64_t const id = db->file().next_id();
    connect_cancellation(handler, std::weak_ptr(db),
                         [id](database_state& self) { cancel_write(self, id); });
    engine::write_op_ptr op(call::memory::make(std::move(handler), db, several, std::move(f)));
    op->id = id;
    op->bytes = bytes;
    db->file().writer().submit(std::move(op));
}

}  // namespace gander::detail

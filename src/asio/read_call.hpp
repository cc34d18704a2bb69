// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An asynchronous read: a function over a store, run on the library's threads.
#pragma once

#include "asio/database_state.hpp"
#include "engine/bulk_reader.hpp"

#include <memory>
#include <utility>

namespace gander::detail {

/// Runs `f(sqlite::store&)` and completes `handler` with its result. Not cancellable.
template <class... R, class F>
void submit_read(std::shared_ptr<database_state> const& db,
                 asio::any_completion_handler<void(error_code, R...)> handler, F f) {
    if (!db)
        return complete_at_once(std::move(handler), executor_of(db), make_error_code(errc::closed),
                                R()...);
    if (error_code const why = db->refusal(false))
        return complete_at_once(std::move(handler), db->executor(), why, R()...);
    // Shared, since tasks are copyable. It keeps the database open, too.
    auto const done =
        std::make_shared<completion<void(error_code, R...)>>(std::move(handler), db->executor());
    db->file().read_in_background(
        {[done, db, f](sqlite::store& store) {
             if constexpr (sizeof...(R) == 0) {
                 f(store);
                 std::move(*done).post({});
             } else {
                 std::move(*done).post({}, f(store));
             }
         },
         [done, db](engine::failure const& why) { std::move(*done).post(why.code, R()...); },
         sqlite::steady_ms() + db->file().options().busy_deadline.milliseconds()});
}

}  // namespace gander::detail

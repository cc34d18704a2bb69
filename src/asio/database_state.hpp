// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What stands behind a gander::database: an open file, an executor, and a watch on the file.
#pragma once

#include "asio/context_hook.hpp"
#include "asio/watch.hpp"
#include "engine/file.hpp"
#include "gander/database.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/system_executor.hpp>

#include <atomic>
#include <memory>

namespace gander::detail {

class database_state final : public context_hook, public watched {
public:
    /// Connects an open file with a context.
    static std::shared_ptr<database_state> make(asio::any_io_executor const& ex,
                                                std::shared_ptr<engine::file> file);

    database_state(asio::any_io_executor ex, std::shared_ptr<engine::file> file);
    ~database_state() override;

    asio::any_io_executor const& executor() const noexcept { return ex_; }
    engine::file& file() noexcept { return *file_; }
    watch& ticks_of() noexcept { return *watch_; }
    std::shared_ptr<database_state> self() {
        return std::static_pointer_cast<database_state>(shared_from_this());
    }

    /// Why no operation can be started, or no error.
    error_code refusal(bool writes) const;

    database_stats stats();

    void on_shutdown() noexcept override;

    sight look() override;
    void check_identity() override;
    std::uint64_t ticks() const override { return file_->stats.ticks.load(); }
    void count_event() override { ++file_->stats.file_events; }
    void count_missed() override;

private:
    asio::any_io_executor ex_;
    std::shared_ptr<engine::file> const file_;
    std::shared_ptr<hook_service::registry> const registry_;
    std::shared_ptr<watch> const watch_;
    std::atomic<bool> closed_{false};
};

/// The executor of a handle that may be empty.
template <class State>
asio::any_io_executor executor_of(std::shared_ptr<State> const& state) {
    return state ? state->executor() : asio::any_io_executor(asio::system_executor());
}

/// Ends an operation that could not even begin.
template <class... Args, class... Values>
void complete_at_once(asio::any_completion_handler<void(Args...)> handler,
                      asio::any_io_executor const& ex, Values&&... values) {
    completion<void(Args...)>(std::move(handler), ex).post(std::forward<Values>(values)...);
}

/// Opens the state of a database for the rest of the library.
struct database_access {
    static std::shared_ptr<database_state> const& state(database const& db) noexcept {
        return db.state_;
    }
};

/// The state, or an exception that says that the handle is empty.
inline std::shared_ptr<database_state> const& state_of(database const& db) {
    auto const& state = database_access::state(db);
    if (!state) throw system_error(errc::closed, "empty database");
    return state;
}

}  // namespace gander::detail

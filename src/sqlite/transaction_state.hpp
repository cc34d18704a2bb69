// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What stands behind a gander::transaction.
#pragma once

#include "gander/sqlite.hpp"
#include "sqlite/store.hpp"

#include <memory>
#include <optional>

namespace gander::detail {

class transaction_state {
public:
    /// On the engine's writer, inside a transaction that it began.
    explicit transaction_state(sqlite::store& store) noexcept
        : store_(store), guard_(store.guard) {}

    /// On the user's connection.
    explicit transaction_state(sqlite3* borrowed)
        : own_(std::make_unique<sqlite::store>(borrowed)), store_(*own_) {}

    sqlite::store& store() noexcept { return store_; }
    sqlite::authorizer* guard() noexcept { return guard_; }

    /// A statement failed outside any savepoint: nothing may be committed any more.
    bool doomed() const noexcept { return doomed_; }
    void statement_failed() noexcept {
        if (savepoints == 0 && guard_ != nullptr) doomed_ = true;
    }

    int savepoints = 0;

private:
    std::unique_ptr<sqlite::store> own_;
    sqlite::store& store_;
    sqlite::authorizer* guard_ = nullptr;
    bool doomed_ = false;
};

/// Makes and opens transactions for the rest of the library.
struct transaction_access {
    static transaction make(std::unique_ptr<transaction_state> state) {
        return transaction(std::move(state));
    }
    static transaction_state& state(transaction& tx) noexcept { return *tx.state_; }

    /// Runs `f(store)`: gander's own writes are held to the same rule as the user's statements.
    template <class F>
    static auto write(transaction& tx, F f) {
        try {
            return f(tx.state_->store());
        } catch (...) {
            tx.state_->statement_failed();
            throw;
        }
    }
};

}  // namespace gander::detail

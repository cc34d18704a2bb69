// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A user's callable as an operation of the writer.
#pragma once

#include "asio/database_state.hpp"
#include "engine/write_op.hpp"
#include "gander/detail/transact.hpp"
#include "sqlite/transaction_state.hpp"

#include <memory>
#include <utility>

namespace gander::detail {

class transact_op final : public engine::write_op {
public:
    transact_op(std::shared_ptr<database_state> db, std::unique_ptr<transact_call> call) noexcept
        : db_(std::move(db)), call_(std::move(call)) {}

    kind what() const noexcept override { return kind::user; }

    void run(sqlite::store& store, engine::effects&) override {
        transaction tx = transaction_access::make(std::make_unique<transaction_state>(store));
        {
            sqlite::authorizer::scope const guarded(*store.guard);
            call_->run(tx);
        }
        if (transaction_access::state(tx).doomed()) throw system_error(errc::transaction_doomed);
    }

    void complete(engine::failure const& why) override {
        auto const keep = std::move(db_);
        auto const call = std::move(call_);
        std::exception_ptr const error = why.as_exception();
        delete this;
        call->complete(error);
    }

    void abandon() noexcept override {
        auto const keep = std::move(db_);
        auto const call = std::move(call_);
        delete this;
    }

private:
    std::shared_ptr<database_state> db_;
    std::unique_ptr<transact_call> call_;
};

}  // namespace gander::detail

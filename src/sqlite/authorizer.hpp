// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Keeps users' statements from ending, or changing the rules of, the transaction they run in.
#pragma once

#include "sqlite/connection.hpp"

namespace gander::sqlite {

/// Installed once on our own writer connection, never on a user's. While a scope is open,
/// statements that begin, commit, roll back, attach, or set journal and locking PRAGMAs do not
/// compile.
class authorizer {
public:
    class scope {
    public:
        explicit scope(authorizer& of) noexcept : of_(of) { of_.refusing_ = true; }
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
        ~scope() { of_.refusing_ = false; }

    private:
        authorizer& of_;
    };

    /// Lifts the refusal for a statement of our own in the middle of the user's.
    class lifted {
    public:
        explicit lifted(authorizer* of) noexcept : of_(of), was_(of != nullptr && of->refusing_) {
            if (of_ != nullptr) of_->refusing_ = false;
        }
        lifted(lifted const&) = delete;
        lifted& operator=(lifted const&) = delete;
        ~lifted() {
            if (of_ != nullptr) of_->refusing_ = was_;
        }

    private:
        authorizer* of_;
        bool was_;
    };

    explicit authorizer(connection& db) noexcept;
    authorizer(authorizer const&) = delete;
    authorizer& operator=(authorizer const&) = delete;

private:
    bool refusing_ = false;
};

}  // namespace gander::sqlite

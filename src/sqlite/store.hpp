// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// All tables over one connection.
#pragma once

#include "sqlite/authorizer.hpp"
#include "sqlite/claim.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/events.hpp"
#include "sqlite/jobs.hpp"
#include "sqlite/notifications.hpp"

namespace gander::sqlite {

class store {
public:
    explicit store(connection::settings const& how) : db(how) {}
    explicit store(sqlite3* borrowed) noexcept : db(borrowed) {}

    connection db;
    sqlite::notifications notifications{db};
    sqlite::events events{db};
    sqlite::jobs jobs{db};
    sqlite::claims claims{db, jobs};

    /// On the engine's writer: what keeps users' statements within bounds.
    authorizer* guard = nullptr;
};

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What stands behind a gander::consumer.
#pragma once

#include "asio/row_waiter.hpp"
#include "gander/stream.hpp"

#include <memory>
#include <string>

namespace gander::detail {

class consumer_state final : public row_waiter<event_row, batch> {
public:
    static std::shared_ptr<consumer_state> make(std::shared_ptr<database_state> db,
                                                std::string topic, std::string name,
                                                consumer_options options);

    consumer_state(std::shared_ptr<database_state> db, std::string topic, std::string name,
                   consumer_options options);

    std::string const& topic() const noexcept { return pattern().name; }

    /// Empty for a reader that saves nothing.
    std::string const& name() const noexcept { return name_; }
    std::shared_ptr<database_state> const& database() const noexcept { return db_ptr(); }

    /// Goes on after `offset`; what was read and not handed out is dropped.
    void move_to(std::int64_t offset);

private:
    enum class locating { not_begun, under_way, done };

    batch take(std::size_t max) override;
    bool ready() override;
    void locate(sqlite::store& store);
    void located(std::int64_t offset, bool saved);
    void not_located(error_code why);

    std::string const name_;
    consumer_options const options_;
    // The file's mutex.
    locating locating_ = locating::not_begun;
    std::int64_t position_ = 0;  // the last offset handed out, or where it began
    bool first_ = false;         // nothing is saved, and nothing was handed out yet
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/notifications.hpp"

#include "sqlite/sequence.hpp"

namespace gander::sqlite {

namespace {

bool collect(cursor row, channel_pattern const* pattern, read_limit limit,
             std::vector<notification_row>& into) {
    std::size_t rows = 0;
    std::size_t bytes = 0;
    while (row.step()) {
        if (pattern != nullptr && !pattern->matches(row.text(1))) continue;
        notification_row& r = into.emplace_back();
        r.id = row.integer(0);
        r.channel = row.text(1);
        r.payload = row.text(2);
        r.created_at = row.integer(3);
        bytes += r.channel.size() + r.payload.size();
        if (++rows >= limit.rows || bytes >= limit.bytes) return true;
    }
    return false;
}

}  // namespace

std::int64_t notifications::add(std::string_view channel, std::string_view payload) {
    return insert_into(db_, "_honker_notifications", [&] {
        db_.prepared(
               "INSERT INTO _honker_notifications(channel, payload, created_at) "
               "VALUES(?1, ?2, ?3)",
               channel, payload, db_.now())
            .run();
        return db_.last_insert_rowid();
    });
}

std::int64_t notifications::newest() {
    return newest_id(db_, "SELECT max(id) FROM _honker_notifications", "_honker_notifications");
}

std::int64_t notifications::oldest() {
    auto row = db_.prepared("SELECT min(id) FROM _honker_notifications");
    if (row.step() && !row.is_null(0)) return row.integer(0);
    return newest() + 1;
}

bool notifications::read(std::int64_t after, read_limit limit,
                         std::vector<notification_row>& into) {
    return collect(db_.prepared("SELECT id, channel, payload, created_at FROM "
                                "_honker_notifications WHERE id>?1 ORDER BY id",
                                after),
                   nullptr, limit, into);
}

bool notifications::read(channel_pattern const& pattern, std::int64_t after, std::int64_t until,
                         read_limit limit, std::vector<notification_row>& into) {
    if (pattern
            .prefix)  // a prefix spans channels: the table itself is in id order, the index is not
        return collect(db_.prepared("SELECT id, channel, payload, created_at FROM "
                                    "_honker_notifications WHERE id>?1 AND id<=?2 ORDER BY id",
                                    after, until),
                       &pattern, limit, into);
    return collect(db_.prepared("SELECT id, channel, payload, created_at FROM "
                                "_honker_notifications WHERE channel=?1 AND id>?2 AND id<=?3 "
                                "ORDER BY id",
                                std::string_view(pattern.name), after, until),
                   nullptr, limit, into);
}

}  // namespace gander::sqlite

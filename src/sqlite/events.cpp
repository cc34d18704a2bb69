// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/events.hpp"

#include "sqlite/bulk_insert.hpp"
#include "sqlite/sequence.hpp"

namespace gander::sqlite {

namespace {

constexpr char const* insert_many =
    "INSERT INTO _honker_stream(topic, payload, created_at) VALUES" GANDER_SIXTEEN("(?,?,?)");
constexpr char const* insert_one =
    "INSERT INTO _honker_stream(topic, payload, created_at) VALUES(?,?,?)";

bool collect(cursor row, read_limit limit, std::vector<event_row>& into) {
    std::size_t rows = 0;
    std::size_t bytes = 0;
    while (row.step()) {
        event_row& r = into.emplace_back();
        r.offset = row.integer(0);
        r.topic = row.text(1);
        r.key = row.optional_text(2);
        r.payload = row.text(3);
        r.created_at = row.integer(4);
        bytes += r.topic.size() + r.payload.size();
        if (++rows >= limit.rows || bytes >= limit.bytes) return true;
    }
    return false;
}

}  // namespace

std::int64_t events::publish(std::string_view topic, std::optional<std::string_view> key,
                             std::string_view payload) {
    return insert_into(db_, "_honker_stream", [&] {
        db_.prepared(
               "INSERT INTO _honker_stream(topic, key, payload, created_at) "
               "VALUES(?1, ?2, ?3, ?4)",
               topic, key, payload, db_.now())
            .run();
        return db_.last_insert_rowid();
    });
}

std::int64_t events::publish_many(std::string_view topic, std::span<std::string const> payloads) {
    std::int64_t const now = db_.now();
    auto const bind = [&](cursor& use, int at, std::size_t row) {
        use.bind(at, topic);
        use.bind(at + 1, std::string_view(payloads[row]));
        use.bind(at + 2, now);
    };
    return insert_into(db_, "_honker_stream", [&] {
        return bulk_insert(db_, insert_many, insert_one, 3, payloads.size(), bind);
    });
}

std::int64_t events::newest() {
    return newest_id(db_, "SELECT max(offset) FROM _honker_stream", "_honker_stream");
}

bool events::read(std::int64_t after, read_limit limit, std::vector<event_row>& into) {
    return collect(db_.prepared("SELECT offset, topic, key, payload, created_at FROM "
                                "_honker_stream WHERE offset>?1 ORDER BY offset",
                                after),
                   limit, into);
}

bool events::read(std::string const& topic, std::int64_t after, std::int64_t until,
                  read_limit limit, std::vector<event_row>& into) {
    return collect(db_.prepared("SELECT offset, topic, key, payload, created_at FROM "
                                "_honker_stream WHERE topic=?1 AND offset>?2 AND offset<=?3 "
                                "ORDER BY offset",
                                std::string_view(topic), after, until),
                   limit, into);
}

std::int64_t events::offset_before(std::string_view topic, std::int64_t time) {
    // Offset order is time order as far as the writers' clocks agree, so a binary search over
    // offsets finds the place without an index on the time.
    std::int64_t low = 0;
    std::int64_t high = newest();
    while (low < high) {
        std::int64_t const middle = low + (high - low) / 2;
        auto row = db_.prepared(
            "SELECT offset, created_at FROM _honker_stream WHERE topic=?1 AND "
            "offset>?2 AND offset<=?3 ORDER BY offset LIMIT 1",
            topic, middle, high);
        if (!row.step() || row.integer(1) >= time)
            high = middle;
        else
            low = row.integer(0);
    }
    return low;
}

std::optional<std::int64_t> events::saved_offset(std::string_view consumer,
                                                 std::string_view topic) {
    auto row = db_.prepared(
        "SELECT offset FROM _honker_stream_consumers WHERE name=?1 AND topic=?2", consumer, topic);
    return row.step() ? row.optional_integer(0) : std::nullopt;
}

bool events::advance(std::string_view consumer, std::string_view topic, std::int64_t from,
                     std::int64_t to, bool first) {
    db_.prepared(
           "UPDATE _honker_stream_consumers SET offset=?4 WHERE name=?1 AND topic=?2 AND "
           "offset=?3",
           consumer, topic, from, to)
        .run();
    if (db_.changes() > 0) return true;
    if (!first) return false;
    db_.prepared(
           "INSERT INTO _honker_stream_consumers(name, topic, offset) VALUES(?1, ?2, ?3) "
           "ON CONFLICT DO NOTHING",
           consumer, topic, to)
        .run();
    return db_.changes() > 0;
}

void events::seek(std::string_view consumer, std::string_view topic, std::int64_t to) {
    db_.prepared(
           "INSERT INTO _honker_stream_consumers(name, topic, offset) VALUES(?1, ?2, ?3) "
           "ON CONFLICT(name, topic) DO UPDATE SET offset=excluded.offset",
           consumer, topic, to)
        .run();
}

}  // namespace gander::sqlite

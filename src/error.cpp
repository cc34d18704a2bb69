// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/error.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <string>

namespace gander {

namespace {

char const* text_of(errc e) noexcept {
    switch (e) {
        case errc::timed_out:
            return "the wait ended before there was anything";
        case errc::busy:
            return "the file stayed locked by another process beyond the busy deadline; try again";
        case errc::lease_lost:
            return "the job is no longer held by this claim";
        case errc::offset_moved:
            return "the consumer's saved offset is not where this batch began";
        case errc::offset_out_of_range:
            return "the offset lies beyond the end of the stream";
        case errc::lagged:
            return "notifications were pruned before they were read";
        case errc::invalid_name:
            return "a name is empty, holds NUL or is not UTF-8";
        case errc::invalid_payload:
            return "the payload is not JSON";
        case errc::out_of_range:
            return "a number is out of range";
        case errc::read_only:
            return "the file was opened read-only";
        case errc::not_a_file:
            return "the path names memory or a URI, not a file";
        case errc::schema_too_new:
            return "the file was written by a newer version of gander";
        case errc::file_replaced:
            return "the file was replaced or deleted while it was open; open it anew";
        case errc::closed:
            return "the object is empty, or its execution context has shut down";
        case errc::used_after_fork:
            return "opened before fork() and used in the child; open the file after fork()";
        case errc::would_deadlock:
            return "started inside a transaction of the same database, which it would wait for";
        case errc::statement_not_allowed:
            return "the statement is not allowed inside a gander transaction";
        case errc::transaction_doomed:
            return "a statement of this transaction failed outside a savepoint; it cannot commit";
        case errc::commit_outcome_unknown:
            return "the disk failed during COMMIT; whether it will survive is not known";
        case errc::id_exhausted:
            return "all 2^63-1 ids of the table are used up";
        case errc::sqlite_not_threadsafe:
            return "the linked SQLite was built without thread support";
    }
    return "unknown gander error";
}

class gander_category final : public boost::system::error_category {
public:
    // The id makes two copies of this library in one program agree that their codes are equal.
    gander_category() : error_category(0x9c1f4be0a7d2365eU) {}

    char const* name() const noexcept override { return "gander"; }
    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }
};

class sqlite_error_category final : public boost::system::error_category {
public:
    sqlite_error_category() : error_category(0x3e8a61c5d90b47f2U) {}

    char const* name() const noexcept override { return "sqlite"; }
    std::string message(int value) const override { return sqlite3_errstr(value); }

    bool failed(int value) const noexcept override {
        return value != SQLITE_OK && value != SQLITE_ROW && value != SQLITE_DONE;
    }

    boost::system::error_condition default_error_condition(int value) const noexcept override {
        namespace errc = boost::system::errc;
        switch (value & 0xff) {
            case SQLITE_BUSY:
            case SQLITE_LOCKED:
                return errc::make_error_condition(errc::device_or_resource_busy);
            case SQLITE_FULL:
                return errc::make_error_condition(errc::no_space_on_device);
            case SQLITE_NOMEM:
                return errc::make_error_condition(errc::not_enough_memory);
            case SQLITE_PERM:
                return errc::make_error_condition(errc::permission_denied);
            case SQLITE_READONLY:
                return errc::make_error_condition(errc::read_only_file_system);
            case SQLITE_IOERR:
                return errc::make_error_condition(errc::io_error);
            default:
                return {value, *this};
        }
    }
};

class gander_condition_category final : public boost::system::error_category {
public:
    gander_condition_category() : error_category(0x71d3f8a94c06be25U) {}

    char const* name() const noexcept override { return "gander.condition"; }

    std::string message(int value) const override {
        return static_cast<condition>(value) == condition::try_again ? "try again" : "gone";
    }

    bool equivalent(error_code const& code, int value) const noexcept override {
        switch (static_cast<condition>(value)) {
            case condition::try_again:
                return code == errc::busy || code == errc::timed_out || transient(code);
            case condition::gone:
                return code == errc::lease_lost || code == errc::offset_moved ||
                       code == errc::file_replaced || code == errc::closed ||
                       code == errc::used_after_fork;
        }
        return false;
    }

private:
    static bool transient(error_code const& code) noexcept {
        int const primary = code.value() & 0xff;
        return code.category() == sqlite_category() &&
               (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL);
    }
};

}  // namespace

boost::system::error_category const& category() noexcept {
    static gander_category const instance;
    return instance;
}

boost::system::error_category const& sqlite_category() noexcept {
    static sqlite_error_category const instance;
    return instance;
}

boost::system::error_category const& condition_category() noexcept {
    static gander_condition_category const instance;
    return instance;
}

}  // namespace gander

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// What can go wrong: gander's own errors, SQLite's extended codes, and two conditions that
/// say what to do about them.
#pragma once

#include <gander/detail/config.hpp>
#include <gander/fwd.hpp>

#include <type_traits>

namespace gander {

/// Errors of gander itself. What SQLite reports keeps SQLite's extended result code, in
/// `sqlite_category()`.
enum class errc {
    /// The operation's own `.wait` ended before there was anything to hand over.
    timed_out = 1,

    /// Another process or connection held the lock beyond the busy deadline. Nothing was changed;
    /// the whole operation, or the whole transaction, can be tried again.
    busy,

    /// The job is no longer yours: its lease ended, or somebody acked, cancelled or buried it.
    lease_lost,

    /// The consumer's saved offset is not where this batch began: somebody else committed.
    offset_moved,

    /// The offset lies beyond the end of the stream.
    offset_out_of_range,

    /// Rows that the listener had not read yet were pruned away; the next receive goes on after
    /// the gap.
    lagged,

    /// A channel, topic, queue, consumer or worker name is empty, holds NUL or is not UTF-8.
    invalid_name,

    /// A payload is not JSON, nests deeper than 1000 levels, or is not UTF-8.
    invalid_payload,

    /// A number or duration is negative where it may not be, or overflows.
    out_of_range,

    /// The file was opened read-only.
    read_only,

    /// The path names memory ("", ":memory:", a "file:" URI): there is no file to share.
    not_a_file,

    /// The file was written by a newer gander whose tables this one does not know.
    schema_too_new,

    /// Another file now has this name, or the file was deleted. Open it anew.
    file_replaced,

    /// The handle is empty or moved-from, or its io_context has been shut down.
    closed,

    /// The object was opened before fork() and this is the child; or the child opens a file that its
    /// parent had open at the fork, which SQLite does not survive. Open files after fork() and exec.
    used_after_fork,

    /// The operation was started inside a transaction of the same database and would wait for it.
    would_deadlock,

    /// The statement is not allowed inside a gander transaction (BEGIN, COMMIT, ATTACH, ...).
    statement_not_allowed,

    /// A statement failed earlier in this transaction, outside a savepoint, so it cannot commit.
    transaction_doomed,

    /// The disk failed during COMMIT: whether the write will survive is not known.
    commit_outcome_unknown,

    /// AUTOINCREMENT has used up all 2^63-1 ids of a table.
    id_exhausted,

    /// The linked SQLite was built without thread support.
    sqlite_not_threadsafe,
};

/// What an error asks of the caller. Compare with `ec == gander::condition::try_again`.
enum class condition {
    /// Nothing was changed and the same call may succeed later: `errc::busy`, `errc::timed_out`,
    /// and SQLite's BUSY, LOCKED and PROTOCOL.
    try_again = 1,

    /// The thing is not there any more, or not yours: `errc::lease_lost`, `errc::offset_moved`,
    /// `errc::file_replaced`, `errc::closed`, `errc::used_after_fork`.
    gone,
};

/// The category of `errc`. Thread-safe.
GANDER_DECL boost::system::error_category const& category() noexcept;

/// The category of SQLite's extended result codes; its values are those of sqlite3.h, so that
/// `ec.value() == SQLITE_IOERR_FSYNC` works. Thread-safe.
GANDER_DECL boost::system::error_category const& sqlite_category() noexcept;

GANDER_DECL boost::system::error_category const& condition_category() noexcept;

inline error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), category()}; }

inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

}  // namespace gander

template <>
struct boost::system::is_error_code_enum<gander::errc> : std::true_type {};

template <>
struct boost::system::is_error_condition_enum<gander::condition> : std::true_type {};

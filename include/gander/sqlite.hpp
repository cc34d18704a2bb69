// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The user's own SQL in gander's transaction, and gander's writes in the user's transaction. The
/// one public header that names a `sqlite3*`.
#pragma once

#include <gander/detail/config.hpp>
#include <gander/error.hpp>
#include <gander/payload.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

struct sqlite3;

namespace gander {

namespace detail {
class transaction_state;
class statement_state;
struct transaction_access;
}  // namespace detail

/// A value bound to a parameter. It refers to strings and bytes, it does not copy them.
class value {
public:
    using variant_type = std::variant<std::nullptr_t, std::int64_t, double, std::string_view,
                                      std::span<std::byte const>>;

    value(std::nullptr_t) noexcept : v_(nullptr) {}                  // NOLINT: all meant to convert
    value(std::nullopt_t) noexcept : v_(nullptr) {}                  // NOLINT
    value(std::span<std::byte const> bytes) noexcept : v_(bytes) {}  // NOLINT
    value(std::string const& s) noexcept : v_(std::string_view(s)) {}    // NOLINT
    value(std::string_view s) noexcept : v_(s) {}                        // NOLINT
    value(char const* s) noexcept : v_(std::string_view(s)) {}           // NOLINT
    value(payload const& p) noexcept : v_(std::string_view(p.str())) {}  // NOLINT

    template <std::integral T>
    value(T i) : v_(static_cast<std::int64_t>(i)) {  // NOLINT
        if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t))
            if (i > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
                throw system_error(errc::out_of_range, "SQLite integers are signed 64-bit");
    }

    template <std::floating_point T>
    value(T d) noexcept : v_(static_cast<double>(d)) {}  // NOLINT

    template <class T>
    value(std::optional<T> const& o) : v_(o ? value(*o).v_ : variant_type(nullptr)) {}  // NOLINT

    variant_type const& get() const noexcept { return v_; }

private:
    variant_type v_;
};

/// A running query. Move-only. It must not outlive its transaction.
/// Distinct objects: safe only if their transactions are distinct. Shared objects: unsafe.
class GANDER_DECL statement {
public:
    statement(statement&&) noexcept;
    statement& operator=(statement&&) noexcept;
    ~statement();

    /// Moves to the next row; false at the end.
    /// \throws system_error with SQLite's code; the transaction is then doomed (see transaction).
    bool step();

    int column_count() const;
    std::string_view column_name(int column) const;
    bool is_null(int column) const;

    /// The value in `column`, counted from 0, converted by SQLite's rules. T is an integer, a
    /// floating-point type, bool, std::string, std::string_view (valid until the next step) or a
    /// std::optional of one of these, empty for NULL.
    template <class T>
    T get(int column) const {
        if constexpr (std::is_same_v<T, bool>)
            return integer(column) != 0;
        else if constexpr (std::is_integral_v<T>)
            return static_cast<T>(integer(column));
        else if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(real(column));
        else if constexpr (std::is_constructible_v<T, std::nullopt_t>)
            return is_null(column) ? T() : T(get<typename T::value_type>(column));
        else
            return T(text(column));
    }

private:
    friend class transaction;
    explicit statement(std::unique_ptr<detail::statement_state> state) noexcept;

    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string_view text(int column) const;

    std::unique_ptr<detail::statement_state> state_;
};

/// One open transaction. Given to the callable of `database::async_transact`, or made around a
/// `sqlite3*` of the user's own.
///
/// A statement that fails dooms the transaction, even if its exception is caught: it can then only
/// roll back. Put what may fail into `savepoint`. Not thread-safe.
class GANDER_DECL transaction {
public:
    /// Borrows `db`, on which the user has begun, or is about to begin, a transaction. gander's
    /// writes through it become part of that transaction and commit or roll back with it; outside
    /// of one, each commits by itself. Nothing is installed on the connection, and its durability
    /// is its own. The file must have gander's tables: see `create_tables`. `db` must outlive the
    /// object. A borrowed transaction is not doomed by a failing statement.
    explicit transaction(sqlite3* db);

    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;
    ~transaction();

    /// Runs one statement to its end and returns the number of rows that it changed. Parameters are
    /// `?` or `$1` and are bound in order.
    /// \throws system_error whose text names the statement and SQLite's message.
    template <class... Values>
    std::int64_t execute(std::string_view sql, Values const&... values) {
        std::array<value, sizeof...(Values)> const bound{value(values)...};
        return execute_bound(sql, bound);
    }

    /// Starts a query.
    /// \throws as `execute`.
    template <class... Values>
    statement query(std::string_view sql, Values const&... values) {
        std::array<value, sizeof...(Values)> const bound{value(values)...};
        return query_bound(sql, bound);
    }

    /// Runs `f()` inside a SAVEPOINT: when it throws, what it did is undone, the exception goes on,
    /// and the transaction can still commit if it is caught.
    template <class F>
    auto savepoint(F&& f) {
        savepoint_guard guard(*this);
        if constexpr (std::is_void_v<decltype(f())>) {
            f();
            guard.release();
        } else {
            auto result = f();
            guard.release();
            return result;
        }
    }

    /// The rowid of the last successful INSERT.
    std::int64_t last_insert_rowid() const;

    /// The connection, for libraries on top of SQLite. Do not end the transaction through it.
    sqlite3* native_handle() const noexcept;

private:
    friend struct detail::transaction_access;
    explicit transaction(std::unique_ptr<detail::transaction_state> state) noexcept;

    class GANDER_DECL savepoint_guard {
    public:
        explicit savepoint_guard(transaction& tx);
        savepoint_guard(savepoint_guard const&) = delete;
        ~savepoint_guard();
        void release();

    private:
        transaction& tx_;
        bool open_ = true;
    };

    std::int64_t execute_bound(std::string_view sql, std::span<value const> values);
    statement query_bound(std::string_view sql, std::span<value const> values);

    std::unique_ptr<detail::transaction_state> state_;
};

/// Creates gander's (and honker's) tables and indexes where they are missing. Idempotent. Needed on
/// a connection of the user's own to a file that no `database` has opened for writing; and on a file
/// of honker's with many jobs, since opening one with more than 100,000 leaves out the index that
/// makes claims fast: building it takes a second for each million, under the write lock.
/// \throws system_error, `errc::schema_too_new` among others.
GANDER_DECL void create_tables(transaction& tx);

/// The version of the SQLite library in use, such as "3.40.1".
GANDER_DECL char const* sqlite_version() noexcept;

/// True when that SQLite has the WAL-reset bug (before 3.51.3, except 3.50.7 and 3.44.6): a program
/// that lets *other* connections auto-checkpoint the file while gander writes to it is exposed.
GANDER_DECL bool sqlite_has_wal_reset_bug() noexcept;

}  // namespace gander

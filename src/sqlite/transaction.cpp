// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/schema.hpp"
#include "sqlite/transaction_state.hpp"

#include <utility>

namespace gander {

namespace detail {

class statement_state {
public:
    statement_state(transaction_state& tx, std::string_view sql) : tx_(tx), sql_(sql) {
        char const* tail = nullptr;
        int const rc = sqlite3_prepare_v2(db().handle(), sql_.c_str(),
                                          static_cast<int>(sql_.size()), &stmt_, &tail);
        if (rc != SQLITE_OK) fail(rc);
        if (stmt_ == nullptr)
            throw system_error(SQLITE_MISUSE, sqlite_category(), sql_ + ": no statement");
        if (std::string_view(tail).find_first_not_of(" \t\r\n;") != std::string_view::npos) {
            sqlite3_finalize(stmt_);
            throw system_error(SQLITE_MISUSE, sqlite_category(),
                               sql_ + ": more than one statement");
        }
    }
    statement_state(statement_state const&) = delete;
    statement_state& operator=(statement_state const&) = delete;
    ~statement_state() { sqlite3_finalize(stmt_); }

    void bind(std::span<value const> values) {
        auto const expected = static_cast<std::size_t>(sqlite3_bind_parameter_count(stmt_));
        if (expected != values.size())
            throw system_error(SQLITE_MISUSE, sqlite_category(),
                               sql_ + ": " + std::to_string(expected) + " parameters, " +
                                   std::to_string(values.size()) + " values");
        int index = 0;
        for (value const& v : values)
            if (int const rc = bind_one(++index, v); rc != SQLITE_OK) fail(rc);
    }

    bool step() {
        int const rc = sqlite3_step(stmt_);
        if (rc == SQLITE_ROW) return true;
        if (rc != SQLITE_DONE) fail(rc);
        return false;
    }

    sqlite3_stmt* get() const noexcept { return stmt_; }
    sqlite::connection& db() noexcept { return tx_.store().db; }

private:
    // Copied by SQLite: a statement outlives the call that its values were arguments of.
    int bind_one(int index, value const& v) {
        return std::visit(
            [&](auto const& x) {
                using T = std::decay_t<decltype(x)>;
                if constexpr (std::is_same_v<T, std::nullptr_t>)
                    return sqlite3_bind_null(stmt_, index);
                else if constexpr (std::is_same_v<T, std::int64_t>)
                    return sqlite3_bind_int64(stmt_, index, x);
                else if constexpr (std::is_same_v<T, double>)
                    return sqlite3_bind_double(stmt_, index, x);
                else if constexpr (std::is_same_v<T, std::string_view>)
                    return sqlite3_bind_text64(stmt_, index, x.data() != nullptr ? x.data() : "",
                                               x.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
                else
                    return sqlite3_bind_blob64(
                        stmt_, index, x.data() != nullptr ? static_cast<void const*>(x.data()) : "",
                        x.size(), SQLITE_TRANSIENT);
            },
            v.get());
    }

    [[noreturn]] void fail(int rc) {
        system_error const why = rc == SQLITE_AUTH ? system_error(errc::statement_not_allowed, sql_)
                                                   : db().error(rc, sql_);
        sqlite3_finalize(std::exchange(stmt_, nullptr));
        tx_.statement_failed();
        throw why;
    }

    transaction_state& tx_;
    std::string sql_;
    sqlite3_stmt* stmt_ = nullptr;
};

}  // namespace detail

statement::statement(std::unique_ptr<detail::statement_state> state) noexcept
    : state_(std::move(state)) {}
statement::statement(statement&&) noexcept = default;
statement& statement::operator=(statement&&) noexcept = default;
statement::~statement() = default;

bool statement::step() { return state_->step(); }
int statement::column_count() const { return sqlite3_column_count(state_->get()); }
std::string_view statement::column_name(int column) const {
    char const* name = sqlite3_column_name(state_->get(), column);
    return name != nullptr ? name : "";
}
bool statement::is_null(int column) const {
    return sqlite3_column_type(state_->get(), column) == SQLITE_NULL;
}
std::int64_t statement::integer(int column) const {
    return sqlite3_column_int64(state_->get(), column);
}
double statement::real(int column) const { return sqlite3_column_double(state_->get(), column); }
std::string_view statement::text(int column) const {
    auto const* data = static_cast<char const*>(sqlite3_column_blob(state_->get(), column));
    auto const size = static_cast<std::size_t>(sqlite3_column_bytes(state_->get(), column));
    return data != nullptr ? std::string_view(data, size) : std::string_view();
}

transaction::transaction(sqlite3* db) : state_(std::make_unique<detail::transaction_state>(db)) {}
transaction::transaction(std::unique_ptr<detail::transaction_state> state) noexcept
    : state_(std::move(state)) {}
transaction::~transaction() = default;

std::int64_t transaction::execute_bound(std::string_view sql, std::span<value const> values) {
    detail::statement_state statement(*state_, sql);
    statement.bind(values);
    std::int64_t const before = sqlite3_total_changes64(native_handle());
    while (statement.step()) {
    }
    // After one that changes no rows, such as CREATE, sqlite3_changes still holds the count of an
    // earlier statement.
    bool const changed = sqlite3_total_changes64(native_handle()) != before;
    return changed ? sqlite3_changes64(native_handle()) : 0;
}

statement transaction::query_bound(std::string_view sql, std::span<value const> values) {
    auto state = std::make_unique<detail::statement_state>(*state_, sql);
    state->bind(values);
    return statement(std::move(state));
}

std::int64_t transaction::last_insert_rowid() const {
    return state_->store().db.last_insert_rowid();
}

sqlite3* transaction::native_handle() const noexcept { return state_->store().db.handle(); }

transaction::savepoint_guard::savepoint_guard(transaction& tx) : tx_(tx) {
    sqlite::authorizer::lifted const lift(tx.state_->guard());
    tx.state_->store().db.prepared("SAVEPOINT gander").run();
    ++tx.state_->savepoints;
}

transaction::savepoint_guard::~savepoint_guard() {
    if (!open_) return;
    sqlite::authorizer::lifted const lift(tx_.state_->guard());
    --tx_.state_->savepoints;
    auto& db = tx_.state_->store().db;
    // Some errors have rolled back the whole transaction already, and the savepoint with it.
    if (db.try_execute("ROLLBACK TO gander") != SQLITE_OK ||
        db.try_execute("RELEASE gander") != SQLITE_OK)
        tx_.state_->statement_failed();
}

void transaction::savepoint_guard::release() {
    sqlite::authorizer::lifted const lift(tx_.state_->guard());
    tx_.state_->store().db.prepared("RELEASE gander").run();
    --tx_.state_->savepoints;
    open_ = false;
}

void create_tables(transaction& tx) {
    detail::transaction_access::write(tx,
                                      [](sqlite::store& s) { sqlite::create_schema(s.db, true); });
}

char const* sqlite_version() noexcept { return sqlite3_libversion(); }

bool sqlite_has_wal_reset_bug() noexcept {
    int const v = sqlite3_libversion_number();
    return v >= 3007000 && v < 3051003 && v != 3050007 && v != 3044006;
}

}  // namespace gander

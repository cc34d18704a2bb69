// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// One operation in a file's write queue.
#pragma once

#include "gander/error.hpp"
#include "sqlite/store.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <exception>
#include <memory>

namespace gander::engine {

/// What a commit touched, so that only those who may care are woken.
struct effects {
    bool notifications = false;
    bool events = false;
    bool jobs = false;
};

/// Why an operation failed: a code, and for users' callables the exception itself.
struct failure {
    error_code code;
    std::exception_ptr exception;

    explicit operator bool() const noexcept { return code.failed() || exception != nullptr; }

    /// The exception, or one made from the code.
    std::exception_ptr as_exception() const {
        if (exception || !code.failed()) return exception;
        return std::make_exception_ptr(system_error(code));
    }
};

inline failure failed_with(int sqlite_code) {
    return {error_code(sqlite_code, sqlite_category()), nullptr};
}
inline failure failed_with(errc e) { return {make_error_code(e), nullptr}; }

/// The failure that the exception being handled stands for.
failure current_failure() noexcept;

class write_op : public boost::intrusive::list_base_hook<> {
public:
    enum class kind {
        grouped,   ///< Shares a transaction with others.
        solitary,  ///< Runs alone in a transaction, on the SQLite pool.
        user,      ///< A user's callable: alone, and on the pool for those.
    };

    write_op() = default;
    write_op(write_op const&) = delete;
    write_op& operator=(write_op const&) = delete;

    virtual kind what() const noexcept { return kind::grouped; }

    bool runs_alone() const noexcept { return suspect || what() != kind::grouped; }

    /// Several statements, which must be undone together if one fails.
    virtual bool several_statements() const noexcept { return false; }

    /// Does the work inside the open transaction. May be called again after a transaction that did
    /// not commit.
    /// \throws whatever went wrong.
    virtual void run(sqlite::store& store, effects& done) = 0;

    /// False after a run that found nothing: the operation is not finished but waits on. Only
    /// claims.
    virtual bool satisfied() const noexcept { return true; }

    /// Ends the operation: posts the handler with the result of `run`, or with `why`. Called once,
    /// with no lock held; the operation is gone afterwards.
    virtual void complete(failure const& why) = 0;

    /// Destroys the operation and its handler without running it.
    virtual void abandon() noexcept = 0;

    std::uint64_t id = 0;
    std::size_t bytes = 0;           ///< For the bounds of a group.
    std::int64_t busy_deadline = 0;  ///< Steady milliseconds; set when it is first tried.
    bool claim = false;              ///< Waits in the claims, not in the queue.
    bool suspect = false;            ///< Was in a group that a constraint kept from committing.
    failure outcome;                 ///< Of its last run.

protected:
    ~write_op() = default;
};

struct abandon_op {
    void operator()(write_op* op) const noexcept { op->abandon(); }
};

using write_op_ptr = std::unique_ptr<write_op, abandon_op>;

/// An owning list.
class write_op_list {
public:
    write_op_list() = default;
    write_op_list(write_op_list&& other) noexcept { ops_.swap(other.ops_); }
    write_op_list& operator=(write_op_list&& other) noexcept {
        ops_.swap(other.ops_);
        return *this;
    }
    ~write_op_list() {
        while (pop_front()) {
        }
    }

    bool empty() const noexcept { return ops_.empty(); }
    std::size_t size() const noexcept { return ops_.size(); }
    write_op& front() noexcept { return ops_.front(); }
    auto begin() noexcept { return ops_.begin(); }
    auto end() noexcept { return ops_.end(); }

    void push_back(write_op_ptr op) noexcept { ops_.push_back(*op.release()); }

    /// Puts all of `others` before what is here.
    void prepend(write_op_list&& others) noexcept { ops_.splice(ops_.begin(), others.ops_); }
    void append(write_op_list&& others) noexcept { ops_.splice(ops_.end(), others.ops_); }

    write_op_ptr pop_front() noexcept {
        if (ops_.empty()) return nullptr;
        write_op_ptr op(&ops_.front());
        ops_.pop_front();
        return op;
    }

    write_op_ptr remove(std::uint64_t id) noexcept {
        for (auto& op : ops_)
            if (op.id == id) return remove(op);
        return nullptr;
    }

    write_op_ptr remove(write_op& op) noexcept {
        ops_.erase(ops_.iterator_to(op));
        return write_op_ptr(&op);
    }

private:
    boost::intrusive::list<write_op> ops_;
};

/// Ends all of them with `why`. No lock held.
void complete_all(write_op_list&& ops, failure const& why);

/// Ends each with its own outcome. No lock held.
void complete_each(write_op_list&& ops);

}  // namespace gander::engine

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The one primitive of the waiting side: lists of suspended operations.
#pragma once

#include "asio/watch.hpp"
#include "engine/threads.hpp"
#include "gander/detail/completion.hpp"
#include "gander/error.hpp"

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace gander::detail {

/// Makes and frees operations in memory from their handlers' associated allocators.
template <class Op>
struct op_memory {
    template <class Handler>
    static auto allocator(Handler const& handler) {
        auto const a = asio::get_associated_allocator(handler);
        return typename std::allocator_traits<decltype(a)>::template rebind_alloc<Op>(a);
    }

    template <class Handler, class... Args>
    static Op* make(Handler&& handler, Args&&... args) {
        auto a = allocator(handler);
        using traits = std::allocator_traits<decltype(a)>;
        Op* const memory = traits::allocate(a, 1);
        try {
            return ::new (static_cast<void*>(memory))
                Op(std::forward<Handler>(handler), std::forward<Args>(args)...);
        } catch (...) {
            traits::deallocate(a, memory, 1);
            throw;
        }
    }

    /// Destroys `op` and gives its memory back. `handler` has been moved out of it and keeps the
    /// allocator alive.
    template <class Handler>
    static void free(Op* op, Handler const& handler) noexcept {
        auto a = allocator(handler);
        op->~Op();
        std::allocator_traits<decltype(a)>::deallocate(a, op, 1);
    }
};

template <class Signature>
class wait_op;

/// One suspended operation.
template <class... Args>
class wait_op<void(Args...)> : public boost::intrusive::list_base_hook<> {
public:
    using completion_type = completion<void(Args...)>;
    using handler_type = typename completion_type::handler_type;
    using memory = op_memory<wait_op>;

    struct abandon {
        void operator()(wait_op* op) const noexcept {
            auto const done = std::move(op->done_);
            memory::free(op, done.handler());
        }
    };
    using ptr = std::unique_ptr<wait_op, abandon>;

    static ptr make(handler_type handler, asio::any_io_executor const& io, std::uint64_t id) {
        return ptr(memory::make(std::move(handler), io, id));
    }

    /// For `make`.
    wait_op(handler_type handler, asio::any_io_executor const& io, std::uint64_t number)
        : id(number), done_(std::move(handler), io) {}

    handler_type const& handler() const noexcept { return done_.handler(); }

    /// Queues the handler. No lock held. The memory is back before the handler can run.
    static void complete(ptr op, Args... args) {
        if (op->timer != 0) engine::threads::instance().sqlite.cancel(op->timer);
        // Disarms after the handler is queued, which most likely arms again at once.
        auto const armed = std::move(op->armed);
        auto done = std::move(op->done_);
        memory::free(op.release(), done.handler());
        std::move(done).post(std::move(args)...);
    }

    std::uint64_t const id;
    std::size_t max = 1;   ///< How many rows it takes.
    bool no_wait = false;  ///< Ends when there is nothing now.
    engine::thread_pool::timer timer = 0;
    watch::arming armed;  ///< File events are read while it waits.

private:
    completion_type done_;
};

/// An owning list. Guarded by whoever owns it.
template <class Signature>
class wait_list {
public:
    using op_type = wait_op<Signature>;
    using ptr = typename op_type::ptr;

    wait_list() = default;
    wait_list(wait_list&& other) noexcept { ops_.swap(other.ops_); }
    wait_list& operator=(wait_list&&) = delete;
    ~wait_list() {
        while (pop_front()) {
        }
    }

    bool empty() const noexcept { return ops_.empty(); }
    template <class Predicate>
    bool any(Predicate which) const noexcept {
        return std::any_of(ops_.begin(), ops_.end(), which);
    }
    void push_back(ptr op) noexcept { ops_.push_back(*op.release()); }
    void append(wait_list&& others) noexcept { ops_.splice(ops_.end(), others.ops_); }

    ptr pop_front() noexcept {
        if (ops_.empty()) return nullptr;
        ptr op(&ops_.front());
        ops_.pop_front();
        return op;
    }

    template <class Predicate>
    ptr extract(Predicate which) noexcept {
        for (auto at = ops_.begin(); at != ops_.end(); ++at)
            if (which(*at)) {
                ptr op(&*at);
                ops_.erase(at);
                return op;
            }
        return nullptr;
    }

private:
    boost::intrusive::list<op_type> ops_;
};

/// Lets `slot` call `cancel(*state)`, if `state` is still there. To be called before the operation
/// becomes visible to other threads; nobody ever clears the slot, since a slot may be touched only where
/// its signal lives, and a late signal finds nothing to cancel.
template <class State, class Cancel>
void connect_cancellation(asio::cancellation_slot slot, std::weak_ptr<State> weak, Cancel cancel) {
    if (!slot.is_connected()) return;
    slot.assign([weak = std::move(weak), cancel](asio::cancellation_type_t type) {
        using t = asio::cancellation_type;
        if ((type & (t::terminal | t::partial | t::total)) == t::none) return;
        if (auto const state = weak.lock()) cancel(*state);
    });
}

/// The same for a handler's slot.
template <class Signature, class State, class Cancel>
void connect_cancellation(asio::any_completion_handler<Signature> const& handler,
                          std::weak_ptr<State> weak, Cancel cancel) {
    connect_cancellation(asio::get_associated_cancellation_slot(handler), std::move(weak), cancel);
}

}  // namespace gander::detail

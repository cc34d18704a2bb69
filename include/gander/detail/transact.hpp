// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A user's callable, erased for the engine.
#pragma once

#include <gander/detail/asio_fixes.hpp>
#include <gander/detail/completion.hpp>
#include <gander/sqlite.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace gander::detail {

/// What the engine runs on a thread of its own, possibly more than once, and completes once.
class transact_call {
public:
    virtual ~transact_call() = default;
    virtual void run(transaction& tx) = 0;
    virtual void complete(std::exception_ptr error) = 0;
};

template <class R>
struct transact_signature {
    using type = void(std::exception_ptr, R);
};

template <>
struct transact_signature<void> {
    using type = void(std::exception_ptr);
};

template <class F>
using transact_result = std::decay_t<std::invoke_result_t<F&, transaction&>>;

template <class F, class R = transact_result<F>>
class typed_transact_call final : public transact_call {
public:
    using signature = typename transact_signature<R>::type;

    typed_transact_call(F f, asio::any_completion_handler<signature> handler,
                        asio::any_io_executor const& io)
        : f_(std::move(f)), done_(std::move(handler), io) {}

    void run(transaction& tx) override {
        if constexpr (std::is_void_v<R>)
            f_(tx);
        else
            result_ = f_(tx);
    }

    void complete(std::exception_ptr error) override {
        if constexpr (std::is_void_v<R>)
            std::move(done_).post(std::move(error));
        else if (error)
            std::move(done_).post(std::move(error), R());
        else
            std::move(done_).post(std::move(error), std::move(*result_));
    }

private:
    struct nothing {};

    F f_;
    std::optional<std::conditional_t<std::is_void_v<R>, nothing, R>> result_;
    completion<signature> done_;
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Boost 1.81 does not compile `co_await` of a deferred operation whose signature is
/// `void(std::exception_ptr, T)`: its handler tests `*result`, a struct, where it means
/// `*result.ex_`. This more specialised version, for that Asio alone, says what was meant.
#pragma once

#include <boost/asio/version.hpp>

#if BOOST_ASIO_VERSION == 102600

#include <boost/asio/awaitable.hpp>

#include <exception>
#include <utility>

namespace boost::asio::detail {

template <typename T, typename Executor>
class awaitable_async_op_handler<void(std::exception_ptr, T), Executor>
    : public awaitable_thread<Executor> {
public:
    struct result_type {
        std::exception_ptr* error;
        T* value;
    };

    awaitable_async_op_handler(awaitable_thread<Executor>* from, result_type& result)
        : awaitable_thread<Executor>(std::move(*from)), result_(result) {}

    void operator()(std::exception_ptr error, T value) {
        result_.error = &error;
        result_.value = &value;
        this->entry_point()->top_of_stack_->attach_thread(this);
        this->entry_point()->top_of_stack_->clear_cancellation_slot();
        this->pump();
    }

    static T resume(result_type& result) {
        if (*result.error) std::rethrow_exception(std::exchange(*result.error, nullptr));
        return std::move(*result.value);
    }

private:
    result_type& result_;
};

}  // namespace boost::asio::detail

#endif

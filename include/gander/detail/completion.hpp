// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A stored completion handler: what every pending operation owns.
#pragma once

#include <gander/fwd.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace gander::detail {

template <class Signature>
class completion;

/// A handler with work guards on its own executor and on the object's, so that both contexts keep
/// running until it has been called. It is called once, by `post`, never inline.
template <class... Args>
class completion<void(Args...)> {
public:
    using handler_type = asio::any_completion_handler<void(Args...)>;

    completion(handler_type handler, asio::any_io_executor const& io)
        : work_(asio::get_associated_executor(handler, io)),
          io_work_(io),
          handler_(std::move(handler)) {}

    handler_type const& handler() const noexcept { return handler_; }

    /// Queues the handler. Call with no lock held: it may destroy what the handler owns.
    void post(Args... args) && {
        // To the object's executor, from where Asio dispatches to the handler's: in Boost 1.81
        // any_completion_executor has no blocking property, so it cannot be posted to directly.
        asio::post(io_work_.get_executor(), asio::append(std::move(handler_), std::move(args)...));
        work_.reset();
        io_work_.reset();
    }

private:
    asio::executor_work_guard<asio::any_completion_executor> work_;
    asio::executor_work_guard<asio::any_io_executor> io_work_;
    handler_type handler_;
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Tells long-lived state that its execution context is going away.
///
/// A pending handler may own the object that it waits on, whose state owns the handler: only the
/// context's shutdown breaks that circle.
#pragma once

#include "gander/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/intrusive/list.hpp>

#include <memory>
#include <mutex>

namespace gander::detail {

class context_hook : public std::enable_shared_from_this<context_hook>,
                     public boost::intrusive::list_base_hook<> {
public:
    virtual ~context_hook() = default;

    /// Destroy stored handlers without running them. Called once, by the thread that destroys the
    /// context, with no lock held.
    virtual void on_shutdown() noexcept = 0;
};

class hook_service final : public asio::execution_context::service {
public:
    static inline asio::execution_context::id id;

    /// Shared, so that a hook can unregister after the context has gone.
    class registry {
    public:
        void add(context_hook& h);
        void remove(context_hook& h) noexcept;

    private:
        friend class hook_service;
        std::mutex mutex_;
        boost::intrusive::list<context_hook> hooks_;
    };

    explicit hook_service(asio::execution_context& context) : service(context) {}

    static std::shared_ptr<registry> of(asio::any_io_executor const& ex);

private:
    void shutdown() noexcept override;

    std::shared_ptr<registry> const registry_ = std::make_shared<registry>();
};

}  // namespace gander::detail

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// A fixture: an io_context, a database path, and coroutines run on them with a deadline.
#pragma once

#include "support/temp.hpp"
#include "support/time.hpp"

#include <gander/gander.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

/// ASSERT_TRUE for coroutines, where GoogleTest's own does not compile: ends the body by a throw.
#define GANDER_REQUIRE(condition)                                                           \
    do {                                                                                    \
        if (!(condition))                                                                   \
            throw std::runtime_error(std::string(__FILE__ ":") + std::to_string(__LINE__) + \
                                     ": " #condition);                                      \
    } while (false)

namespace gander {

/// What GoogleTest prints of one.
inline void PrintTo(errc e, std::ostream* to) { *to << make_error_code(e).message(); }

}  // namespace gander

namespace gander::test {

namespace asio = boost::asio;
using asio::awaitable;

/// `auto [ec, n] = co_await listener.async_receive(tuple);`
inline constexpr auto tuple = asio::as_tuple(asio::deferred);

/// The same for an operation that `signal` can cancel.
inline auto tuple_with(asio::cancellation_signal& signal) {
    return asio::as_tuple(asio::bind_cancellation_slot(signal.slot(), asio::use_awaitable));
}

/// Runs `body`, which returns an awaitable<void>, until it has ended and the context has run out of
/// work: what the library leaves behind would keep run() from returning.
template <class F>
void run_on(asio::io_context& io, F body, milliseconds within = patience) {
    struct outcome {
        bool ended = false;
        std::exception_ptr error;
    };
    auto const result = std::make_shared<outcome>();
    asio::co_spawn(io, std::move(body), [result](std::exception_ptr e) {
        result->ended = true;
        result->error = std::move(e);
    });
    io.restart();
    io.run_for(within);
    if (result->error) std::rethrow_exception(result->error);
    ASSERT_TRUE(result->ended) << "the body did not end within " << within.count() << " ms";
    ASSERT_TRUE(io.stopped()) << "the body ended, but something keeps run() from returning";
}

/// Starts `body` beside whatever else runs. An exception of it fails the test.
template <class F>
void spawn_on(asio::io_context& io, F body) {
    asio::co_spawn(io, std::move(body), [](std::exception_ptr e) {
        if (!e) return;
        try {
            std::rethrow_exception(e);
        } catch (std::exception const& x) {
            ADD_FAILURE() << "in a spawned body: " << x.what();
        }
    });
}

/// Sleeps on the executor: to let something else go on, never to wait for it.
inline awaitable<void> pause(milliseconds length) {
    asio::steady_timer timer(co_await asio::this_coro::executor, length);
    co_await timer.async_wait(asio::use_awaitable);
}

/// The error code with which `f()` throws; no error when it does not.
template <class F>
error_code code_of(F f) {
    try {
        f();
    } catch (system_error const& e) {
        return e.code();
    }
    return {};
}

inline error_code code_of(std::exception_ptr const& e) {
    return e ? code_of([&] { std::rethrow_exception(e); }) : error_code();
}

class io_test : public ::testing::Test {
protected:
    template <class F>
    void run(F body, milliseconds within = patience) {
        run_on(io, std::move(body), within);
    }

    temp_db file;  // outlives the context, whose destruction ends all operations
    std::string const& path = file.path();
    asio::io_context io;
};

}  // namespace gander::test

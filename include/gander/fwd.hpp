// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Forward declarations, and the names borrowed from Boost.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace boost::asio {}

namespace gander {

namespace asio = boost::asio;
using boost::system::error_code;
using boost::system::system_error;

class batch;
class consumer;
class database;
class event;
class job;
class listener;
class notification;
class notifier;
class payload;
class queue;
class statement;
class transaction;

}  // namespace gander

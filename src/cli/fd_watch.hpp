// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Waits on a descriptor that belongs to somebody else.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <optional>

namespace gander::cli {

/// Waits until `poll` would report something on a descriptor, without touching it.
///
/// Asio sets O_NONBLOCK on what it waits for. Standard input and output are shared with the shell
/// and with other programs, which would then meet EAGAIN. So the descriptor goes into an epoll set
/// of our own, and Asio waits for that set.
class fd_watch {
public:
    /// `events` as of epoll: EPOLLIN, EPOLLOUT; 0 for errors and hang-ups alone.
    fd_watch(boost::asio::any_io_executor ex, int fd, unsigned events);

    /// Returns when something has happened, at once for a descriptor that cannot be polled (a
    /// regular file is always ready), or after `cancel`.
    boost::asio::awaitable<void> wait();

    void cancel();

    /// False for a regular file and such, for which `wait` never waits.
    bool can_wait() const { return set_.has_value(); }

private:
    std::optional<boost::asio::posix::stream_descriptor> set_;
};

/// What poll reports for `fd` now.
short poll_now(int fd, short events);

}  // namespace gander::cli

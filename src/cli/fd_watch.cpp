// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fd_watch.hpp"

#include "errors.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace gander::cli {

namespace asio = boost::asio;

fd_watch::fd_watch(asio::any_io_executor ex, int fd, unsigned events) {
    int const set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) throw system_failure("epoll", errno);
    epoll_event event{};
    event.events = events;
    if (::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0) {
        // EPERM: a file that has no readiness. EBADF: the read or write will say so.
        ::close(set);
        return;
    }
    set_.emplace(ex, set);
}

asio::awaitable<void> fd_watch::wait() {
    if (!set_) co_return;
    co_await set_->async_wait(asio::posix::descriptor_base::wait_read,
                              asio::as_tuple(asio::use_awaitable));
}

void fd_watch::cancel() {
    if (!set_) return;
    boost::system::error_code ignored;
    set_->cancel(ignored);
}

short poll_now(int fd, short events) {
    pollfd p{fd, events, 0};
    return ::poll(&p, 1, 0) > 0 ? p.revents : short{0};
}

}  // namespace gander::cli

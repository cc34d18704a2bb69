// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "standard_streams.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace gander::cli {

void settle_standard_streams() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        // The wrong way round for 0 and 1, so that using what was closed is still an error. open
        // takes the lowest free number, which is fd.
        int const how = fd == 0 ? O_WRONLY : fd == 1 ? O_RDONLY : O_WRONLY;
        if (::open("/dev/null", how) != fd) ::_exit(3);
    }
    // A write to a closed pipe is an error that we see.
    std::signal(SIGPIPE, SIG_IGN);
    // If nobody else changed it, the exit status of a COMMAND would be thrown away.
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t ours;
    ::sigemptyset(&ours);
    ::sigaddset(&ours, SIGINT);
    ::sigaddset(&ours, SIGTERM);
    ::sigprocmask(SIG_UNBLOCK, &ours, nullptr);
}

}  // namespace gander::cli

// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The limit of "wake": one message through a pipe into an Asio handler, with no database at all.
#pragma once

#include "clock.hpp"
#include "sample_log.hpp"

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Reads sequence numbers of 8 bytes.
class pipe_reader {
public:
    pipe_reader(boost::asio::io_context& context, int fd, std::size_t count)
        : pipe_(context, fd), log_(count), left_(count) {}

    void read() {
        // Writes of 8 bytes to a pipe are atomic, so no read returns a part of a number.
        pipe_.async_read_some(boost::asio::buffer(bytes_),
                              [this](boost::system::error_code ec, std::size_t size) {
                                  std::int64_t const now = now_ns();
                                  if (ec) throw boost::system::system_error(ec, "pipe");
                                  take(size, now);
                                  if (left_ != 0) read();
                              });
    }

    sample_log const& samples() const noexcept { return log_; }

private:
    void take(std::size_t size, std::int64_t now) {
        for (std::size_t at = 0; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
            std::uint64_t seq = 0;
            std::memcpy(&seq, bytes_.data() + at, sizeof seq);
            log_.stamp(seq, now);
            --left_;
        }
    }

    boost::asio::posix::stream_descriptor pipe_;
    std::array<char, 1024> bytes_{};
    sample_log log_;
    std::size_t left_;
};

/// The read end and the write end.
inline std::pair<int, int> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    return {ends[0], ends[1]};
}

/// Sends `count` numbers to each pipe. The stamp stands before the first write: nothing here
/// corresponds to a COMMIT, all of the sending is part of the way.
inline sample_log write_pipes(std::vector<int> const& pipes, std::size_t count,
                              std::uint64_t seed) {
    sample_log log(count);
    gap_source gaps(seed);
    for (std::uint64_t seq = 0; seq != count; ++seq) {
        std::this_thread::sleep_for(gaps.next());
        log.stamp(seq, now_ns());
        for (int const fd : pipes)
            if (::write(fd, &seq, sizeof seq) != sizeof seq)
                throw std::system_error(errno, std::generic_category(), "write");
    }
    return log;
}

}  // namespace bench

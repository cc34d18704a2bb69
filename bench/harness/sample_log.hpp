// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Stamps by sequence number, and the messages that carry the number.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// One stamp for each message. All memory is taken before the run, so that stamping is a store;
/// the numbers leave the process when the run is over.
///
/// The writer's stamp is taken after COMMIT has returned and so cannot be in the row; writer and
/// readers each keep a log, and whoever started them subtracts one from the other.
class sample_log {
public:
    explicit sample_log(std::size_t count) : at_(count, 0) {}

    std::size_t size() const noexcept { return at_.size(); }
    bool has(std::size_t seq) const noexcept { return at_[seq] != 0; }

    /// Keeps the first stamp: a message seen twice is an error, not a second sample.
    void stamp(std::size_t seq, std::int64_t now) {
        if (seq >= at_.size() || at_[seq] != 0)
            throw std::runtime_error("message " + std::to_string(seq) + " out of range or twice");
        at_[seq] = now;
    }

    /// Writes "sequence nanoseconds" lines to standard output.
    void dump() const {
        for (std::size_t i = 0; i < at_.size(); ++i)
            std::printf("%zu %lld\n", i, static_cast<long long>(at_[i]));
        std::fflush(stdout);
    }

private:
    std::vector<std::int64_t> at_;
};

inline std::string make_message(std::size_t seq) { return "{\"seq\":" + std::to_string(seq) + "}"; }

inline std::size_t sequence_of(std::string_view message) {
    auto const colon = message.find(':');
    std::size_t seq = 0;
    if (colon == std::string_view::npos ||
        std::from_chars(message.data() + colon + 1, message.data() + message.size(), seq).ec !=
            std::errc())
        throw std::runtime_error("not a message of this benchmark: " + std::string(message));
    return seq;
}

}  // namespace bench

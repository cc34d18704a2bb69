// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The file beside the database through which gander processes help each other: `<db>-gander`.
///
/// Its bytes are only places for advisory locks and a thing to touch. Losing it costs speed, never
/// correctness, so nothing here fails: what cannot be had is gone without.
#pragma once

#include <string>
#include <string_view>

namespace gander::sqlite {

class side_file {
public:
    /// Opens it, making it with the database's mode and owner.
    /// \param writable false: only if it is there already.
    side_file(std::string const& database_path, bool writable) noexcept;
    side_file(side_file const&) = delete;
    side_file& operator=(side_file const&) = delete;
    ~side_file();

    /// Whose turn it is to write (byte 0): keeps processes from starving each other, since SQLite's
    /// own lock has no queue. True when the lock was taken, or there is no file to take it in.
    bool try_take_turn() noexcept { return try_lock(turn_byte); }
    void end_turn() noexcept { unlock(turn_byte); }

    /// The right to begin a background checkpoint (byte 1). False when another process has it, or
    /// there is no file: then nobody checkpoints in the background.
    bool try_take_checkpoint() noexcept { return fd_ >= 0 && try_lock(checkpoint_byte); }
    void end_checkpoint() noexcept { unlock(checkpoint_byte); }

    /// Touches byte 2, which those who watch the file see as an event. Called after COMMIT: it
    /// spares them the time between a frame's write and the commit's becoming visible.
    void ring() noexcept;

    static constexpr std::string_view suffix = "-gander";

    static std::string path_for(std::string const& database_path) {
        return std::string(database_path).append(suffix);
    }

private:
    static constexpr int turn_byte = 0;
    static constexpr int checkpoint_byte = 1;
    static constexpr int bell_byte = 2;

    bool try_lock(int byte) noexcept;
    void unlock(int byte) noexcept;

    int fd_ = -1;
    bool writable_ = false;
};

}  // namespace gander::sqlite

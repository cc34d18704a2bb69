// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// Files that are gone when the test is over.
#pragma once

#include <string>
#include <string_view>

namespace gander::test {

/// A directory of its own, that everybody may enter; removed with all that is in it.
class temp_dir {
public:
    temp_dir();
    temp_dir(temp_dir const&) = delete;
    ~temp_dir();

    std::string const& path() const noexcept { return path_; }
    std::string file(std::string_view name) const;

private:
    std::string path_;
};

/// A path in a directory of its own; no file is made there.
class temp_db {
public:
    std::string const& path() const noexcept { return path_; }
    std::string beside(std::string_view suffix) const { return path_ + std::string(suffix); }
    temp_dir const& dir() const noexcept { return dir_; }

private:
    temp_dir dir_;
    std::string path_ = dir_.file("app.db");
};

/// The bytes of a file, empty when it is missing. Never of a database that this process has open:
/// closing any descriptor of it drops SQLite's locks.
std::string contents(std::string const& path);
void write_file(std::string const& path, std::string_view bytes);
bool exists(std::string const& path);

/// Open descriptors and threads of this process.
int open_descriptors();
int running_threads();

}  // namespace gander::test

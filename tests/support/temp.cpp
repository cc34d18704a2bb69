// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "support/temp.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace gander::test {

namespace fs = std::filesystem;

temp_dir::temp_dir() {
    std::string name = (fs::temp_directory_path() / "gander-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), name);
    ::chmod(name.c_str(), 0777);
    path_ = fs::canonical(name).string();
}

temp_dir::~temp_dir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string temp_dir::file(std::string_view name) const {
    return (fs::path(path_) / name).string();
}

std::string contents(std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(std::string const& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

bool exists(std::string const& path) { return fs::exists(path); }

namespace {

int entries(char const* directory) {
    return static_cast<int>(
        std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

}  // namespace

int open_descriptors() { return entries("/proc/self/fd"); }
int running_threads() { return entries("/proc/self/task"); }

}  // namespace gander::test

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sqlite/side_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gander::sqlite {

namespace {

struct flock byte_lock(short type, int byte) noexcept {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

int create(std::string const& path, std::string const& database_path) noexcept {
    struct stat database {};
    if (::stat(database_path.c_str(), &database) != 0) return -1;
    int const fd =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, database.st_mode & 0777);
    if (fd < 0) return ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // somebody else made it meanwhile
    // As SQLite does for its own side files: whoever may use the database may use this, whatever
    // the umask, also when root made it. Failing is harmless.
    (void)!::fchmod(fd, database.st_mode & 0777);
    if (::geteuid() == 0) (void)!::fchown(fd, database.st_uid, database.st_gid);
    return fd;
}

}  // namespace

side_file::side_file(std::string const& database_path, bool writable) noexcept
    : writable_(writable) {
    std::string const path = path_for(database_path);
    fd_ = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd_ < 0 && writable) fd_ = create(path, database_path);
    if (fd_ >= 0 &&
        fd_ <= 2) {  // a closed standard stream's number: writes to stderr would land here
        int const moved = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
        ::close(fd_);
        fd_ = moved;
    }
}

side_file::~side_file() {
    if (fd_ >= 0) ::close(fd_);
}

void side_file::ring() noexcept {
    if (fd_ < 0) return;
    char byte = 0;
    if (writable_)
        (void)!::pwrite(fd_, &byte, 1, bell_byte);
    else
        (void)!::pread(fd_, &byte, 1, bell_byte);
}

// Locks of the open file description, not of the process: two databases on one path in one process
// are two, and closing one must not drop the other's lock.
bool side_file::try_lock(int byte) noexcept {
    if (fd_ < 0) return true;
    struct flock lock = byte_lock(F_WRLCK, byte);
    return ::fcntl(fd_, F_OFD_SETLK, &lock) == 0;
}

void side_file::unlock(int byte) noexcept {
    if (fd_ < 0) return;
    struct flock lock = byte_lock(F_UNLCK, byte);
    ::fcntl(fd_, F_OFD_SETLK, &lock);
}

}  // namespace gander::sqlite

// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "support/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gander::test {

namespace {

[[noreturn]] void fail(int error, std::string const& what) {
    throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers(std::vector<std::string> const& from) {
    std::vector<char*> to;
    for (std::string const& s : from) to.push_back(const_cast<char*>(s.c_str()));
    return to;
}

int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

}  // namespace

child::child(std::vector<std::string> const& command, std::vector<std::string> const& environment) {
    ::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0) fail(errno, "pipe");
    if (::pipe2(from.data(), O_CLOEXEC) != 0) fail(errno, "pipe");

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, from[1], STDOUT_FILENO);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&how, &defaults);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);

    std::vector<char*> arguments = pointers(command);
    arguments.push_back(nullptr);
    std::vector<char*> variables = pointers(environment);
    for (char** e = environ; *e != nullptr; ++e) variables.push_back(*e);
    variables.push_back(nullptr);
    int const error =
        ::posix_spawnp(&pid_, arguments[0], &files, &how, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = from[0];
    if (error != 0) {
        ::close(in_);
        ::close(out_);
        fail(error, command[0]);
    }
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      buffer_(std::move(other.buffer_)),
      status_(other.status_) {}

child::~child() {
    close_input();
    if (out_ >= 0) ::close(out_);
    if (pid_ < 0 || status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void child::say(std::string_view line) {
    std::string const text = std::string(line) + '\n';
    for (std::size_t done = 0; done < text.size();) {
        ssize_t const n = ::write(in_, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) fail(errno, "write to a child");
        if (n > 0) done += static_cast<std::size_t>(n);
    }
}

void child::close_input() {
    if (in_ >= 0) ::close(std::exchange(in_, -1));
}

bool child::fill(clock::time_point deadline) {
    while (true) {
        auto const left = std::chrono::duration_cast<milliseconds>(deadline - clock::now()).count();
        if (left < 0) return false;
        pollfd p{out_, POLLIN, 0};
        int const ready = ::poll(&p, 1, static_cast<int>(left) + 1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) continue;
        std::array<char, 65536> bytes{};
        ssize_t const n = ::read(out_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        buffer_.append(bytes.data(), static_cast<std::size_t>(n));
        return true;
    }
}

std::optional<std::string> child::line(milliseconds within) {
    auto const deadline = clock::now() + within;
    std::size_t looked = 0;
    while (true) {
        std::size_t const end = buffer_.find('\n', looked);
        if (end != std::string::npos) {
            std::string result = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return result;
        }
        looked = buffer_.size();
        if (!fill(deadline)) return std::nullopt;
    }
}

std::vector<std::string> child::rest(milliseconds within) {
    auto const deadline = clock::now() + within;
    while (fill(deadline)) continue;
    std::vector<std::string> result;
    std::size_t begin = 0;
    for (std::size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1)
        result.push_back(buffer_.substr(begin, end - begin));
    buffer_.erase(0, begin);
    return result;
}

void child::expect(std::string_view wanted) {
    std::string seen;
    while (auto const got = line()) {
        if (*got == wanted) return;
        seen += *got + '\n';
    }
    throw std::runtime_error("a child did not say \"" + std::string(wanted) + "\" but:\n" + seen);
}

void child::signal(int number) const { ::kill(pid_, number); }

void child::freeze() const {
    signal(SIGSTOP);
    int raw = 0;
    ::waitpid(pid_, &raw, WUNTRACED);
    if (!WIFSTOPPED(raw)) throw std::runtime_error("a child ended instead of stopping");
}

void child::thaw() const { signal(SIGCONT); }

std::optional<int> child::wait(milliseconds within) {
    int raw = 0;
    if (!status_ && poll_until([&] { return ::waitpid(pid_, &raw, WNOHANG) == pid_; }, within))
        status_ = status_of(raw);
    return status_;
}

child peer(std::vector<std::string> const& arguments, std::vector<std::string> const& environment) {
    std::vector<std::string> command{GANDER_TEST_PEER};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return child(command, environment);
}

foreign_writer::foreign_writer(std::string const& path, kind what)
    : child_(what == kind::python ? child({GANDER_TEST_PYTHON, "-u", GANDER_TEST_SQL_PY, path})
                                  : peer({"sql", path})) {
    child_.expect("ready");
}

std::string foreign_writer::run(std::string_view sql) {
    child_.say(sql);
    auto const answer = child_.line();
    if (!answer || !answer->starts_with("ok "))
        throw std::runtime_error(std::string(sql) + ": " + answer.value_or("no answer"));
    return answer->substr(3);
}

child python(std::string const& script, std::vector<std::string> const& arguments) {
    std::vector<std::string> command{GANDER_TEST_PYTHON, "-u", "-c", script};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return child(command);
}

}  // namespace gander::test

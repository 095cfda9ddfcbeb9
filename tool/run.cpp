#include "tool/run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tool/error.hpp"

namespace mpixrma::tool {

namespace {

constexpr int exit_not_started = 127;

struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("no pipe: ") + std::strerror(errno));
  return {ends[0], ends[1]};
}

/// Writes the error number to `failure` if the program cannot be executed.
[[noreturn]] void become(std::vector<std::string> const& command,
                         std::map<std::string, std::string> const& changes, int failure) {
  std::vector<char*> arguments;
  for (std::string const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (auto const& [name, value] : changes) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(arguments[0], arguments.data());
  int const error = errno;
  [[maybe_unused]] ssize_t const written = ::write(failure, &error, sizeof error);
  ::_exit(exit_not_started);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    ssize_t const bytes = ::read(descriptor, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Output run(std::vector<std::string> const& command, std::map<std::string, std::string> const& changes) {
  Pipe const text = make_pipe();
  Pipe const failure = make_pipe();
  pid_t const child = ::fork();
  if (child < 0) throw Error(std::string("no process: ") + std::strerror(errno));
  if (child == 0) {
    ::dup2(text.write_end, STDOUT_FILENO);
    become(command, changes, failure.write_end);
  }
  ::close(text.write_end);
  ::close(failure.write_end);
  Output output;
  output.text = read_all(text.read_end);
  ::close(text.read_end);
  std::string const error = read_all(failure.read_end);
  ::close(failure.read_end);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (int number = 0; error.size() == sizeof number) {
    std::memcpy(&number, error.data(), sizeof number);
    throw Error(command.front() + " cannot be executed: " + std::strerror(number));
  }
  return output;
}

}  // namespace mpixrma::tool

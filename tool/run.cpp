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

constexpr int exit_not_found = 127;

[[noreturn]] void become(std::vector<std::string> const& command,
                         std::map<std::string, std::string> const& changes) {
  std::vector<char*> arguments;
  for (std::string const& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (auto const& [name, value] : changes) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(arguments[0], arguments.data());
  ::_exit(exit_not_found);
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
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("no pipe: ") + std::strerror(errno));
  pid_t const child = ::fork();
  if (child < 0) throw Error(std::string("no process: ") + std::strerror(errno));
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    become(command, changes);
  }
  ::close(ends[1]);
  Output output;
  output.text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (output.status == exit_not_found) throw Error(command.front() + " was not found, or cannot be executed");
  return output;
}

}  // namespace mpixrma::tool

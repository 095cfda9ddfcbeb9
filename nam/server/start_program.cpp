#include "nam/server/start_program.hpp"

#include <spawn.h>

#include <csignal>
#include <cstring>

#include "nam/protocol/error.hpp"

extern char** environ;

namespace mpixrma::nam {

pid_t start_program(std::vector<std::string> words, engine::FileDescriptor const& socket) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A descriptor that is duplicated to itself is inherited.
  posix_spawn_file_actions_adddup2(&actions, socket.get(), socket.get());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  int const error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw Error(ErrorCode::unavailable, std::string("cannot start a process: ") + std::strerror(error));
  return pid;
}

}  // namespace mpixrma::nam

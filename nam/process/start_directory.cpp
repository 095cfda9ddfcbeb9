#include "nam/process/start_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace mpixrma::nam {

namespace {

int start_directory = -1;
char* hidden_home = nullptr;  ///< entry of the environment

bool is_of_another_user(char const* directory) noexcept {
  struct stat status {};
  return ::stat(directory, &status) == 0 && status.st_uid != 0 && status.st_uid != ::geteuid();
}

/// Runs before the constructors of all libraries.
void leave_start_directory(int, char**, char** environment) noexcept {
  constexpr char const* name = "HOME=";
  // If it cannot be opened, no file of it can be read either.
  start_directory = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (start_directory >= 0) (void)!::chdir("/");
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, std::strlen(name)) != 0 || !is_of_another_user(*entry + std::strlen(name)))
      continue;
    hidden_home = *entry;
    *hidden_home = '_';
    return;
  }
}

[[gnu::section(".preinit_array"), gnu::used]] void (*before_libraries)(int, char**,
                                                                       char**) = leave_start_directory;

}  // namespace

void return_to_start_directory() noexcept {
  if (start_directory >= 0) {
    (void)!::fchdir(start_directory);
    ::close(start_directory);
  }
  if (hidden_home != nullptr) *hidden_home = 'H';
}

}  // namespace mpixrma::nam

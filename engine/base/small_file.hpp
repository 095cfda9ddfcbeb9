/// Reads small files, such as those in which the kernel describes the host. The C++ library's streams and
/// directory iterators would take most of the time in which an engine starts.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace mpixrma::engine {

/// Returns up to `most` bytes of the beginning of a file; "" if it cannot be read.
inline std::string read_small_file(char const* path, std::size_t most = 4096) {
  std::string text(most, '\0');  // before open(), because it may throw
  std::size_t got = 0;
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  while (file >= 0 && got < most) {
    ssize_t const bytes = ::read(file, text.data() + got, most - got);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    got += static_cast<std::size_t>(bytes);
  }
  if (file >= 0) ::close(file);
  text.resize(got);
  return text;
}

}  // namespace mpixrma::engine

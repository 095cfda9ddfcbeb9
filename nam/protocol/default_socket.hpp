/// The default socket at which a server of this user listens and a client connects.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mpixrma::nam {

inline std::string default_socket() {
  if (::geteuid() == 0) return "/run/mpix-nam/socket";
  char const* const run = std::getenv("XDG_RUNTIME_DIR");
  return run != nullptr ? std::string(run) + "/mpix-nam/socket"
                        : "/tmp/mpix-nam-" + std::to_string(::geteuid()) + "/socket";
}

}  // namespace mpixrma::nam

/// Files of a test for a client over TCP: this process's secret at a server, and its pinned keys.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "nam/protocol/user_secret.hpp"
#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {

/// This process uses these files for the lifetime of the object.
class ClientFiles {
 public:
  explicit ClientFiles(TestServer const& server)
      : secret(server.directory() / "client" / "secret"),
        pins(server.directory() / "client" / "known_servers") {
    ::setenv("MPIX_NAM_SECRET_FILE", secret.c_str(), 1);
    write_secret(secret, secret_from_hex(server.ask({{"op", "secret"}}).at("secret").get<std::string>()));
  }
  ~ClientFiles() { ::unsetenv("MPIX_NAM_SECRET_FILE"); }
  ClientFiles(ClientFiles const&) = delete;
  ClientFiles& operator=(ClientFiles const&) = delete;

  std::filesystem::path const secret;
  std::filesystem::path const pins;
};

}  // namespace mpixrma::nam

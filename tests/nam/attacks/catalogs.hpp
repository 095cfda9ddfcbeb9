/// A server whose catalog is attacked.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {

class Catalogs : public ::testing::Test {
 protected:
  std::filesystem::path catalog() const { return server_.state / "catalog.sqlite"; }
  bool runs() {
    int status = 0;
    return ::waitpid(server_.pid(), &status, WNOHANG) == 0;
  }
  bool is_listed(Locator const& grant) const {
    Json const grants = server_.ask({{"op", "list"}}).at("grants");
    return std::any_of(grants.begin(), grants.end(),
                       [&](Json const& each) { return each.at("grant") == grant.grant; });
  }
  std::string log() const {
    std::ifstream file(server_.directory() / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Returns the exit code of mpix-nam check.
  int check(std::string const& more) const {
    std::string const command =
        MPIX_NAM_TOOL " check --directory " + server_.state.string() + " " + more + " 2>&1";
    int const status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TestServer server_;
};

}  // namespace mpixrma::nam

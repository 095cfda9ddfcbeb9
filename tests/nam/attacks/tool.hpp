/// Runs mpix-nam, as users do, at the server of a test.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {

struct ToolRun {
  int exit_code = -1;
  std::string output;  ///< of stdout and stderr
};

/// Runs mpix-nam, without a terminal.
inline ToolRun run_tool(std::string const& arguments) {
  std::string const line = MPIX_NAM_TOOL " " + arguments + " < /dev/null 2>&1";
  ToolRun run;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
  std::array<char, 4096> piece{};
  while (std::size_t const got = std::fread(piece.data(), 1, piece.size(), pipe.get()))
    run.output.append(piece.data(), got);
  int const status = ::pclose(pipe.release());
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}
/// Runs mpix-nam for `server`.
inline ToolRun run_tool(TestServer const& server, std::string const& arguments) {
  return run_tool("--server " + server.address().unix_path + " " + arguments);
}

}  // namespace mpixrma::nam

/// mpix-namd: the control process, and with --data-process what it starts for each grant.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include "nam/data/data_process.hpp"
#include "nam/server/control_server.hpp"
#include "nam/server/exit_codes.hpp"
#include "nam/server/log.hpp"

namespace mpix::nam {

namespace {

int run_data_process(char const* descriptor, std::string const& grant) {
  open_log("mpix-namd/" + grant.substr(0, 8), "info", "");
  return DataProcess(FileDescriptor(std::atoi(descriptor))).run();
}

int exit_code_of(Error const& error) {
  switch (error.code()) {
    case ErrorCode::bad_request: return exit_usage;
    case ErrorCode::exists: return exit_taken;
    case ErrorCode::damaged:
    case ErrorCode::internal: return exit_damaged;
    default: return exit_failure;
  }
}

int run_control(int argc, char** argv) {
  int exit_code = exit_ok;
  auto const options = read_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  auto const reread = [=] {
    int ignored = 0;
    return read_options(argc, argv, &ignored);
  };
  try {
    open_log("mpix-namd", options->log_level, options->log_file);
    int const code = ControlServer(*options, reread).run();
    std::error_code ignored;
    if (options->temporary) std::filesystem::remove_all(options->directory, ignored);
    return code;
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    if (error.code() == ErrorCode::damaged)
      std::fprintf(
          stderr,
          "mpix-namd: 'mpix-nam check --directory %s' says what is wrong, and with --repair mends it\n",
          options->directory.c_str());
    return exit_code_of(error);
  }
}

}  // namespace

}  // namespace mpix::nam

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::strcmp(argv[1], "--data-process") == 0)
      return mpix::nam::run_data_process(argv[2], argv[3]);
    return mpix::nam::run_control(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    return mpix::nam::exit_failure;
  }
}

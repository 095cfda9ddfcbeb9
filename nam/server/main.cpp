/// mpix-namd: the main process, which starts this program again as the control process and, for each grant,
/// as a data process.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include "nam/data/data_process.hpp"
#include "nam/process/log.hpp"
#include "nam/process/sandbox.hpp"
#include "nam/process/start_directory.hpp"
#include "nam/server/control_server.hpp"
#include "nam/server/exit_codes.hpp"
#include "nam/server/main_process.hpp"

namespace mpixrma::nam {

namespace {

/// `name` identifies the process in the log. `user`: a number, or "-" for the user of the server.
int run_data_process(char const* descriptor, std::string const& name, std::string const& user) {
  bool const has_own_user = user != "-";
  if (has_own_user) {
    auto const uid = static_cast<uid_t>(std::stoul(user));
    become({uid, static_cast<gid_t>(uid), ""});
  }
  drop_privileges();
  confine_data_process(has_own_user ? DataProcessUser::own : DataProcessUser::of_server);
  open_log("mpix-namd/" + name, "info", "");
  return DataProcess(FileDescriptor(std::atoi(descriptor))).run();
}

int exit_code_of(Error const& error) {
  switch (error.code()) {
    case ErrorCode::bad_request: return exit_usage;
    case ErrorCode::exists: return exit_taken;
    case ErrorCode::damaged: return exit_damaged;
    default: return exit_failure;
  }
}

/// Keeps only the rights that the control process needs: for files, and for ports below 1024.
void confine_control(Options const& options) {
  if (options.user && options.user->uid != ::geteuid()) become(*options.user);
  // The control process ends with the main process, so that the next server finds the directory free.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::geteuid() != 0) return drop_privileges();
  std::vector<int> const kept{CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_NET_BIND_SERVICE};
  keep_capabilities(kept, kept);
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/// `descriptor` is the connection to the main process; `argv` has neither --control-process nor the
/// descriptor.
int run_control(int descriptor, int argc, char** argv) {
  int exit_code = exit_ok;
  auto const options = read_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  auto const reread = [=] {
    int ignored = 0;
    return read_options(argc, argv, &ignored);
  };
  try {
    confine_control(*options);
    open_log("mpix-namd", options->log_level, options->log_file);
    MainProcessLink main_process{FileDescriptor(descriptor)};
    return ControlServer(*options, reread, main_process).run();
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    if (error.code() == ErrorCode::damaged)
      std::fprintf(
          stderr,
          "mpix-namd: 'mpix-nam check --directory %s' reports the damage, and with --repair repairs it\n",
          options->directory.c_str());
    return exit_code_of(error);
  }
}

int run_main(int argc, char** argv) {
  int exit_code = exit_ok;
  auto const options = read_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  try {
    // The log file belongs to the control process, which may run as another user.
    open_log("mpix-namd", options->log_level, options->user ? "" : options->log_file);
    int const code = MainProcess(*options, {argv + 1, argv + argc}).run();
    std::error_code ignored;
    if (options->temporary) std::filesystem::remove_all(options->directory, ignored);
    return code;
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    return exit_code_of(error);
  }
}

}  // namespace

}  // namespace mpixrma::nam

int main(int argc, char** argv) {
  mpixrma::nam::return_to_start_directory();
  // Nobody else writes what the server makes, whatever mask it was started with.
  (void)::umask(S_IWGRP | S_IRWXO);
  try {
    if (argc == 5 && std::strcmp(argv[1], "--data-process") == 0)
      return mpixrma::nam::run_data_process(argv[2], argv[3], argv[4]);
    if (argc >= 3 && std::strcmp(argv[1], "--control-process") == 0) {
      int const descriptor = std::atoi(argv[2]);
      argv[2] = argv[0];
      return mpixrma::nam::run_control(descriptor, argc - 2, argv + 2);
    }
    return mpixrma::nam::run_main(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    return mpixrma::nam::exit_failure;
  }
}

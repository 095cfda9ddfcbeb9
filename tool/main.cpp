/// mpix-rma: shows an installation and the machine, and sets the environment for it.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "tool/environment.hpp"
#include "tool/error.hpp"
#include "tool/installation.hpp"

namespace mpix::tool {

namespace {

void add_environment(CLI::App& app) {
  static Shell shell = Shell::posix;
  static bool systemd = false;
  CLI::App* const sub =
      app.add_subcommand("env", "Prints commands that set the environment for this installation");
  std::map<std::string, Shell> const shells{{"sh", Shell::posix}, {"csh", Shell::csh}, {"fish", Shell::fish}};
  sub->add_option("--shell", shell, "Whose commands: sh (default; bash, zsh, dash, ksh), csh or fish")
      ->transform(CLI::CheckedTransformer(shells));
  sub->add_flag("--systemd", systemd, "Print the memory server's systemd unit for this prefix instead");
  sub->callback([] {
    Installation const installation = Installation::of_this_command();
    systemd ? print_unit(installation) : print_environment(installation, shell);
  });
}

int run_command(int argc, char** argv) {
  CLI::App app("Shows an MPIX-RMA installation and this machine, and what a running process waits for.",
               "mpix-rma");
  app.set_version_flag("--version", std::string("mpix-rma " MPIX_VERSION));
  app.footer("Exit codes: 0 done, 1 failure, 2 wrong usage.");
  app.require_subcommand(1);
  add_environment(app);
  try {
    app.parse(argc, argv);
    return exit_ok;
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
}

}  // namespace

}  // namespace mpix::tool

int main(int argc, char** argv) {
  try {
    return mpix::tool::run_command(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mpix-rma: %s\n", error.what());
    return mpix::tool::exit_failure;
  }
}

/// mpix-rma: shows an installation, the machine, running processes and traces, and sets the environment.
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <system_error>

#include "tool/check.hpp"
#include "tool/copies.hpp"
#include "tool/environment.hpp"
#include "tool/error.hpp"
#include "tool/info.hpp"
#include "tool/installation.hpp"
#include "tool/process.hpp"
#include "tool/timeline.hpp"

namespace mpixrma::tool {

namespace {

constexpr char const* shell_names = "sh, bash, dash, ksh, zsh, csh, tcsh, fish";

/// Throws an error of one line for other text than the name of a shell.
Shell shell_of(std::string const& name) {
  static std::map<std::string, Shell> const shells{
      {"sh", Shell::posix},  {"bash", Shell::posix}, {"dash", Shell::posix}, {"ksh", Shell::posix},
      {"zsh", Shell::posix}, {"csh", Shell::csh},    {"tcsh", Shell::csh},   {"fish", Shell::fish}};
  auto const found = shells.find(name);
  if (found == shells.end())
    throw CLI::ValidationError("--shell", "\"" + name + "\" is none of " + shell_names);
  return found->second;
}

/// Throws an error of one line for other text than a positive number.
int process_of(std::string const& text) {
  int pid = 0;
  char const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, pid);
  if (error != std::errc{} || rest != end || pid <= 0)
    throw CLI::ValidationError("pid", "\"" + text + "\" is not a process id");
  return pid;
}

void add_environment(CLI::App& app) {
  static Shell shell = Shell::posix;
  static bool systemd = false;
  CLI::App* const sub =
      app.add_subcommand("env", "Prints commands that set the environment for this installation");
  sub->add_option_function<std::string>(
         "--shell", [](std::string const& name) { shell = shell_of(name); },
         std::string("Syntax of the commands, sh by default: ") + shell_names)
      ->type_name("SHELL");
  sub->add_flag("--systemd", systemd, "Print the memory server's systemd unit for this prefix instead");
  sub->callback([] {
    Installation const installation = Installation::of_this_command();
    systemd ? print_unit(installation) : print_environment(installation, shell);
  });
}

void add_inspection_commands(CLI::App& app, int& status) {
  static int pid = 0;
  app.add_subcommand(
         "info", "Shows versions, the protocols that this machine permits, and why it does not permit others")
      ->callback([&status] { status = show_info(Installation::of_this_command()) ? exit_ok : exit_failure; });
  CLI::App* sub = app.add_subcommand(
      "check",
      "Runs a program, and shows which component its windows use, and the protocols of their operations");
  sub->footer(
      "mpix-rma check PROGRAM [ARGUMENT...]: by mpirun, with two processes\n"
      "mpix-rma check mpirun [OPTION...] PROGRAM [ARGUMENT...]");
  sub->prefix_command();
  sub->callback([sub, &status] {
    if (sub->remaining().empty()) throw CLI::RequiredError("PROGRAM");
    status = check_program(Installation::of_this_command(), sub->remaining());
  });
  app.add_subcommand("tune",
                     "Measures how this host copies memory fastest, and keeps it for all jobs of the user")
      ->callback([&status] { status = tune_copies() ? exit_ok : exit_failure; });
  sub = app.add_subcommand("ps", "Shows what a running process, which may hang, waits for");
  sub->add_option_function<std::string>(
         "pid", [](std::string const& text) { pid = process_of(text); }, "Its process id")
      ->required()
      ->type_name("PID");
  sub->callback([] { show_process(pid); });
}

void add_timeline(CLI::App& app, int& status) {
  static std::string trace;
  static std::string page = "timeline.html";
  CLI::App* const sub = app.add_subcommand("timeline", "Draws a trace of MPIX_RMA_TRACE as one page");
  sub->add_option("directory", trace, "Directory of the trace")->required()->check(CLI::ExistingDirectory);
  sub->add_option("-o,--output", page, "File of the page (timeline.html)");
  sub->callback([&status] { status = draw_timeline(Installation::of_this_command(), trace, page); });
}

int run_command(int argc, char** argv) {
  CLI::App app("Shows an MPIX-RMA installation and this machine, and what a running process waits for.",
               "mpix-rma");
  app.set_version_flag("--version", std::string("mpix-rma " MPIX_VERSION));
  app.footer("Exit codes: 0 done, 1 failure, 2 wrong usage.");
  app.require_subcommand(1);
  int status = exit_ok;
  add_inspection_commands(app, status);
  add_timeline(app, status);
  add_environment(app);
  try {
    app.parse(argc, argv);
    return status;
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
}

}  // namespace

}  // namespace mpixrma::tool

int main(int argc, char** argv) {
  try {
    return mpixrma::tool::run_command(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mpix-rma: %s\n", error.what());
    return mpixrma::tool::exit_failure;
  }
}

/// mpix-nam: the command for administrators and users of a memory server.
#include <CLI/CLI.hpp>

#include "nam/client/follow.hpp"
#include "nam/process/start_directory.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/server_key.hpp"
#include "nam/protocol/text.hpp"
#include "nam/server/exit_codes.hpp"
#include "nam/server/options.hpp"
#include "nam/tool/commands.hpp"

namespace mpixrma::nam {

namespace {

using Command = void (*)(Arguments const&);

constexpr char const* grant_help = "Locator, comma-separated locators, or grant number";

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request: return exit_usage;
    case ErrorCode::unavailable: return exit_unreachable;
    case ErrorCode::not_found: return exit_not_found;
    case ErrorCode::denied: return exit_denied;
    case ErrorCode::exists: return exit_taken;
    case ErrorCode::damaged: return exit_damaged;
    default: return exit_failure;
  }
}

CLI::App* add(CLI::App& app, char const* name, char const* help, Command command, Command* chosen) {
  CLI::App* const sub = app.add_subcommand(name, help);
  sub->callback([=] { *chosen = command; });
  return sub;
}

/// Refuses an empty text, which a script has if a variable is not set: it would count as no option.
void need_text(CLI::Option* option) {
  option->check(
      [](std::string const& text) { return text.empty() ? std::string("is empty") : std::string(); });
}

void add_dry_run(CLI::App* sub, Arguments& arguments) {
  sub->add_flag("--dry-run", arguments.dry_run, "Report the effect without changing anything");
}

void add_grants(CLI::App& app, Arguments& arguments, Command* chosen) {
  CLI::App* sub =
      add(app, "grant", "Grants memory; prints the locator for MPIX_NAM_ALLOCATION", grant, chosen);
  sub->add_option("size,--size", arguments.size, "As in 512M or 1G")->required();
  need_text(sub->add_option("--owner", arguments.owner, "User who may allocate in it; default: the caller"));
  need_text(sub->add_option("--expires", arguments.expires,
                            "Lifetime, as in 90s, 15m, 2h or 7d; default: unlimited"));
  sub = add(app, "revoke", "Ends a grant, and frees its memory", revoke, chosen);
  sub->add_option("grant", arguments.target, grant_help)->required();
  add_dry_run(sub, arguments);
  sub = add(app, "extend", "Sets the remaining lifetime of a grant", extend, chosen);
  sub->add_option("grant", arguments.target, grant_help)->required();
  need_text(sub->add_option("--expires", arguments.expires, "As in 2h; \"never\"")->required());
  sub = add(app, "repair-grant", "Makes a grant ready whose storage file was missing or damaged",
            repair_grant, chosen);
  sub->add_option("grant", arguments.target, grant_help)->required();
  sub->add_flag("--new-file", arguments.new_file, "Replace the file; windows stored only in it are lost");
  add(app, "list", "Shows grants", list, chosen);
  sub = add(app, "show", "Shows a grant and its persistent windows", show, chosen);
  sub->add_option("grant", arguments.target, grant_help)->required();
  add(app, "usage", "Shows how much is granted and used", usage, chosen);
}

void add_windows(CLI::App& app, Arguments& arguments, Command* chosen) {
  constexpr char const* user_help = "User who has published it; default: the caller";
  CLI::App* sub = add(app, "names", "Shows the names that you have published", names, chosen);
  sub->add_option("--user", arguments.user, "User whose names are shown");
  sub->add_flag("--all", arguments.all, "Names of all users, of windows that you may use");
  sub = add(app, "publish", "Publishes a port name", publish, chosen);
  sub->add_option("name", arguments.target, "Name")->required();
  sub->add_option("port", arguments.port, "Port name of a persistent window")->required();
  sub = add(app, "lookup", "Prints the port name that is published under a name", lookup, chosen);
  sub->add_option("name", arguments.target, "Name, or '~USER/NAME'")->required();
  sub->add_option("--user", arguments.user, user_help);
  sub = add(app, "unpublish", "Removes a published name", unpublish, chosen);
  sub->add_option("name", arguments.target, "Name, or '~USER/NAME'")->required();
  sub->add_option("--user", arguments.user, user_help);
  add_dry_run(sub, arguments);
  sub =
      add(app, "evict", "Frees a persistent window, and waits for the processes that map it", evict, chosen);
  sub->add_option("port", arguments.target, "Its port name")->required();
  CLI::Option* const end = sub->add_flag("--end-processes", arguments.end_processes,
                                         "End these processes: SIGTERM, and SIGKILL after --grace");
  sub->add_option("--grace", arguments.grace, "Time between SIGTERM and SIGKILL")->capture_default_str();
  sub->add_flag("--no-wait", arguments.no_wait, "Return at once; the memory is freed when the processes end")
      ->excludes(end);
  add_dry_run(sub, arguments);
  sub = add(app, "chmod", "Sets who may read and write a persistent window", chmod, chosen);
  sub->add_option("mode", arguments.mode,
                  "Octal, as in 0644: read (4) and write (2) for owner, group and others")
      ->required();
  sub->add_option("port", arguments.target, "Its port name")->required();
  sub = add(app, "backup", "Saves a persistent window in a file", backup, chosen);
  sub->add_option("port", arguments.target, "Its port name")->required();
  sub->add_option("file", arguments.file, "File")->required();
  sub =
      add(app, "restore", "Makes a new persistent window from a file; prints its port name", restore, chosen);
  sub->add_option("grant", arguments.target, grant_help)->required();
  sub->add_option("file", arguments.file, "File")->required()->check(CLI::ExistingFile);
  add_dry_run(sub, arguments);
}

void add_upkeep(CLI::App& app, Arguments& arguments, Command* chosen) {
  add(app, "secret",
      "Stores this user's secret where clients on other hosts look for it, and pins the server's key", secret,
      chosen);
  CLI::App* sub = add(app, "trust", "Pins the key of a server on another host", trust, chosen);
  sub->add_option("server", arguments.target, "HOST:PORT")->required();
  sub->add_option("key", arguments.key, "Its key; without it, the tool asks at the terminal");
  sub = add(app, "rotate-key", "Gives the server a new key; prints it", rotate_key, chosen);
  sub->add_option("--overlap", arguments.overlap, "How long the previous key is accepted too")
      ->capture_default_str();
  sub = add(app, "check", "Checks the catalog of a server that is not running", check, chosen);
  arguments.directory = default_directory();
  sub->add_option("--directory", arguments.directory, "Directory of the server")->capture_default_str();
  sub->add_flag("--repair", arguments.repair, "Keep the readable entries and report the lost ones");
  add_dry_run(sub, arguments);
}

/// Returns the arguments in the order that CLI11 expects: last one first. A server's key may begin with '-'
/// but is not an option.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> texts;
  for (int i = argc - 1; i > 0; --i) {
    std::string text = argv[i];
    bool const is_key = text.starts_with('-') && key_from_text(text);
    texts.push_back(is_key ? "key=" + text : std::move(text));
  }
  return texts;
}

int run(int argc, char** argv) {
  Arguments arguments;
  Command chosen = nullptr;
  CLI::App app("Grants memory of a memory server, and shows and manages grants and windows.", "mpix-nam");
  app.set_version_flag("--version", std::string("mpix-nam " MPIX_VERSION));
  app.footer(
      "Exit codes: 0 done, 1 failure, 2 wrong usage, 3 the name or the directory is taken, 4 the catalog is\n"
      "damaged, 5 no server answers, 6 not found, 7 not permitted. The server: --server,\n"
      "else that of a locator or port name in the arguments, else MPIX_NAM_SERVER, else that of\n"
      "MPIX_NAM_ALLOCATION, else this user's own.");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", arguments.json, "Print JSON");
  app.add_option("--server", arguments.server, "Path of its socket, or HOST:PORT");
  app.add_flag("--follow", arguments.follow, "Connect also to servers that only the owner of a window names");
  app.add_option("--wait", arguments.wait_seconds, "Seconds to wait for a server that is being started");
  add_grants(app, arguments, &chosen);
  add_windows(app, arguments, &chosen);
  add_upkeep(app, arguments, &chosen);
  try {
    app.parse(arguments_of(argc, argv));
    use_terminal_for_keys();
    if (arguments.follow) consent_to_follow();
    if (arguments.wait_seconds > 0) await_server(arguments);
    chosen(arguments);
    return exit_ok;
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-nam: %s\n", printable(error.what()).c_str());
    return exit_code_of(error.code());
  }
}

}  // namespace

}  // namespace mpixrma::nam

int main(int argc, char** argv) {
  mpixrma::nam::return_to_start_directory();
  try {
    return mpixrma::nam::run(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mpix-nam: %s\n", error.what());
    return mpixrma::nam::exit_failure;
  }
}

#include "nam/server/options.hpp"

#include <arpa/inet.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "nam/process/identity.hpp"
#include "nam/protocol/default_socket.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/exit_codes.hpp"

namespace mpixrma::nam {

namespace {

/// Values as they were written.
struct RawOptions {
  std::string capacity;
  std::string storage = "memory";
  std::string remote_keys = "never";
  std::string self_service = "0";
  std::string user_capacity = "0";
  std::string user;
  std::string data_users = "1879050000+10000";
  std::string metadata = "16M";
  std::string expiry_grace = "10m";
  std::vector<std::string> admins;
};

void add_users(CLI::App& app, RawOptions& texts) {
  app.add_option("--user", texts.user, "User of the control process; default: the one that starts the server")
      ->envname("MPIX_NAMD_USER");
  app.add_option(
         "--data-uids", texts.data_users,
         "FIRST+COUNT: users of data processes, one for each grant, that nobody else has; \"none\" for "
         "the server's own user. Needs root, or CAP_SETUID, CAP_SETGID and CAP_KILL")
      ->envname("MPIX_NAMD_DATA_UIDS")
      ->capture_default_str();
}

void add_places(CLI::App& app, Options& options) {
  app.add_option("--directory", options.directory, "Where the catalog and what belongs to it stand")
      ->envname("MPIX_NAMD_DIRECTORY")
      ->capture_default_str();
  app.add_option("--socket", options.socket, "Absolute path of the Unix socket")
      ->envname("MPIX_NAMD_SOCKET")
      ->capture_default_str();
  app.add_option("--listen", options.listen,
                 "HOST:PORT of TCP, also [IPV6]:PORT; several are possible, \"none\" for no TCP")
      ->envname("MPIX_NAMD_LISTEN")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--advertise", options.advertise, "Host name by which others reach this one")
      ->envname("MPIX_NAMD_ADVERTISE");
  app.add_option(
         "--interfaces", options.interfaces,
         "Network interfaces, or IPv4 subnets as in 10.1.0.0/16, by which clients on other hosts reach the "
         "memory of windows; unless given, they do not")
      ->envname("MPIX_NAMD_INTERFACES");
  app.add_option("--storage-directory", options.storage_directory,
                 "Where the files of grants stand; default: in the directory")
      ->envname("MPIX_NAMD_STORAGE_DIRECTORY");
  app.add_option("--log-file", options.log_file, "Where log lines go; default: stderr")
      ->envname("MPIX_NAMD_LOG_FILE");
  app.add_option(
         "--audit-log", options.audit_log,
         "File of lines about requests that were denied and about administrative ones; default: the log")
      ->envname("MPIX_NAMD_AUDIT_LOG");
  app.add_flag("--watch-stdin", options.watch_stdin, "End when standard input ends");
  app.add_flag("--temporary", options.temporary,
               "Remove the directory when the server ends, which is not started again");
}

void add_limits(CLI::App& app, Options& options, RawOptions& texts) {
  app.add_option("--size", texts.capacity, "Memory for all grants, as in 512M or 1G")
      ->envname("MPIX_NAMD_SIZE")
      ->required();
  app.add_option("--storage", texts.storage, "What grants are made of: memory, huge (pages), or file")
      ->envname("MPIX_NAMD_STORAGE")
      ->capture_default_str();
  app.add_option("--rdma", texts.remote_keys,
                 "Whether clients on other hosts put and get by UCX, past the server's checks: never, auto "
                 "(where network hardware does it), warn (likewise, with a line in the log where none does), "
                 "or emulated (also where UCX emulates it, for tests)")
      ->envname("MPIX_NAMD_RDMA")
      ->capture_default_str();
  app.add_flag("--encrypt", options.encrypt,
               "Encrypt data between clients on other hosts and the memory of windows. Not with --rdma")
      ->envname("MPIX_NAMD_ENCRYPT");
  app.add_option("--admins", texts.admins,
                 "Users who may do everything, besides root and the server's own user")
      ->envname("MPIX_NAMD_ADMINS")
      ->delimiter(',');
  app.add_option("--self-service", texts.self_service, "What users may grant to themselves; 0: nothing")
      ->envname("MPIX_NAMD_SELF_SERVICE")
      ->capture_default_str();
  app.add_option("--user-size", texts.user_capacity,
                 "Most that a user may be granted in all; 0: no such limit")
      ->envname("MPIX_NAMD_USER_SIZE")
      ->capture_default_str();
  app.add_option("--max-user-grants", options.max_user_grants,
                 "Grants that a user may make without an administrator")
      ->capture_default_str();
  app.add_flag(
      "--overcommit", options.overcommit,
      "Grant memory that the machine may not have when it is used; else grants take all of it at once");
  app.add_option("--max-windows", options.max_windows, "Windows of a grant")->capture_default_str();
  app.add_option("--max-regions", options.max_regions, "Regions of all windows of a grant")
      ->capture_default_str();
  app.add_option("--max-metadata", texts.metadata, "Bytes of the descriptions of a grant's windows and names")
      ->capture_default_str();
  app.add_option("--max-sessions", options.max_sessions, "Sessions of a grant at a time")
      ->capture_default_str();
  app.add_option("--lease", options.lease,
                 "Seconds after which a session over TCP ends whose client is not heard of")
      ->check(CLI::Range(3u, 86400u))
      ->capture_default_str();
  app.add_option("--max-connections", options.max_connections, "Connections to the control process at a time")
      ->capture_default_str();
  app.add_option(
         "--expiry-grace", texts.expiry_grace,
         "How long an expired grant is kept before it is deleted, as in 90s or 10m; counted anew when the "
         "server starts, and when the clock jumps")
      ->envname("MPIX_NAMD_EXPIRY_GRACE")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warning or error")
      ->envname("MPIX_NAMD_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
}

void set_defaults(Options& options) {
  options.directory = default_directory();
  options.socket = default_socket();
  options.listen = {"127.0.0.1:7726"};
  options.log_level = "info";
  options.max_user_grants = 16;
  options.max_windows = 20000;
  options.max_regions = 60000;
  options.max_sessions = 10000;
  options.lease = 30;
  options.max_connections = 4096;
}

void convert_users(RawOptions const& texts, CLI::App const& app, Options& options) {
  if (!texts.user.empty()) {
    passwd const* const known = ::getpwuid(parse_user(texts.user));
    if (known == nullptr) throw Error(ErrorCode::bad_request, "there is no user '" + texts.user + "'");
    options.user = ProcessUser{known->pw_uid, known->pw_gid, known->pw_name};
  }
  options.data_users_given = app.count("--data-uids") != 0;
  if (texts.data_users == "none") return;
  unsigned long first = 0;
  unsigned long count = 0;
  char rest = 0;
  if (std::sscanf(texts.data_users.c_str(), "%10lu+%10lu%c", &first, &count, &rest) != 2 || first == 0 ||
      count == 0 || first + count >= UINT32_MAX)
    throw Error(ErrorCode::bad_request, "--data-uids is FIRST+COUNT or none, not '" + texts.data_users + "'");
  options.first_data_user = static_cast<uid_t>(first);
  options.data_users = static_cast<std::uint32_t>(count);
}

bool is_subnet(std::string_view word, std::size_t slash) {
  constexpr unsigned most_bits = 32;
  in_addr ignored{};
  unsigned bits = 0;
  char const* const end = word.data() + word.size();
  auto const [last, error] = std::from_chars(word.data() + slash + 1, end, bits);
  return ::inet_pton(AF_INET, std::string(word.substr(0, slash)).c_str(), &ignored) == 1 &&
         error == std::errc{} && last == end && bits <= most_bits;
}

/// `rule` is as in engine::permitted_devices(), which takes each word that is no subnet for the name of an
/// interface. An interface may appear later.
void check_interfaces(std::string_view rule) {
  rule.remove_prefix(std::min(rule.find_first_not_of("+^"), rule.size()));
  while (!rule.empty()) {
    std::size_t const comma = std::min(rule.find(','), rule.size());
    std::string_view const word = rule.substr(0, comma);
    std::size_t const slash = word.find('/');
    if (slash != std::string_view::npos && !is_subnet(word, slash))
      throw Error(ErrorCode::bad_request,
                  "--interfaces takes names of interfaces, and IPv4 subnets as in "
                  "10.1.0.0/16, not '" +
                      std::string(word) + "'");
    rule.remove_prefix(std::min(comma + 1, rule.size()));
  }
}

/// Whether clients find the address in locators that contain it.
bool is_usable(Address const& address) {
  try {
    Locator const longest{std::string(32, '0'), std::string(32, '0'), address};
    return parse_locator(format(longest)) == longest;
  } catch (Error const&) {
    return false;
  }
}

void check_addresses(Options& options) {
  if (!is_usable({options.socket, "", 0}))
    throw Error(ErrorCode::bad_request,
                "--socket is an absolute path without '&', and short enough for port names, not '" +
                    options.socket + "'");
  if (!options.advertise.empty()) {
    auto const endpoint = parse_endpoint(options.advertise + ":1");
    if (!endpoint || !is_usable({"", endpoint->host, endpoint->port}))
      throw Error(ErrorCode::bad_request,
                  "--advertise is the name of a host, not '" + options.advertise + "'");
    options.advertise = endpoint->host;
  }
  check_interfaces(options.interfaces);
}

void convert(RawOptions const& texts, CLI::App const& app, Options& options) {
  convert_users(texts, app, options);
  check_addresses(options);
  options.capacity = parse_bytes(texts.capacity);
  options.storage = parse_storage(texts.storage);
  options.remote_keys = parse_remote_keys(texts.remote_keys);
  if (options.encrypt && options.remote_keys != RemoteKeys::never)
    throw Error(ErrorCode::bad_request,
                "--encrypt and --rdma exclude each other: UCX puts and gets without encryption");
  options.self_service = parse_bytes(texts.self_service);
  options.max_metadata = parse_bytes(texts.metadata);
  options.user_capacity = parse_bytes(texts.user_capacity);
  options.expiry_grace = static_cast<std::int64_t>(parse_seconds(texts.expiry_grace));
  for (std::string const& user : texts.admins) options.admins.push_back(parse_user(user));
  options.listen_given = app.count("--listen") != 0;
  if (options.listen == std::vector<std::string>{"none"}) options.listen.clear();
  if (options.storage_directory.empty()) options.storage_directory = options.directory / "memory";
  if (options.max_regions > 60000) throw Error(ErrorCode::bad_request, "--max-regions is at most 60000");
}

/// Returns the arguments in CLI11's order, the last one first. Adds the configuration file that the
/// environment names: up to version 2.2, CLI11 reads the environment too late for that, after the file.
std::vector<std::string> arguments_of(int argc, char const* const* argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  bool const is_given = std::any_of(arguments.begin(), arguments.end(), [](std::string const& argument) {
    return argument == "--config" || argument.starts_with("--config=");
  });
  char const* const file = std::getenv("MPIX_NAMD_CONFIG");
  if (!is_given && file != nullptr && *file != '\0') arguments.push_back(std::string("--config=") + file);
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

}  // namespace

char const* network_of(Options const& options) noexcept {
  if (options.interfaces.empty()) return "none";
  if (options.encrypt) return "encrypted";
  return options.remote_keys == RemoteKeys::never ? "unencrypted" : "rdma";
}

std::filesystem::path default_directory() {
  if (::geteuid() == 0) return "/var/lib/mpix-nam";
  char const* const state = std::getenv("XDG_STATE_HOME");
  char const* const home = std::getenv("HOME");
  if (state != nullptr) return std::filesystem::path(state) / "mpix-nam";
  return std::filesystem::path(home != nullptr ? home : "/tmp") / ".local/state/mpix-nam";
}

std::optional<Options> read_options(int argc, char const* const* argv, int* exit_code) {
  Options options;
  RawOptions texts;
  set_defaults(options);
  CLI::App app("Memory server: keeps memory for MPI windows that outlive the jobs that use them.",
               "mpix-namd");
  app.set_version_flag("--version", std::string("mpix-namd " MPIX_VERSION));
  app.set_config("--config", "", "TOML or INI file with options by their long names")
      ->envname("MPIX_NAMD_CONFIG");  // for the help text: see arguments_of()
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.footer(
      "Exit codes: 0 ended in order, 1 failure, 2 wrong usage or configuration, 3 a server uses the "
      "directory\n"
      "or the socket already, 4 the catalog is damaged. SIGTERM and SIGINT end the server, SIGHUP reads the\n"
      "configuration again: size, limits, administrators, log level. docs/nam.md has more.");
  add_places(app, options);
  add_users(app, texts);
  add_limits(app, options, texts);
  try {
    app.parse(arguments_of(argc, argv));
    convert(texts, app, options);
    return options;
  } catch (CLI::ParseError const& error) {
    *exit_code = app.exit(error) == 0 ? exit_ok : exit_usage;
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-namd: %s\n", error.what());
    *exit_code = exit_usage;
  }
  return std::nullopt;
}

}  // namespace mpixrma::nam

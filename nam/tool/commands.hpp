/// The commands of mpix-nam.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/locator.hpp"

namespace mpixrma::nam {

/// The command-line arguments.
struct Arguments {
  bool json = false;
  std::string server;
  double wait_seconds = 0;  ///< wait time for a server that is being started
  std::string target;       ///< a grant, a port or a name
  std::string port;
  std::string size;
  std::string owner;
  std::string user;  ///< user whose names are meant
  bool all = false;  ///< names of all users
  std::string expires;
  std::string key;
  bool follow = false;
  std::string overlap = "7d";  ///< how long the previous key is accepted
  std::filesystem::path file;
  std::filesystem::path directory;
  bool repair = false;
  bool new_file = false;
  bool dry_run = false;  ///< report the effect without changing anything
  bool no_wait = false;
  bool end_processes = false;
  std::string grace = "10s";  ///< from SIGTERM to SIGKILL
  std::string mode;           ///< octal
};

void grant(Arguments const& arguments);
void revoke(Arguments const& arguments);
void extend(Arguments const& arguments);
void list(Arguments const& arguments);
void show(Arguments const& arguments);
void names(Arguments const& arguments);
void publish(Arguments const& arguments);
void lookup(Arguments const& arguments);
void unpublish(Arguments const& arguments);
void evict(Arguments const& arguments);
void chmod(Arguments const& arguments);
void usage(Arguments const& arguments);
void secret(Arguments const& arguments);
void trust(Arguments const& arguments);
void rotate_key(Arguments const& arguments);
void backup(Arguments const& arguments);
void restore(Arguments const& arguments);
void repair_grant(Arguments const& arguments);
void check(Arguments const& arguments);

/// Makes later connections ask at the terminal, if any, about unknown servers.
void use_terminal_for_keys();
/// Returns the server's address: of --server, of a locator, or server_address(). Sets MPIX_NAM_SERVER to
/// --server.
Address address_of(Arguments const& arguments);
/// Returns when the server answers. Throws Error if the server does not answer within the time of the
/// arguments.
void await_server(Arguments const& arguments);
/// As parse_seconds(), for a time that servers accept. Throws Error(bad_request).
std::uint32_t seconds_of(std::string const& text);
/// Returns the grants of the arguments: locators separated by commas, or one grant number. Throws Error.
std::vector<Locator> grants_of(Arguments const& arguments);
/// The answer about the first part of a persistent window, and the locations of its parts.
struct PartsAnswer {
  struct Part {
    Locator where;
    uid_t grant_owner = 0;
  };
  Json first;
  std::vector<Part> parts;
};
/// Sends `request` about a persistent window, also to its parts in other grants of the same user. A part that
/// is gone is skipped. Throws Error, after a line on stderr for each other part that has rejected the
/// request.
PartsAnswer ask_for_parts(Address const& server, std::string const& port, Json request);
/// Ends a persistent window with all its parts. Throws Error as ask_for_parts().
void evict_window(Address const& server, std::string const& port);
/// Returns the request, or with --dry-run a request for its dry run.
Json or_dry_run(Arguments const& arguments, Json request);

/// Prints ASCII only, so that control characters in a text of another user do not reach the terminal.
void print_json(Json const& json);
std::string text_of(Json const& object, char const* name);
std::string bytes_of(Json const& object, char const* name);

}  // namespace mpixrma::nam

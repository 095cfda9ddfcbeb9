/// What mpix-nam does.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/locator.hpp"

namespace mpixrma::nam {

/// What its command line says.
struct Arguments {
  bool json = false;
  std::string server;
  double wait_seconds = 0;  ///< for a server that is being started
  std::string target;       ///< a grant, a port or a name
  std::string port;
  std::string size;
  std::string owner;
  std::string user;  ///< whose names
  bool all = false;  ///< everybody's names
  std::string expires;
  std::string key;
  bool follow = false;
  std::string overlap = "7d";  ///< of keys
  std::filesystem::path file;
  std::filesystem::path directory;
  bool repair = false;
  bool new_file = false;
  bool dry_run = false;  ///< say what would go, and change nothing
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

/// From here on whoever sits at the terminal, if there is one, is asked about servers that are not known.
void use_terminal_for_keys();
/// Where the arguments say that the server is.
Address address_of(Arguments const& arguments);
/// Returns when the server answers. Throws Error when the server does not within the time of the arguments.
void await_server(Arguments const& arguments);
/// The grants that the arguments name: by locators with commas between, or one by its number. Throws Error.
std::vector<Locator> grants_of(Arguments const& arguments);
/// `request` about a persistent window, and about its parts in other grants, of the same user. A part that
/// has gone already is none. The answer about the first part, and where the window's parts are. Throws Error,
/// after a line on stderr for each part that has refused.
struct PartsAnswer {
  struct Part {
    Locator where;
    uid_t grant_owner = 0;
  };
  Json first;
  std::vector<Part> parts;
};
PartsAnswer ask_for_parts(Address const& server, std::string const& port, Json request);
/// Ends a persistent window with all its parts. Throws Error likewise.
void evict_window(Address const& server, std::string const& port);
/// The request, or its dry run.
Json destroy(Arguments const& arguments, Json request);

/// ASCII alone: control characters of a text that another user has written do not reach the terminal.
void print_json(Json const& json);
std::string text_of(Json const& object, char const* name);
std::string bytes_of(Json const& object, char const* name);

}  // namespace mpixrma::nam

/// mpix-nam: secrets of users and keys of servers.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "nam/client/client.hpp"
#include "nam/client/known_servers.hpp"
#include "nam/client/secrets.hpp"
#include "nam/protocol/units.hpp"
#include "nam/tool/commands.hpp"

namespace mpixrma::nam {

namespace {

bool is_on_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

bool ask_whether(std::string const& question) {
  std::fprintf(stderr, "%s (yes/no)? ", question.c_str());
  std::string answer;
  return std::getline(std::cin, answer) && answer == "yes";
}

bool confirm_key(Address const& server, PublicKey const& key) {
  std::fprintf(stderr, "The memory server at %s is not known here. Its key is\n  %s\n",
               endpoint_of(server).c_str(), to_text(key).c_str());
  return ask_whether("Did its administrator give this key, and is it to be trusted");
}

/// Parses the key of a server as 'secret' and 'rotate-key' print it, with or without "key=".
PublicKey parse_key(std::string const& text) {
  std::size_t const begin = text.starts_with("key=") ? 4 : 0;
  if (auto const key = key_from_text(std::string_view(text).substr(begin))) return *key;
  throw Error(ErrorCode::bad_request, "'" + text + "' is not the key of a server");
}

}  // namespace

void use_terminal_for_keys() {
  if (is_on_terminal()) set_key_confirmation(confirm_key);
}

namespace {

/// Whether root or this user runs the server.
bool is_of_own_or_root(Client const& client) {
  auto const user = client.server_user();
  return user && (*user == 0 || *user == ::geteuid());
}

/// Throws Error(denied) for a false claim: another user's server may name an address at which another server
/// runs. The claim may not replace the key or the secret that this user has for the address, and the server
/// there must have the claimed key.
void check_claim(Address const& server, UserSecret const& secret) {
  std::string const place = endpoint_of(server);
  if (server.port == 0)
    throw Error(ErrorCode::unsupported, "the memory server has no address for other hosts (--listen)");
  PublicKey const key = parse_key(server.key);
  auto const pinned = pinned_key(server);
  if (pinned && *pinned != key)
    throw Error(ErrorCode::denied, "another user's memory server says that it is at " + place +
                                       ", for which another key is pinned: 'mpix-nam trust " + place +
                                       " KEY' changes that");
  auto const known = read_secret(secret_file(server));
  if (known && *known != secret)
    throw Error(ErrorCode::denied, "another user's memory server says that it is at " + place +
                                       ", for which there is another secret: remove " +
                                       secret_file(server).string() + " if it is not valid any more");
  if (offered_key(server) != key)
    throw Error(ErrorCode::denied, "another user's memory server says that it is at " + place +
                                       ", where a server with another key answers");
}

}  // namespace

/// Stores the secret where the user's clients on other hosts look for it. The secret of a server that root or
/// this user runs is also stored as the common one, for servers without a file of their own. The server's key
/// is authentic, because the connection is local.
void secret(Arguments const& arguments) {
  check_home(secret_file());
  Client client(address_of(arguments));
  Json const answer = client.request({{"op", "secret"}});
  Address const server = parse_address(field<std::string>(answer, "address"));
  UserSecret const made = secret_from_hex(field<std::string>(answer, "secret"));
  std::vector<std::filesystem::path> files;
  if (is_of_own_or_root(client)) {
    files.push_back(secret_file());
  } else {
    check_claim(server, made);
  }
  if (server.port != 0) files.push_back(secret_file(server));
  for (std::filesystem::path const& file : files) {
    write_secret(file, made);
    std::cout << file.string() << "\n";
  }
  if (server.port == 0) return;
  pin_key(server, parse_key(server.key));
  std::cout << known_servers_file().string() << "\nkey=" << server.key << "\n";
}

void trust(Arguments const& arguments) {
  Address const server = parse_address("tcp=" + arguments.target);
  if (!arguments.key.empty()) return pin_key(server, parse_key(arguments.key));
  PublicKey const key = offered_key(server);
  if (!is_on_terminal())
    throw Error(ErrorCode::denied,
                "the memory server at " + endpoint_of(server) + " offers the key " + to_text(key) +
                    "; without a terminal, 'mpix-nam trust HOST:PORT KEY' pins one that its "
                    "administrator confirms");
  auto const pinned = pinned_key(server);
  if (pinned && *pinned != key)
    std::fprintf(stderr, "The key %s is pinned for this server: it has changed.\n", to_text(*pinned).c_str());
  if (pinned == key) return;
  if (!confirm_key(server, key)) throw Error(ErrorCode::denied, "the key was not confirmed");
  pin_key(server, key);
}

void rotate_key(Arguments const& arguments) {
  Client client(address_of(arguments));
  Json const answer = client.request({{"op", "rotate_key"}, {"overlap", seconds_of(arguments.overlap)}});
  std::cout << "key=" << field<std::string>(answer, "key") << "\n";
}

}  // namespace mpixrma::nam

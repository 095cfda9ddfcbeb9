#include "nam/client/follow.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "nam/client/known_servers.hpp"
#include "nam/client/local_server.hpp"

namespace mpixrma::nam {

namespace {

std::mutex noted_lock;
std::vector<Address> noted;
bool has_consent = false;
thread_local bool has_scoped_consent = false;

bool is_same(Address const& one, Address const& other) {
  bool const same_socket = !one.unix_path.empty() && one.unix_path == other.unix_path;
  bool const same_port = one.port != 0 && endpoint_of(one) == endpoint_of(other);
  // Two addresses with both a socket and a port are the same server only if neither part differs.
  bool const other_socket =
      !one.unix_path.empty() && !other.unix_path.empty() && one.unix_path != other.unix_path;
  bool const other_port = one.port != 0 && other.port != 0 && endpoint_of(one) != endpoint_of(other);
  return (same_socket || same_port) && !other_socket && !other_port;
}

std::vector<Address> named_by_user() {
  std::vector<Address> known;
  for (Locator const& grant : job_grants()) known.push_back(grant.address);
  if (char const* const given = std::getenv("MPIX_NAM_SERVER"); given != nullptr && *given != '\0')
    known.push_back(server_address());
  std::lock_guard const held(noted_lock);
  known.insert(known.end(), noted.begin(), noted.end());
  return known;
}

bool consents() {
  if (has_scoped_consent) return true;
  char const* const given = std::getenv("MPIX_NAM_FOLLOW");
  std::lock_guard const held(noted_lock);
  return has_consent || (given != nullptr && std::string_view(given) == "1");
}

}  // namespace

void note_known_server(Address const& server) {
  std::lock_guard const held(noted_lock);
  if (std::find(noted.begin(), noted.end(), server) == noted.end()) noted.push_back(server);
}

void consent_to_follow() {
  std::lock_guard const held(noted_lock);
  has_consent = true;
}

ScopedFollowConsent::ScopedFollowConsent(bool given) noexcept : before_(has_scoped_consent) {
  has_scoped_consent = before_ || given;
}

ScopedFollowConsent::~ScopedFollowConsent() { has_scoped_consent = before_; }

Address followed(Address const& written, Address const& source) {
  if (is_same(written, source)) return source;
  for (Address const& known : named_by_user()) {
    if (is_same(written, known)) return known;
  }
  if (consents()) return written;
  // If the listener is root's or this user's, nobody else can have created this socket.
  FoundListener const listener = find_listener(written.unix_path);
  if (listener.owner == Listener::own_or_root) return {listener.path, "", 0};
  if (listener.owner == Listener::none && written.port == 0)
    throw Error(ErrorCode::unavailable, "no memory server answers at " + format(written));
  // Only its pinned key counts: the writer may have added another key or their own socket to the address.
  if (Address const pinned{"", written.host, written.port}; written.port != 0 && pinned_key(pinned))
    return pinned;
  throw Error(
      ErrorCode::denied,
      "a part of the window is at the memory server " + format(written) +
          ", which its owner has named and this user has not: name it in MPIX_NAM_SERVER, pin its key "
          "with 'mpix-nam trust', or consent by MPIX_NAM_FOLLOW=1 or the info key mpix_nam_follow");
}

void check_own_port(Client const& client, Address const& address, std::string const& port) {
  Address const reported = parse_locator(port).address;
  std::error_code ignored;
  bool const is_own = client.is_local()
                          ? reported.unix_path == address.unix_path ||
                                (!reported.key.empty() && reported.key == address.key) ||
                                std::filesystem::equivalent(reported.unix_path, address.unix_path, ignored)
                          : reported.key == client.server_key();
  if (!is_own)
    throw Error(ErrorCode::denied, "the memory server at " + format(address) +
                                       " reported a window at another server: " + format(reported));
}

}  // namespace mpixrma::nam

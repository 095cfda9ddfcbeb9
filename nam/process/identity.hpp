/// Identities of clients, and the rights that they have.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpixrma::nam {

struct Identity {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  bool is_admin = false;  ///< of the server
};

/// Return the user with this number or name, with all groups. If the system does not know the user: for a
/// number with only the group `gid`, for a name nothing.
Identity identity_of(uid_t uid, gid_t gid);
std::optional<Identity> identity_of(std::string const& user);

/// Identities that were asked for within the last second. The system reads several files for one identity,
/// and users connect as often as they like.
class IdentityCache {
 public:
  Identity const& of(uid_t uid, gid_t gid);

 private:
  struct Known {
    Identity identity;
    std::chrono::steady_clock::time_point since;
  };
  std::map<std::pair<uid_t, gid_t>, Known> known_;
};

/// Parses the name of a user, or a number, whose user need not exist. Throws Error(bad_request).
uid_t parse_user(std::string const& text);
std::string user_name(uid_t uid);

enum class WindowRights : unsigned { none = 0, write = 2, read = 4 };

/// Throws Error(bad_request) if the mode has other bits than those to read and write.
void check_mode(unsigned mode);

/// The access rights of an object, as for files: owner, group and others, each with read (4) and write (2).
struct Ownership {
  uid_t owner = 0;
  gid_t group = 0;
  unsigned mode = 0600;

  bool permits(Identity const& who, WindowRights wanted) const noexcept;
};

}  // namespace mpixrma::nam

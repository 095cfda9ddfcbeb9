/// The secrets of users at the server. The names of users who have one are known from the start, so a client
/// that has not proved who it is causes no query of the system's user database, which may be on the network.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

class UserSecrets {
 public:
  struct Found {
    uid_t uid = 0;
    UserSecret secret{};
  };

  /// Files whose names are numbers of users, in `directory`.
  explicit UserSecrets(std::filesystem::path directory);

  /// Finds the names of users anew.
  void refresh();
  /// Nothing where the user is not known or has no secret.
  std::optional<Found> find(std::string const& user) const;
  /// Made at the first call for the user. Throws Error.
  UserSecret of(uid_t uid);

 private:
  std::filesystem::path file_of(uid_t uid) const { return directory_ / std::to_string(uid); }

  std::filesystem::path directory_;
  std::map<std::string, uid_t> users_;
};

}  // namespace mpixrma::nam

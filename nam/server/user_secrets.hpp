/// The secrets of users at the server. The names of users who have one are known from the start, so an
/// unauthenticated client causes no query of the system's user database, which may be on the network.
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

  /// Keeps the secrets in `directory`, in files whose names are the numbers of users.
  explicit UserSecrets(std::filesystem::path directory);

  /// Looks up the names of users again.
  void refresh();
  /// Returns nothing if the user is unknown or has no secret.
  std::optional<Found> find(std::string const& user) const;
  /// The secret is made at the first call for the user. Throws Error.
  UserSecret of(uid_t uid);

 private:
  std::filesystem::path file_of(uid_t uid) const { return directory_ / std::to_string(uid); }

  std::filesystem::path directory_;
  std::map<std::string, uid_t> users_;
};

}  // namespace mpixrma::nam

#include "nam/server/user_secrets.hpp"

#include <charconv>
#include <system_error>
#include <utility>

#include "nam/process/identity.hpp"

namespace mpixrma::nam {

UserSecrets::UserSecrets(std::filesystem::path directory) : directory_(std::move(directory)) { refresh(); }

void UserSecrets::refresh() {
  users_.clear();
  std::error_code error;
  for (std::filesystem::directory_iterator each(directory_, error), end; !error && each != end;
       each.increment(error)) {
    std::string const name = each->path().filename().string();
    uid_t uid = 0;
    auto const [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), uid);
    if (failure == std::errc{} && rest == name.data() + name.size()) users_[user_name(uid)] = uid;
  }
}

std::optional<UserSecrets::Found> UserSecrets::find(std::string const& user) const {
  auto const found = users_.find(user);
  if (found == users_.end()) return std::nullopt;
  try {
    auto const secret = read_secret(file_of(found->second));
    if (secret) return Found{found->second, *secret};
  } catch (Error const&) {
    // The user learns the reason on the server's host, from of(); an unauthenticated peer does not.
  }
  return std::nullopt;
}

UserSecret UserSecrets::of(uid_t uid) {
  auto secret = read_secret(file_of(uid));
  if (!secret) {
    secret = random_secret();
    write_secret(file_of(uid), *secret);
  }
  users_[user_name(uid)] = uid;
  return *secret;
}

}  // namespace mpixrma::nam

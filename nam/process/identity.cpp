#include "nam/process/identity.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

std::vector<gid_t> groups_of(char const* name, gid_t gid) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(name, gid, groups.data(), &count) < 0) {
    count = std::max(count, static_cast<int>(groups.size()) * 2);
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

/// The kernel takes the largest number for "no user".
constexpr uid_t no_user = static_cast<uid_t>(-1);

std::optional<uid_t> user_number_in(std::string const& text) {
  uid_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Identity identity_of(uid_t uid, gid_t gid) {
  passwd const* const entry = ::getpwuid(uid);
  return {uid, entry != nullptr ? groups_of(entry->pw_name, gid) : std::vector<gid_t>{gid}};
}

Identity const& IdentityCache::of(uid_t uid, gid_t gid) {
  constexpr std::chrono::seconds longest{1};
  constexpr std::size_t most = 1024;
  auto const now = std::chrono::steady_clock::now();
  if (auto const found = known_.find({uid, gid}); found != known_.end()) {
    if (now - found->second.since < longest) return found->second.identity;
    known_.erase(found);
  }
  if (known_.size() >= most) known_.clear();
  return known_.emplace(std::pair(uid, gid), Known{identity_of(uid, gid), now}).first->second.identity;
}

std::optional<Identity> identity_of(std::string const& user) {
  passwd const* const entry = ::getpwnam(user.c_str());
  if (entry == nullptr) return std::nullopt;
  uid_t const uid = entry->pw_uid;
  return Identity{uid, groups_of(user.c_str(), entry->pw_gid)};
}

uid_t parse_user(std::string const& text) {
  if (passwd const* const entry = ::getpwnam(text.c_str())) return entry->pw_uid;
  auto const number = user_number_in(text);
  if (number == no_user)
    throw Error(ErrorCode::bad_request, "'" + text + "' is not the number of a user: it stands for no user");
  if (number) return *number;
  throw Error(ErrorCode::bad_request, "there is no user '" + text + "'");
}

std::string user_name(uid_t uid) {
  passwd const* const entry = ::getpwuid(uid);
  return entry != nullptr ? entry->pw_name : std::to_string(uid);
}

void check_mode(unsigned mode) {
  if ((mode & ~0666u) != 0)
    throw Error(ErrorCode::bad_request,
                "a mode has read (4) and write (2) for owner, group and others, as in 0644");
}

bool Ownership::permits(Identity const& who, WindowRights wanted) const noexcept {
  if (who.is_admin) return true;
  bool const in_group = std::find(who.groups.begin(), who.groups.end(), group) != who.groups.end();
  unsigned const shift = who.uid == owner ? 6 : in_group ? 3 : 0;
  return ((mode >> shift) & static_cast<unsigned>(wanted)) != 0;
}

}  // namespace mpixrma::nam

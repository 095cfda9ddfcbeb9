/// Users that belong to another user: the system lets that user become each of the users that
/// /etc/subuid lists for it, usually 65536. All of them together have that user's share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace mpixrma::nam {

class SubordinateUsers {
 public:
  explicit SubordinateUsers(std::filesystem::path file = "/etc/subuid");

  /// Reads the file again.
  void refresh();
  /// Returns the user to whom `uid` belongs, or else `uid`.
  uid_t owner_of(uid_t uid) const noexcept;
  /// Returns a user to whom one of `count` users from `first` on belongs, if any.
  std::optional<uid_t> owner_in(uid_t first, std::uint64_t count) const noexcept;

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    uid_t owner;
  };

  std::filesystem::path file_;
  std::vector<Range> ranges_;
};

}  // namespace mpixrma::nam

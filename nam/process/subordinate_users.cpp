#include "nam/process/subordinate_users.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "nam/process/identity.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

SubordinateUsers::SubordinateUsers(std::filesystem::path file) : file_(std::move(file)) { refresh(); }

/// Lines that name no user, or are no ranges, are left out, as the system does.
void SubordinateUsers::refresh() {
  ranges_.clear();
  std::ifstream lines(file_);
  for (std::string line; std::getline(lines, line);) {
    std::size_t const colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    char between = 0;
    if (!(numbers >> first >> between >> count) || between != ':' || count == 0) continue;
    try {
      ranges_.push_back({first, std::uint64_t{first} + count, parse_user(line.substr(0, colon))});
    } catch (Error const&) {
      continue;
    }
  }
}

uid_t SubordinateUsers::owner_of(uid_t uid) const noexcept { return owner_in(uid, 1).value_or(uid); }

std::optional<uid_t> SubordinateUsers::owner_in(uid_t first, std::uint64_t count) const noexcept {
  auto const found = std::find_if(ranges_.begin(), ranges_.end(), [&](Range const& each) {
    return each.begin < first + count && first < each.end;
  });
  return found != ranges_.end() ? std::optional(found->owner) : std::nullopt;
}

}  // namespace mpixrma::nam

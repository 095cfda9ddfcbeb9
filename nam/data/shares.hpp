/// Shares of users in a resource of a grant, such as its sessions or descriptors: no number of
/// users of the grant's windows can exhaust the resource for its owner or for each other.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "nam/protocol/error.hpp"
#include "nam/protocol/kept_bytes.hpp"

namespace mpixrma::nam {

/// A user who has a share.
struct ShareHolder {
  uid_t user = 0;
  bool is_owner = false;
};

class Shares {
 public:
  Shares() = default;
  /// Shares out `total` of the resource `what`, which is named in the plural.
  Shares(std::string what, std::uint64_t total) : what_(std::move(what)), total_(total) {}

  /// Owners may have all. All other users together have three quarters at most, and each of them one quarter,
  /// but no more than is left for the users after them, so that something is always left. Throws
  /// Error(quota).
  void take(ShareHolder holder, std::uint64_t count = 1) {
    bool const is_owner = holder.is_owner;
    std::uint64_t const share = std::max<std::uint64_t>(total_ / 4, 1);
    if (count > total_ - all_ || (!is_owner && !is_permitted(holder.user, share, count)))
      throw Error(ErrorCode::quota, "the grant has as many " + what_ +
                                        (is_owner ? "" : " of users other than its owner") +
                                        " as it may have");
    all_ += count;
    if (is_owner) return;
    others_ += count;
    of_user_[holder.user] += count;
  }
  void give_back(ShareHolder holder, std::uint64_t count = 1) noexcept {
    all_ -= count;
    if (holder.is_owner || count == 0) return;
    others_ -= count;
    auto const found = of_user_.find(holder.user);
    found->second -= count;
    if (found->second == 0) of_user_.erase(found);
  }

 private:
  bool is_permitted(uid_t user, std::uint64_t share, std::uint64_t count) const {
    auto const found = of_user_.find(user);
    std::uint64_t const has = found == of_user_.end() ? 0 : found->second;
    std::uint64_t const left = total_ - total_ / 4 - others_;
    if (count > left) return false;
    return has + count <= std::min(share, std::max<std::uint64_t>(left - count, 1));
  }

  std::string what_;
  std::uint64_t total_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t others_ = 0;
  std::map<uid_t, std::uint64_t> of_user_;  ///< without owners
};

/// Returns the account of the bytes that `holder` has of `shares`, which must outlive it.
inline KeptBytes::Account account_in(Shares& shares, ShareHolder holder) {
  return [&shares, holder](std::size_t before, std::size_t now) {
    if (now <= before) {
      shares.give_back(holder, before - now);
      return true;
    }
    try {
      shares.take(holder, now - before);
      return true;
    } catch (Error const&) {
      return false;
    }
  };
}

}  // namespace mpixrma::nam

#include "nam/process/admission.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "nam/protocol/error.hpp"
#include "nam/protocol/host_address.hpp"

namespace mpixrma::nam {

namespace {

constexpr rlim_t most_descriptors = 65536;

/// Returns how many of `limit` places all peers of a standing may have: the rest is for higher standings.
std::size_t room_for(Standing standing, std::size_t limit) {
  std::size_t const reserve = std::min(std::max<std::size_t>(limit / 16, 8), limit / 2);
  switch (standing) {
    case Standing::administrator: return limit;
    case Standing::owner: return limit - reserve / 2;
    default: return limit - reserve;
  }
}

/// Returns how many places all owners together may have: a user becomes one by a grant to himself.
std::size_t most_of_owners(std::size_t limit) { return std::max<std::size_t>(limit - limit / 4, 1); }

/// Returns how many places one peer may have. Ranks of a job on one host connect at the same time.
std::size_t share_of(Standing standing, std::size_t limit) {
  switch (standing) {
    case Standing::administrator: return limit;
    case Standing::owner: return std::max<std::size_t>(limit / 2, 1);
    case Standing::user: return std::max<std::size_t>(limit / 8, 1);
    default: return std::max<std::size_t>(limit / 4, 1);
  }
}

}  // namespace

Admission::Place& Admission::Place::operator=(Place&& other) noexcept {
  if (this == &other) return *this;
  leave();
  admission_ = std::exchange(other.admission_, nullptr);
  holder_ = std::move(other.holder_);
  return *this;
}

void Admission::Place::leave() noexcept {
  if (Admission* const admission = std::exchange(admission_, nullptr)) admission->remove(holder_);
}

Admission::Place Admission::admit(Applicant applicant, Place former) {
  former.leave();
  make_room(applicant);
  add(applicant);
  return Place(*this, std::move(applicant));
}

void Admission::add(Applicant const& holder) {
  Peer& peer = peers_[holder.peer];
  ++peer.connections;
  ++all_;
  if (holder.standing == Standing::owner) ++owners_;
  if (holder.standing != Standing::unauthenticated) return;
  if (!peer.unauthenticated.empty()) ranking_.erase(rank_of(peer));
  peer.unauthenticated.insert(holder.connection);
  ranking_.emplace(rank_of(peer), holder.peer);
  ++unauthenticated_;
}

void Admission::remove(Applicant const& holder) noexcept {
  auto const found = peers_.find(holder.peer);
  Peer& peer = found->second;
  --all_;
  if (holder.standing == Standing::owner) --owners_;
  if (holder.standing == Standing::unauthenticated) {
    --unauthenticated_;
    auto rank = ranking_.extract(rank_of(peer));
    peer.unauthenticated.erase(holder.connection);
    if (!peer.unauthenticated.empty()) {
      rank.key() = rank_of(peer);
      ranking_.insert(std::move(rank));
    }
  }
  if (--peer.connections == 0) peers_.erase(found);
}

/// Unauthenticated connections give their places to new ones and to users. The new connection takes the place
/// of the evicted one, so the number of connections does not grow.
void Admission::make_room(Applicant const& applicant) {
  bool const is_known = applicant.standing != Standing::unauthenticated;
  auto const found = peers_.find(applicant.peer);
  std::size_t const share = share_of(applicant.standing, limit_);
  if (found != peers_.end() && found->second.connections >= share) {
    if (is_known)
      throw Error(
          ErrorCode::quota,
          applicant.peer + " has as many connections to the server as it may have: " + std::to_string(share));
    return evict_oldest(applicant.peer);
  }
  if (applicant.standing == Standing::owner && owners_ >= most_of_owners(limit_))
    throw Error(ErrorCode::quota, "owners of grants have as many connections to the server as they may have");
  bool const is_full = all_ >= room_for(applicant.standing, limit_) ||
                       (!is_known && unauthenticated_ >= std::max<std::size_t>(limit_ / 2, 1));
  if (!is_full) return;
  if (ranking_.empty()) throw Error(ErrorCode::quota, "the server has as many connections as it may have");
  evict_oldest(std::string(ranking_.rbegin()->second));
}

void Admission::evict_oldest(std::string const& peer) { evict_(*peers_.at(peer).unauthenticated.begin()); }

std::string host_of_peer(engine::FileDescriptor const& socket) {
  std::optional<HostAddress> const host = peer_host(socket.get());
  if (!host) return "an unknown host";
  return is_loopback(*host) ? "this host" : "host " + to_text(network_of(*host));
}

std::size_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlim_t const wanted = std::min(limit.rlim_max, most_descriptors);
  if (limit.rlim_cur < wanted) {
    rlimit const raised{wanted, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit.rlim_cur = wanted;
  }
  return static_cast<std::size_t>(std::min(limit.rlim_cur, most_descriptors));
}

}  // namespace mpixrma::nam

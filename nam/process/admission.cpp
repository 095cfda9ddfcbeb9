#include "nam/process/admission.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "nam/protocol/error.hpp"
#include "nam/protocol/host_address.hpp"

namespace mpixrma::nam {

namespace {

constexpr rlim_t max_descriptors = 65536;

/// Returns how many of `limit` places may be taken, by peers of any standing, before a peer of this standing
/// gets no free place: the rest is for higher standings.
std::size_t room_for(Standing standing, std::size_t limit) {
  std::size_t const reserve = std::min(std::max<std::size_t>(limit / 16, 8), limit / 2);
  switch (standing) {
    case Standing::administrator: return limit;
    case Standing::owner: return limit - reserve / 2;
    default: return limit - reserve;
  }
}

/// Returns how many places all owners together may have: a user becomes one by making a grant.
std::size_t owner_limit(std::size_t limit) { return std::max<std::size_t>(limit - limit / 4, 1); }

/// Returns how many places unauthenticated connections keep if users have all others: a user on another host
/// is unauthenticated when it connects.
std::size_t min_unauthenticated(std::size_t limit) { return limit / 16; }

/// Returns how many of `limit` places unauthenticated connections may have.
std::size_t unauthenticated_limit(std::size_t limit) { return std::max<std::size_t>(limit / 2, 1); }

}  // namespace

Admission::Place& Admission::Place::operator=(Place&& other) noexcept {
  if (this == &other) return *this;
  release();
  admission_ = std::exchange(other.admission_, nullptr);
  holder_ = std::move(other.holder_);
  return *this;
}

void Admission::Place::release() noexcept {
  if (Admission* const admission = std::exchange(admission_, nullptr)) admission->remove(holder_);
}

Admission::Place Admission::admit(Applicant applicant, Place former) {
  former.release();
  make_room(applicant);
  add(applicant);
  return Place(*this, std::move(applicant));
}

void Admission::ConnectionsByPeer::add(std::string const& peer, std::uint64_t connection) {
  Connections& connections = of_peer_[peer];
  if (!connections.empty()) ranking_.erase(rank_of(connections));
  connections.insert(connection);
  ranking_.emplace(rank_of(connections), peer);
  ++count_;
}

void Admission::ConnectionsByPeer::remove(std::string const& peer, std::uint64_t connection) noexcept {
  auto const found = of_peer_.find(peer);
  Connections& connections = found->second;
  auto rank = ranking_.extract(rank_of(connections));
  connections.erase(connection);
  --count_;
  if (connections.empty()) {
    of_peer_.erase(found);
    return;
  }
  rank.key() = rank_of(connections);
  ranking_.insert(std::move(rank));
}

std::optional<Admission::ConnectionsByPeer::Most> Admission::ConnectionsByPeer::most() const {
  if (ranking_.empty()) return std::nullopt;
  auto const& [connections, age] = ranking_.rbegin()->first;
  return Most{connections, ~age};
}

/// Connections of administrators are never evicted.
Admission::ConnectionsByPeer* Admission::connections_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::unauthenticated: return &unauthenticated_;
    case Standing::user: return &users_;
    case Standing::owner: return &owners_;
    default: return nullptr;
  }
}

std::size_t Admission::count_of(std::string const& peer) const {
  auto const found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second;
}

void Admission::add(Applicant const& holder) {
  ++peers_[holder.peer];
  ++all_;
  if (ConnectionsByPeer* const connections = connections_of(holder.standing))
    connections->add(holder.peer, holder.connection);
  if (holder.standing == Standing::unauthenticated) arrivals_.emplace(holder.connection, Clock::now());
}

void Admission::remove(Applicant const& holder) noexcept {
  --all_;
  if (ConnectionsByPeer* const connections = connections_of(holder.standing))
    connections->remove(holder.peer, holder.connection);
  arrivals_.erase(holder.connection);
  auto const found = peers_.find(holder.peer);
  if (--found->second == 0) peers_.erase(found);
}

/// Returns how many places one peer may have. Ranks of a job on one host connect at the same time.
std::size_t Admission::share_of(Standing standing) const noexcept {
  switch (standing) {
    case Standing::administrator: return limit_;
    case Standing::owner: return std::max<std::size_t>(limit_ / 2, 1);
    case Standing::user: return std::max<std::size_t>(limit_ / 8, 1);
    default: return std::max<std::size_t>({limit_ / 4, reserved_places_ / 2, 1});
  }
}

bool Admission::is_full(Standing standing) const noexcept {
  std::size_t const unauthenticated = unauthenticated_.count();
  std::size_t const limit = unauthenticated_limit(limit_);
  if (standing == Standing::unauthenticated)
    return unauthenticated >= std::max(limit, reserved_places_) ||
           (unauthenticated >= reserved_places_ && all_ >= room_for(standing, limit_));
  if (known() + std::min(unauthenticated, limit) >= room_for(standing, limit_)) return true;
  return standing == Standing::owner && owners_.count() >= owner_limit(limit_);
}

/// Whether unauthenticated connections exceed their half of the places. The number of all connections then
/// does not show how many places are left to users.
bool Admission::uses_reserved_places() const noexcept {
  return unauthenticated_.count() > unauthenticated_limit(limit_);
}

/// Whether a user's connection, rather than an unauthenticated one, gives way to the new connection.
bool Admission::takes_from_users(Standing standing) const noexcept {
  std::size_t const unauthenticated = unauthenticated_.count();
  std::size_t const least = min_unauthenticated(limit_);
  if (standing == Standing::unauthenticated) return unauthenticated < least;
  return unauthenticated <= least ||
         (uses_reserved_places() && known() + least >= room_for(standing, limit_));
}

/// Returns the oldest connection of the user who has the most, if that user has more than `connections`
/// without it.
std::optional<std::uint64_t> Admission::evictable_user(std::size_t connections) const {
  auto const user = users_.most();
  auto const owner = owners_.most();
  auto const& most = !user || (owner && owner->connections > user->connections) ? owner : user;
  if (!most || most->connections <= connections + 1) return std::nullopt;
  return most->oldest;
}

/// Returns the connection that gives its place to one of a peer that has `connections`.
std::optional<std::uint64_t> Admission::evictable(Standing standing, std::size_t connections) const {
  if (standing == Standing::owner && owners_.count() >= owner_limit(limit_)) {
    auto const most = owners_.most();
    return most && most->connections > connections + 1 ? std::optional(most->oldest) : std::nullopt;
  }
  if (takes_from_users(standing)) {
    if (auto const user = evictable_user(connections)) return user;
  }
  bool const is_known = standing != Standing::unauthenticated;
  if (is_known && uses_reserved_places() && known() >= room_for(standing, limit_)) return std::nullopt;
  auto const most = unauthenticated_.most();
  return most ? std::optional(most->oldest) : std::nullopt;
}

/// Returns the connection that gives its place to one of a peer that has its share: a host's oldest one.
std::optional<std::uint64_t> Admission::evictable_in_share(Applicant const& applicant) const {
  if (applicant.standing == Standing::unauthenticated) return unauthenticated_.oldest_of(applicant.peer);
  return std::nullopt;
}

bool Admission::is_young_of_same_host(Applicant const& applicant, std::uint64_t connection) const {
  if (applicant.standing != Standing::unauthenticated || count_of(applicant.peer) == 0) return false;
  return unauthenticated_.oldest_of(applicant.peer) == connection &&
         Clock::now() - arrivals_.at(connection) < min_stay_;
}

/// The new connection takes the place of the evicted one, so the number of connections does not grow.
void Admission::make_room(Applicant const& applicant) {
  std::size_t const connections = count_of(applicant.peer);
  std::size_t const share = share_of(applicant.standing);
  bool const has_share = connections >= share;
  if (!has_share && !is_full(applicant.standing)) return;
  bool const is_administrator = applicant.standing == Standing::administrator;
  auto const evicted = has_share ? evictable_in_share(applicant)
                                 : evictable(applicant.standing, is_administrator ? 0 : connections);
  if (evicted && !is_young_of_same_host(applicant, *evicted)) return evict_(*evicted);
  if (!has_share) throw Error(ErrorCode::quota, "the server has as many connections as it may have");
  throw Error(ErrorCode::quota, applicant.peer + " has as many connections to the server as it may have: " +
                                    std::to_string(share));
}

std::string host_of_peer(engine::FileDescriptor const& socket) {
  std::optional<HostAddress> const host = peer_host(socket.get());
  if (!host) return "an unknown host";
  return is_loopback(*host) ? "this host" : "host " + to_text(network_of(*host));
}

std::size_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlim_t const wanted = std::min(limit.rlim_max, max_descriptors);
  if (limit.rlim_cur < wanted) {
    rlimit const raised{wanted, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit.rlim_cur = wanted;
  }
  return static_cast<std::size_t>(std::min(limit.rlim_cur, max_descriptors));
}

}  // namespace mpixrma::nam

#include "nam/process/admission.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr rlim_t most_descriptors = 65536;

/// All that peers of a standing may have, of `limit`: the rest is for those of higher standing.
std::size_t room_for(Standing standing, std::size_t limit) {
  std::size_t const reserve = std::min(std::max<std::size_t>(limit / 16, 8), limit / 2);
  switch (standing) {
    case Standing::administrator: return limit;
    case Standing::owner: return limit - reserve / 2;
    default: return limit - reserve;
  }
}

/// What one peer may have. Ranks of a job on one host connect at the same time.
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
  peer_ = std::move(other.peer_);
  standing_ = other.standing_;
  return *this;
}

void Admission::Place::leave() noexcept {
  Admission* const admission = std::exchange(admission_, nullptr);
  if (admission == nullptr) return;
  --admission->all_;
  if (standing_ == Standing::unauthenticated) --admission->unauthenticated_;
  auto const found = admission->of_peer_.find(peer_);
  if (--found->second == 0) admission->of_peer_.erase(found);
}

Admission::Place Admission::admit(std::string const& peer, Standing standing, Place former) {
  former.leave();
  check(peer, standing);
  ++of_peer_[peer];
  ++all_;
  if (standing == Standing::unauthenticated) ++unauthenticated_;
  return Place(*this, peer, standing);
}

void Admission::check(std::string const& peer, Standing standing) const {
  auto const found = of_peer_.find(peer);
  std::size_t const share = share_of(standing, limit_);
  if (found != of_peer_.end() && found->second >= share)
    throw Error(ErrorCode::quota,
                peer + " has as many connections to the server as it may have: " + std::to_string(share));
  if (all_ >= room_for(standing, limit_) ||
      (standing == Standing::unauthenticated && unauthenticated_ >= std::max<std::size_t>(limit_ / 2, 1)))
    throw Error(ErrorCode::quota, "the server has as many connections as it may have");
}

std::string host_of_peer(engine::FileDescriptor const& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return "an unknown host";
  if (address.ss_family == AF_INET)
    (void)::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in const&>(address).sin_addr, text, sizeof text);
  if (address.ss_family == AF_INET6) {
    in6_addr host = reinterpret_cast<sockaddr_in6 const&>(address).sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&host)) std::memset(host.s6_addr + 8, 0, 8);
    (void)::inet_ntop(AF_INET6, &host, text, sizeof text);
  }
  return std::string("host ") + text;
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

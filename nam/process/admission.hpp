/// Shares of peers in the connections to the control process: no user and no host of the network keeps all
/// others out, and administrators and owners of grants have room that others do not get. An unauthenticated
/// connection is admitted, since it cannot be told apart from an attacker, but may be evicted for another
/// one: it has to authenticate before too many others come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

enum class Standing { unauthenticated, user, owner, administrator };

class Admission {
 public:
  /// A connection that asks for a place. `peer` is a user or, before authentication, a host. `connection` is
  /// a unique number, which increases with each connection.
  struct Applicant {
    std::string peer;
    Standing standing = Standing::unauthenticated;
    std::uint64_t connection = 0;
  };

  /// The place of one connection, until its end.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept;
    ~Place() { leave(); }

   private:
    friend class Admission;
    Place(Admission& admission, Applicant holder) : admission_(&admission), holder_(std::move(holder)) {}
    void leave() noexcept;

    Admission* admission_ = nullptr;
    Applicant holder_;
  };

  /// `evict` ends an unauthenticated connection, and with it its place, before it returns.
  Admission(std::size_t connections, std::function<void(std::uint64_t connection)> evict)
      : limit_(connections), evict_(std::move(evict)) {}
  /// Sets the limit of all peers together.
  void set_limit(std::size_t connections) noexcept { limit_ = connections; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t count() const noexcept { return all_; }

  /// Throws Error(quota) if a user has his share already, owners together have theirs, or connections of
  /// users take all room for the standing. Gives back `former`, the previous place of the connection.
  Place admit(Applicant applicant, Place former);
  Place admit(Applicant applicant) { return admit(std::move(applicant), Place()); }

 private:
  struct Peer {
    std::size_t connections = 0;
    std::set<std::uint64_t> unauthenticated;  ///< of them; the first one is the oldest
  };
  using Peers = std::map<std::string, Peer>;
  /// Orders peers by the number of their unauthenticated connections; among equal ones the peer with the
  /// oldest connection is the last.
  using Ranking = std::map<std::pair<std::size_t, std::uint64_t>, std::string>;

  static Ranking::key_type rank_of(Peer const& peer) {
    return {peer.unauthenticated.size(), ~*peer.unauthenticated.begin()};
  }
  void make_room(Applicant const& applicant);
  void evict_oldest(std::string const& peer);
  void add(Applicant const& holder);
  void remove(Applicant const& holder) noexcept;

  std::size_t limit_;
  std::function<void(std::uint64_t)> evict_;
  std::size_t all_ = 0;
  std::size_t unauthenticated_ = 0;
  std::size_t owners_ = 0;  ///< connections of owners
  Peers peers_;
  Ranking ranking_;  ///< of peers with unauthenticated connections
};

/// The host at the other end of a TCP connection, for Admission: an IPv4 address, or the network part of an
/// IPv6 address, since a host has many of these. This host has one name, whichever of its loopback addresses
/// the connection comes from.
std::string host_of_peer(engine::FileDescriptor const& socket);

/// Raises the soft limit of open descriptors to the hard one, at most 65536. Returns the new limit.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace mpixrma::nam

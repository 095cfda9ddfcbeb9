/// Admission control for the connections to the control process. Neither users nor hosts of the network can
/// exclude others, alone or together, and places are reserved for administrators and owners of grants.
/// If no place is free and the applicant, with the new connection, has fewer connections than the peer with
/// the most, then the oldest connection of that peer is evicted. An unauthenticated connection is admitted,
/// because an attacker's looks the same, but may be evicted for another one: it has to authenticate before
/// too many others arrive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

enum class Standing { unauthenticated, user, owner, administrator };

class Admission {
 public:
  /// A connection that requests a place. `peer` is a user or, before authentication, a host. `connection` is
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
    ~Place() { release(); }
    explicit operator bool() const noexcept { return admission_ != nullptr; }
    /// The connection that holds it.
    std::uint64_t connection() const noexcept { return holder_.connection; }

   private:
    friend class Admission;
    Place(Admission& admission, Applicant holder) : admission_(&admission), holder_(std::move(holder)) {}
    void release() noexcept;

    Admission* admission_ = nullptr;
    Applicant holder_;
  };

  using Clock = std::chrono::steady_clock;

  /// `evict` ends a connection, and with it its place, before it returns. An unauthenticated connection is
  /// not evicted for another one of its host before `min_stay` is over: otherwise a host that connects faster
  /// than the server answers would exclude all of its own users. Such a host gets a place only when one
  /// becomes free: with few `connections`, that would take longer than clients retry. At least
  /// `unauthenticated` places are therefore reserved for unauthenticated connections, if necessary in
  /// addition to `connections`.
  Admission(std::size_t connections, std::function<void(std::uint64_t connection)> evict,
            Clock::duration min_stay = {}, std::size_t unauthenticated = 0)
      : limit_(connections),
        evict_(std::move(evict)),
        min_stay_(min_stay),
        reserved_places_(unauthenticated) {}
  /// Sets the limit of all peers together.
  void set_limit(std::size_t connections) noexcept { limit_ = connections; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t count() const noexcept { return all_; }

  /// Throws Error(quota) if a user has its share already, if there is no room and no connection may be
  /// evicted, or if only a connection of the same host younger than `min_stay` may be. Gives back `former`,
  /// the previous place of the connection, in any case.
  Place admit(Applicant applicant, Place former);
  Place admit(Applicant applicant) { return admit(std::move(applicant), Place()); }

 private:
  /// Connections of one standing, by peer.
  class ConnectionsByPeer {
   public:
    struct Most {
      std::size_t connections = 0;
      std::uint64_t oldest = 0;
    };

    void add(std::string const& peer, std::uint64_t connection);
    void remove(std::string const& peer, std::uint64_t connection) noexcept;
    std::size_t count() const noexcept { return count_; }
    /// The peer with the most connections, and among equal ones that with the oldest; nothing if all are 0.
    std::optional<Most> most() const;
    std::uint64_t oldest_of(std::string const& peer) const { return *of_peer_.at(peer).begin(); }

   private:
    using Connections = std::set<std::uint64_t>;
    /// The last one is most().
    using Ranking = std::map<std::pair<std::size_t, std::uint64_t>, std::string>;

    static Ranking::key_type rank_of(Connections const& connections) {
      return {connections.size(), ~*connections.begin()};
    }

    std::size_t count_ = 0;
    std::map<std::string, Connections> of_peer_;  ///< without empty entries
    Ranking ranking_;
  };

  ConnectionsByPeer* connections_of(Standing standing) noexcept;
  std::size_t count_of(std::string const& peer) const;
  void make_room(Applicant const& applicant);
  std::optional<std::uint64_t> evictable_in_share(Applicant const& applicant) const;
  bool is_young_of_same_host(Applicant const& applicant, std::uint64_t connection) const;
  std::size_t share_of(Standing standing) const noexcept;
  std::size_t known() const noexcept { return all_ - unauthenticated_.count(); }
  bool is_full(Standing standing) const noexcept;
  bool uses_reserved_places() const noexcept;
  bool takes_from_users(Standing standing) const noexcept;
  std::optional<std::uint64_t> evictable_user(std::size_t connections) const;
  std::optional<std::uint64_t> evictable(Standing standing, std::size_t connections) const;
  void add(Applicant const& holder);
  void remove(Applicant const& holder) noexcept;

  std::size_t limit_;
  std::function<void(std::uint64_t)> evict_;
  Clock::duration min_stay_;
  std::size_t reserved_places_;                          ///< for unauthenticated connections
  std::map<std::uint64_t, Clock::time_point> arrivals_;  ///< of unauthenticated connections
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> peers_;  ///< number of their connections
  ConnectionsByPeer unauthenticated_;
  ConnectionsByPeer users_;
  ConnectionsByPeer owners_;
};

/// The host at the other end of a TCP connection, for Admission: an IPv4 address, or the network part of an
/// IPv6 address, since a host has many of these. This host has one name, whichever of its loopback addresses
/// the connection comes from.
std::string host_of_peer(engine::FileDescriptor const& socket);

/// Raises the soft limit of open descriptors to the hard one, but not above 65536. Returns the limit, at most
/// 65536; 0 if it is unknown.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace mpixrma::nam

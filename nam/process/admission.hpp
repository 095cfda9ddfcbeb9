/// Shares of peers in the connections to the control process: neither users nor hosts of the network keep
/// others out, alone or together, and administrators and owners of grants have room that others do not get.
/// When there is no room, the peer with the most connections loses its oldest one, if the new one's peer has
/// fewer. An unauthenticated connection is admitted, since it cannot be told apart from an attacker, but may
/// be evicted for another one: it has to authenticate before too many others come.
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
    explicit operator bool() const noexcept { return admission_ != nullptr; }
    /// The connection that holds it.
    std::uint64_t connection() const noexcept { return holder_.connection; }

   private:
    friend class Admission;
    Place(Admission& admission, Applicant holder) : admission_(&admission), holder_(std::move(holder)) {}
    void leave() noexcept;

    Admission* admission_ = nullptr;
    Applicant holder_;
  };

  using Clock = std::chrono::steady_clock;

  /// `evict` ends a connection, and with it its place, before it returns. An unauthenticated connection is
  /// not evicted for another one of its host before `least_stay` is over: a host that connects faster than
  /// the server answers would keep all of its users out. Of its connections, one gets a place as often as
  /// places become free: if `connections` are few, this would take longer than clients try. Unauthenticated
  /// connections therefore have at least `unauthenticated` places, also in addition to `connections`.
  Admission(std::size_t connections, std::function<void(std::uint64_t connection)> evict,
            Clock::duration least_stay = {}, std::size_t unauthenticated = 0)
      : limit_(connections),
        evict_(std::move(evict)),
        least_stay_(least_stay),
        own_places_(unauthenticated) {}
  /// Sets the limit of all peers together.
  void set_limit(std::size_t connections) noexcept { limit_ = connections; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t count() const noexcept { return all_; }

  /// Throws Error(quota) if a user or host has its share already, or there is no room and nobody has more
  /// connections. Gives back `former`, the previous place of the connection.
  Place admit(Applicant applicant, Place former);
  Place admit(Applicant applicant) { return admit(std::move(applicant), Place()); }

 private:
  /// Connections of one standing, by peer.
  class Crowd {
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
    std::map<std::string, Connections> of_peer_;  ///< none is empty
    Ranking ranking_;
  };

  Crowd* crowd_of(Standing standing) noexcept;
  std::size_t count_of(std::string const& peer) const;
  void make_room(Applicant const& applicant);
  std::optional<std::uint64_t> dispensable_in_share(Applicant const& applicant) const;
  bool is_young_of_same_host(Applicant const& applicant, std::uint64_t connection) const;
  std::size_t share_of(Standing standing) const noexcept;
  std::size_t known() const noexcept { return all_ - unauthenticated_.count(); }
  bool is_full(Standing standing) const noexcept;
  bool uses_own_places() const noexcept;
  bool takes_from_users(Standing standing) const noexcept;
  std::optional<std::uint64_t> dispensable_user(std::size_t connections) const;
  std::optional<std::uint64_t> dispensable(Standing standing, std::size_t connections) const;
  void add(Applicant const& holder);
  void remove(Applicant const& holder) noexcept;

  std::size_t limit_;
  std::function<void(std::uint64_t)> evict_;
  Clock::duration least_stay_;
  std::size_t own_places_;                               ///< of unauthenticated connections
  std::map<std::uint64_t, Clock::time_point> arrivals_;  ///< of unauthenticated connections
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> peers_;  ///< number of their connections
  Crowd unauthenticated_;
  Crowd users_;
  Crowd owners_;
};

/// The host at the other end of a TCP connection, for Admission: an IPv4 address, or the network part of an
/// IPv6 address, since a host has many of these. This host has one name, whichever of its loopback addresses
/// the connection comes from.
std::string host_of_peer(engine::FileDescriptor const& socket);

/// Raises the soft limit of open descriptors to the hard one, at most 65536. Returns the new limit.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace mpixrma::nam

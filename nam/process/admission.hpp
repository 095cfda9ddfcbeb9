/// Shares of peers in the connections to the control process: no user and no host of the network keeps all
/// others out, and administrators and owners of grants have room that others do not get.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

enum class Standing { unauthenticated, user, owner, administrator };

class Admission {
 public:
  /// The place of one connection, until its end.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept;
    ~Place() { leave(); }

   private:
    friend class Admission;
    Place(Admission& admission, std::string peer, Standing standing)
        : admission_(&admission), peer_(std::move(peer)), standing_(standing) {}
    void leave() noexcept;

    Admission* admission_ = nullptr;
    std::string peer_;
    Standing standing_ = Standing::unauthenticated;
  };

  explicit Admission(std::size_t connections) : limit_(connections) {}
  /// Of all peers together.
  void set_limit(std::size_t connections) noexcept { limit_ = connections; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t count() const noexcept { return all_; }

  /// `peer`: a user or, before authentication, a host. Error(quota): it has its share already, or the room
  /// for its standing is taken. Gives back `former`, the connection's place before.
  Place admit(std::string const& peer, Standing standing, Place former);
  Place admit(std::string const& peer, Standing standing) { return admit(peer, standing, Place()); }

 private:
  void check(std::string const& peer, Standing standing) const;

  std::size_t limit_;
  std::size_t all_ = 0;
  std::size_t unauthenticated_ = 0;
  std::map<std::string, std::size_t> of_peer_;
};

/// The host at the other end of a TCP connection, for Admission: an IPv4 address, or the network part of an
/// IPv6 address, since a host has many of these.
std::string host_of_peer(engine::FileDescriptor const& socket);

/// Raises the soft limit of open descriptors to the hard one, at most 65536. Returns what it is then.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace mpixrma::nam

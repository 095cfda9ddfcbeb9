/// A client's use of one grant, or of one window in it: with the data process that has the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nam/client/client.hpp"
#include "nam/protocol/operation_request.hpp"
#include "nam/protocol/shared_control.hpp"

namespace mpixrma::nam {

/// The memory of one rank of a window.
struct WindowRegion {
  std::uint64_t offset = 0;  ///< in the grant's memory
  std::uint64_t bytes = 0;
  std::uint64_t unit = 1;  ///< of displacements, bytes

  bool operator==(WindowRegion const&) const = default;
};

struct WindowInfo {
  std::string id;
  std::string port;  ///< of a persistent window, as its creator is told it
  std::string grant;
  std::uint64_t owner = 0;               ///< user, as the server's host numbers them
  std::vector<std::string> other_parts;  ///< of one that is spread over grants (nam/client/spread.hpp)
  std::uint64_t stripe_bytes = 0;        ///< of such a one whose regions are divided
  bool persistent = false;
  bool owns_grant = true;  ///< this user: may allocate in it, and map its memory
  bool may_read = false;
  bool may_write = false;
  std::string durability;
  SharedControl::Slot slot = 0;
  std::uint64_t generation = 0;       ///< at the slot, as long as the window is there
  std::uint64_t exposure = 0;         ///< to engines, as it is told from Session::reach() on; 0: of no bytes
  std::vector<WindowRegion> regions;  ///< by the rank of the process that had it when the window was made
};

/// What a new window is to be.
struct WindowWishes {
  bool persistent = false;
  std::string durability =
      "clients";         ///< "clients", "server" or "storage": what a persistent window survives
  unsigned mode = 0600;  ///< for owner, group and others: read (4) and write (2)
  /// Of the first part of a persistent window that is spread over grants: port names of the others, in order.
  std::vector<std::string> other_parts = {};
  std::uint64_t stripe_bytes =
      0;  ///< of a part of a window whose regions are divided (nam/client/spread.hpp)
  bool encrypt =
      false;  ///< whoever reaches the window over a network demands encryption; not told to servers
};

/// The memory of a grant, in this process.
class GrantMapping {
 public:
  GrantMapping(FileDescriptor const& descriptor, std::uint64_t bytes, SharedControl control);
  std::byte* at(WindowRegion const& region) const noexcept { return mapping_.base() + region.offset; }
  std::byte* base() const noexcept { return mapping_.base(); }
  std::uint64_t bytes() const noexcept { return mapping_.length(); }
  SharedControl const& control() const noexcept { return control_; }
  /// Throws Error(malformed): the server has told of a window that does not lie in this memory.
  void check(WindowInfo const& window) const;

 private:
  engine::Mapping mapping_;
  SharedControl control_;
};

/// Ends with its object; windows that are not persistent end with the session that has allocated them. Calls
/// wait for their answer, and throw Error.
class Session {
 public:
  /// Error(not_found): there is no such grant, or it is another user's.
  static Session open(Locator const& grant, int patience_ms = default_patience_ms);
  /// Opens the window with this port name. Error(not_found): there is none, or its owner does not let this
  /// user see it.
  static Session connect(std::string const& port, WindowInfo* window);
  /// The same at this address of the server.
  static Session connect(std::string const& port, Address const& server, WindowInfo* window);

  /// One round trip for all regions. Error(no_space): with what is left; quota; unsupported: the grant's
  /// storage does not give that durability; denied: not the owner of the grant.
  WindowInfo allocate(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                      WindowWishes const& wishes = {});
  /// What the session of somebody else has allocated in the grant.
  WindowInfo join(std::string const& window);
  /// Makes a window that this session has allocated, and that is not persistent, a persistent one.
  void keep(WindowInfo* window);
  /// The memory goes back to the grant unless the window is persistent.
  void release(WindowInfo const& window);
  /// The same, but returns at once: requests that come later find it done. Error(unavailable).
  void release_soon(WindowInfo const& window);
  /// Returns when everything that was completed before is as durable as the window is to be.
  void persist(WindowInfo const& window);

  /// Through the server, in pieces: for who can neither map the memory nor be a peer of the data process.
  void read(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset, std::span<std::byte> into);
  void write(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset,
             std::span<std::byte const> from);

  /// One operation on the region of a rank, complete when it returns. False: memory of it is locked by other
  /// operations, and nothing is done. `fetched`: of OperationRequest::bytes(), if the request reads.
  /// Error(denied): the mode of the window does not permit it.
  bool operate(WindowInfo const& window, std::uint64_t rank, OperationRequest const& request,
               std::span<std::byte> fetched);

  /// For the owner, on the server's host. Error(denied); unsupported: another host.
  GrantMapping map();

  /// For the owner who cannot map the memory: where an engine reaches it, as mpix_engine_find_peer_at takes
  /// it. What windows are said to be from here on has their exposures, which are for all regions of a window
  /// together. Error(denied); unsupported: the server does not let others than its own host, or does not
  /// encrypt data where MPIX_NAM_ENCRYPT=1 demands it.
  std::vector<std::byte> reach();
  /// As SharedControl::try_lock; `holder` is a number for those of the session whose locks are told apart.
  /// Error(denied): an exclusive lock needs the right to write.
  bool try_lock(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank, engine::LockMode mode,
                bool* has_turn);
  /// Returns at once.
  void unlock_soon(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank);
  void end_locks(std::uint64_t holder);

  Json usage();
  /// As Client::server_key().
  std::string const& server_key() const noexcept { return client_.server_key(); }
  int descriptor() const noexcept { return client_.descriptor(); }
  /// Whether the data process has not closed it, as far as this host knows.
  bool is_open() const noexcept { return client_.is_open(); }

 private:
  explicit Session(Client client) : client_(std::move(client)) {}

  Client client_;
};

/// Whether the user demands that data on networks is encrypted: MPIX_NAM_ENCRYPT=1.
bool demands_encryption() noexcept;
/// Whether operations by the address, of Session::reach(), are encrypted.
bool is_encrypted(std::span<std::byte const> address);
/// Throws Error(unsupported) where they are not.
void demand_encryption(std::span<std::byte const> address);

}  // namespace mpixrma::nam

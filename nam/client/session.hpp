/// A client's session for one grant, or for one window in it, with the data process that has the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nam/client/client.hpp"
#include "nam/protocol/durability.hpp"
#include "nam/protocol/operation_request.hpp"
#include "nam/protocol/shared_control.hpp"

namespace mpixrma::nam {

/// The memory of one rank of a window.
struct WindowRegion {
  std::uint64_t offset = 0;  ///< offset in the grant's memory
  std::uint64_t bytes = 0;
  std::uint64_t unit = 1;  ///< displacement unit in bytes

  bool operator==(WindowRegion const&) const = default;
};

struct WindowInfo {
  std::string id;
  std::string port;  ///< port name of a persistent window, as its creator received it
  std::string grant;
  std::uint64_t owner = 0;               ///< user id on the server's host
  std::vector<std::string> other_parts;  ///< port names of the other parts, if any (nam/client/spread.hpp)
  std::uint64_t chunk_bytes = 0;         ///< of a spread window with striped regions
  bool persistent = false;
  bool owns_grant = true;  ///< whether this user may allocate in the grant and map its memory
  bool may_read = false;
  bool may_write = false;
  Durability durability = Durability::clients;
  SharedControl::Slot slot = 0;
  std::uint64_t generation = 0;       ///< generation of the slot while the window exists
  std::uint64_t exposure = 0;         ///< for engines; 0: before engine_address(), or for an empty window
  std::vector<WindowRegion> regions;  ///< by the rank of the creating process
};

/// The parameters of a new window.
struct WindowOptions {
  bool persistent = false;
  Durability durability = Durability::clients;
  unsigned mode = 0600;  ///< read (4) and write (2) for owner, group and others
  /// For the first part of a persistent window that is spread over grants: port names of the other parts, in
  /// order.
  std::vector<std::string> other_parts = {};
  std::uint64_t chunk_bytes = 0;  ///< for a part of a window with striped regions (nam/client/spread.hpp)
  bool encrypt = false;           ///< clients must encrypt network access to the window; not sent to servers
};

/// The mapping of a grant's memory in this process.
class GrantMapping {
 public:
  GrantMapping(FileDescriptor const& descriptor, std::uint64_t bytes, SharedControl control);
  std::byte* at(WindowRegion const& region) const noexcept { return mapping_.base() + region.offset; }
  std::byte* base() const noexcept { return mapping_.base(); }
  std::uint64_t bytes() const noexcept { return mapping_.length(); }
  SharedControl const& control() const noexcept { return control_; }
  /// Throws Error(malformed) if the window does not lie within this memory.
  void check(WindowInfo const& window) const;

 private:
  engine::Mapping mapping_;
  SharedControl control_;
};

/// The session ends with its object, and its non-persistent windows end with it. Calls wait for their answer
/// and throw Error.
class Session {
 public:
  /// Throws Error(not_found) if the grant does not exist, or if it belongs to another user and the calling
  /// user is not an administrator.
  static Session open(Locator const& grant, int timeout_ms = default_timeout_ms);
  /// Opens the window with this port name. Throws Error(not_found) if the window does not exist or is not
  /// visible to this user.
  static Session connect(std::string const& port, WindowInfo* window);
  /// As the other connect(), at this address of the server.
  static Session connect(std::string const& port, Address const& server, WindowInfo* window);

  /// Allocates all regions in one round trip. Throws Error: no_space with the number of free bytes; quota;
  /// unsupported if the grant's storage does not offer the durability; denied if the user does not own the
  /// grant.
  WindowInfo allocate(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                      WindowOptions const& options = {});
  /// Returns a window that another session has allocated in the grant.
  WindowInfo join(std::string const& window);
  /// Makes a non-persistent window of this session persistent.
  void make_persistent(WindowInfo* window);
  /// Returns the memory to the grant unless the window is persistent.
  void release(WindowInfo const& window);
  /// As release(), but returns at once: later requests find the window released. Throws Error(unavailable).
  void release_soon(WindowInfo const& window);
  /// Returns when the results of operations that completed before the call have the window's durability.
  void persist(WindowInfo const& window);

  /// Transfers through the server in pieces, for clients that can neither map the memory nor be a peer of the
  /// data process.
  void read(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset, std::span<std::byte> into);
  void write(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset,
             std::span<std::byte const> from);

  /// Executes one operation on the region of a rank; complete on return. Returns false without side effects
  /// if other operations have locked the memory. `fetched` must have OperationRequest::bytes() bytes if the
  /// request reads. Throws Error(denied) if the mode of the window does not permit the operation.
  bool operate(WindowInfo const& window, std::uint64_t rank, OperationRequest const& request,
               std::span<std::byte> fetched);

  /// For the owner, on the server's host. Throws Error: denied; unsupported on another host, or in another
  /// PID namespace.
  GrantMapping map();

  /// For an owner who cannot map the memory: returns the address at which an engine reaches it, as
  /// mpix_engine_find_peer_at expects it. Descriptions of windows from here on have exposures, one for all
  /// regions of a window. Throws Error: denied; unsupported if the server accepts only its own host, or does
  /// not encrypt data although MPIX_NAM_ENCRYPT=1 requires encryption.
  std::vector<std::byte> engine_address();
  /// As SharedControl::try_lock; `holder` distinguishes lock holders within the session. Throws Error(denied)
  /// for an exclusive lock without the right to write.
  bool try_lock(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank, engine::LockMode mode,
                bool* has_turn);
  /// Returns at once.
  void unlock_soon(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank);
  void end_locks(std::uint64_t holder);

  Json usage();
  /// As Client::server_key().
  std::string const& server_key() const noexcept { return client_.server_key(); }
  int descriptor() const noexcept { return client_.descriptor(); }
  /// Whether the connection to the data process is open, as far as this host knows.
  bool is_open() const noexcept { return client_.is_open(); }

 private:
  explicit Session(Client client) : client_(std::move(client)) {}

  Client client_;
};

/// Whether the user requires encryption of data on networks: MPIX_NAM_ENCRYPT=1.
bool demands_encryption() noexcept;
/// Whether operations at the address from Session::engine_address() are encrypted.
bool is_encrypted(std::span<std::byte const> address);
/// Throws Error(unsupported) if operations at the address are not encrypted.
void demand_encryption(std::span<std::byte const> address);

}  // namespace mpixrma::nam

/// The start of UCX on request. A process that defers UCX (docs/decisions/0029) publishes, instead of the
/// addresses of its workers, a ServiceAddress at which it replies to queries for these addresses. Its agent
/// sleeps on the sockets, and starts UCX before it replies. Queries and replies are datagrams with MACs under
/// the queried process's secret. The querying process repeats a query until the reply arrives, the system
/// reports that nobody receives the query, or, over UDP, a time has passed.
///
/// The sockets also receive notices of lost connections: a process that cannot send messages to another one
/// cannot notify that process by a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/base/kept_from_children.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/base/take_each.hpp"
#include "engine/net/session.hpp"

namespace mpixrma::engine {

/// The address at which a process replies to queries for the addresses of its UCX workers.
struct ServiceAddress {
  std::uint64_t name = 0;  ///< of an abstract Unix socket, for processes of the same network namespace
  std::uint32_t host = 0;  ///< IPv4 address of a UDP socket in host byte order; 0: there is none
  std::uint32_t port = 0;  ///< of that socket
};

/// Longest query or reply.
inline constexpr std::size_t max_address_datagram = 60 * 1024;

class AddressService {
 public:
  /// Opens the sockets. `interfaces`: as in mpix_engine_config; UDP is used on a permitted interface that
  /// other hosts can reach, if there is one. Returns false if the system permits no Unix socket.
  bool open(char const* interfaces);

  ServiceAddress address() const noexcept { return address_; }
  /// Readable when a query has arrived; -1: no such socket.
  std::array<int, 2> descriptors() const noexcept { return {local_.get(), remote_.get()}; }

  struct Handler {
    /// Called for each query; returns the address of the process, empty on failure.
    std::function<std::span<std::byte const>()> start;
    /// Called for each notice that `process` has lost the connection. `silent`: as make_loss_notice().
    std::function<void(std::uint64_t process, bool silent)> note_loss;
  };
  /// Handles all queries and notices that have arrived and prove knowledge of the process's secret.
  void handle_received(Credentials const& credentials, Handler const& handler) noexcept;

  /// Sends a datagram to the service at `where`. Waits briefly if its queue is full; the datagram may be
  /// lost.
  void send(ServiceAddress const& where, std::span<std::byte const> datagram) const noexcept;

 private:
  void handle_received(int socket, Credentials const& credentials, Handler const& handler);
  void open_remote(char const* interfaces);

  ServiceAddress address_;
  std::vector<std::byte> received_;  ///< allocated by open(): queries are received without memory, too
  FileDescriptor local_;
  FileDescriptor remote_;
  KeptFromChildren local_kept_;
  KeptFromChildren remote_kept_;
};

/// The queries of a channel. Under the channel's lock.
class AddressQueries {
 public:
  struct Result {
    std::uint64_t process;
    std::vector<std::byte> address;  ///< as encode(); empty on failure
    char const* failure;             ///< the reason, or nullptr
  };

  explicit AddressQueries(Credentials const& credentials) noexcept;
  ~AddressQueries();
  AddressQueries(AddressQueries const&) = delete;
  AddressQueries& operator=(AddressQueries const&) = delete;

  /// Asks the process with this secret at `where`, a ServiceAddress. Ends an earlier query to the process.
  void ask(std::uint64_t process, Secret const& secret, std::span<std::byte const> where);
  bool are_pending() const noexcept { return !queries_.empty() || !results_.empty(); }
  /// Sends and repeats queries, and calls `handle` with the results of those that have ended; see
  /// take_each(). Never waits.
  template <typename Handle>
  void take_results(Handle handle) {
    progress();
    take_each(results_, handle);
  }
  void forget(std::uint64_t process) noexcept;

 private:
  struct Query;
  void progress();
  /// Returns whether the query has ended, with `*result`.
  static bool progress(Query& query, Result* result);
  static bool receive(Query const& query, Result* result);

  Credentials const& credentials_;
  std::uint64_t number_ = 0;
  std::vector<Query> queries_;
  std::vector<Result> results_;
};

}  // namespace mpixrma::engine

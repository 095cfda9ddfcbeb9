/// The blob that contains a process's address and secret: the MPI host publishes it, and every process that
/// connects reads it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mpixrma::engine {

/// Two processes with equal values can open each other's files in /proc and share memory. The value includes
/// the IPC namespace, because containers that isolate it do not expect to share memory.
struct HostIdentity {
  std::array<char, 40> boot_id{};
  std::uint64_t ipc_namespace = 0;
  std::uint64_t pid_namespace = 0;

  static HostIdentity of_this_process();
  bool operator==(HostIdentity const&) const = default;
};

inline constexpr std::size_t max_workers = 16;

struct ProcessAddress {
  std::uint64_t process = 0;
  std::uint64_t incarnation = 0;  ///< incarnation of the identity: the highest one is alive
  HostIdentity host;
  pid_t pid = 0;
  int tables_fd = -1;                           ///< descriptor of its PublishedTables
  int control_fd = -1;                          ///< descriptor of its ProcessControl
  std::vector<std::vector<std::byte>> workers;  ///< UCX addresses of its workers: 1 to max_workers
  bool encrypt = false;                         ///< sessions with it use encryption
  /// Its workers do not exist yet: each of `workers` is a ServiceAddress (address_service.hpp) instead.
  bool is_deferred = false;
};

/// Returns which of the `workers` workers of a process communicates with `process`.
std::size_t worker_for(std::uint64_t process, std::size_t workers) noexcept;

/// The parts of an address that a connection needs.
struct Location {
  std::vector<std::byte> worker;  ///< the worker that communicates with this process
  bool is_deferred = false;       ///< as ProcessAddress::is_deferred
  bool same_host = false;         ///< the process runs on this host, whether or not its memory is accessible
  pid_t pid = 0;                  ///< its pid on this host
};

/// Random bytes of a process, whose knowledge gives access to its memory (engine/net/session.hpp).
using Secret = std::array<std::byte, 32>;

/// Encodes the address without the secret.
std::vector<std::byte> encode(ProcessAddress const& address);

/// Returns false if the blob is damaged or not an address.
bool decode(std::span<std::byte const> blob, ProcessAddress* address);

/// Encodes the address with the secret, which the MPI host gives only to the processes of the job.
std::vector<std::byte> publish(ProcessAddress const& address, Secret const& secret);

/// Returns false if the blob does not come from publish().
bool read_published(std::span<std::byte const> blob, ProcessAddress* address, Secret* secret);

}  // namespace mpixrma::engine

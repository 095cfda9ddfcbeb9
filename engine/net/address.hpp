/// The blob by which a process is found and that admits to it: published by the host, read by every process
/// that wants to reach it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mpixrma::engine {

/// Two processes with equal values can open each other's files in /proc and share memory. The IPC
/// namespace is part of it because containers that isolate it do not expect to share memory.
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
  std::uint64_t incarnation = 0;  ///< of that identity: the greatest is the one that lives
  HostIdentity host;
  pid_t pid = 0;
  int tables_fd = -1;                           ///< of its PublishedTables
  int control_fd = -1;                          ///< of its ProcessControl
  std::vector<std::vector<std::byte>> workers;  ///< their UCX addresses: one at least, max_workers at most
  bool encrypt = false;                         ///< whoever opens a session with it seals its messages
};

/// Of `workers` workers that a process has, the place of the one that exchanges messages with `process`.
std::size_t worker_for(std::uint64_t process, std::size_t workers) noexcept;

/// What is needed of it to connect to the process.
struct Location {
  std::vector<std::byte> worker;  ///< the one for this process
  bool same_machine = false;      ///< it runs on this host, whether or not its memory is at hand
  pid_t pid = 0;                  ///< there
};

/// Random bytes of a process: whoever has them is admitted to its memory (engine/net/session.hpp).
using Secret = std::array<std::byte, 32>;

/// The address for everybody.
std::vector<std::byte> encode(ProcessAddress const& address);

/// False when the blob is not one of ours or is damaged.
bool decode(std::span<std::byte const> blob, ProcessAddress* address);

/// The address with the secret: what the host hands out to the processes of the job and to nobody else.
std::vector<std::byte> publish(ProcessAddress const& address, Secret const& secret);

/// False when the blob is not one of publish().
bool read_published(std::span<std::byte const> blob, ProcessAddress* address, Secret* secret);

}  // namespace mpixrma::engine

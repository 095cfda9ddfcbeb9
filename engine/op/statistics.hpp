/// Counters of operations and bytes by protocol, and of messages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/base/protocols.h"

namespace mpixrma::engine {

enum class Protocol : std::uint8_t {
#define MPIX_PROTOCOL(name, NAME, number, means) name = number,
  MPIX_ENGINE_PROTOCOLS(MPIX_PROTOCOL)
#undef MPIX_PROTOCOL
};
inline constexpr std::size_t protocol_count = MPIX_ENGINE_PROTOCOL_COUNT;

/// The names of the protocols, by Protocol.
inline constexpr std::array<char const*, protocol_count> protocol_names{
#define MPIX_PROTOCOL(name, NAME, number, means) #name,
    MPIX_ENGINE_PROTOCOLS(MPIX_PROTOCOL)
#undef MPIX_PROTOCOL
};

/// Traffic between this process and one other process, or all others.
struct Traffic {
  std::array<std::uint64_t, protocol_count> operations{};  ///< operations of this process, by Protocol
  std::array<std::uint64_t, protocol_count> bytes{};       ///< of their data, by Protocol
  std::uint64_t messages_sent = 0;                         ///< requests of this process
  std::uint64_t messages_executed = 0;  ///< requests of others that this process has executed

  std::uint64_t operations_by(Protocol protocol) const noexcept {
    return operations[static_cast<std::size_t>(protocol)];
  }

  Traffic& operator+=(Traffic const& other) noexcept {
    for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
      operations[protocol] += other.operations[protocol];
      bytes[protocol] += other.bytes[protocol];
    }
    messages_sent += other.messages_sent;
    messages_executed += other.messages_executed;
    return *this;
  }
};

/// Counters of one peer. Relaxed throughout, because they order nothing.
class TrafficCounters {
 public:
  void add_operation(Protocol protocol, std::size_t bytes) noexcept {
    auto const index = static_cast<std::size_t>(protocol);
    operations_[index].fetch_add(1, std::memory_order_relaxed);
    bytes_[index].fetch_add(bytes, std::memory_order_relaxed);
  }
  /// The same without an atomic instruction, for a process that issues operations by one thread at a time.
  void add_operation_alone(Protocol protocol, std::size_t bytes) noexcept {
    auto const index = static_cast<std::size_t>(protocol);
    auto const add = [](std::atomic<std::uint64_t>& counter, std::uint64_t more) {
      counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    };
    add(operations_[index], 1);
    add(bytes_[index], bytes);
  }
  void add_message() noexcept { messages_.fetch_add(1, std::memory_order_relaxed); }

  Traffic read() const noexcept {
    Traffic traffic;
    for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
      traffic.operations[protocol] = operations_[protocol].load(std::memory_order_relaxed);
      traffic.bytes[protocol] = bytes_[protocol].load(std::memory_order_relaxed);
    }
    traffic.messages_sent = messages_.load(std::memory_order_relaxed);
    return traffic;
  }

 private:
  std::array<std::atomic<std::uint64_t>, protocol_count> operations_{};
  std::array<std::atomic<std::uint64_t>, protocol_count> bytes_{};
  std::atomic<std::uint64_t> messages_{0};
};

/// Counters for tests, diagnostics and the verbose report.
struct Statistics {
  std::size_t peers;                  ///< processes whose address this one has read and not forgotten
  std::size_t endpoints;              ///< UCX endpoints, for requests or replies
  std::size_t mapped_regions;         ///< regions of peers that are mapped into this process
  Traffic traffic;                    ///< with all processes
  std::uint64_t messages_dropped;     ///< received and dropped, for example malformed or unauthenticated
  std::uint64_t requests_in_batches;  ///< requests sent in batches
};

}  // namespace mpixrma::engine

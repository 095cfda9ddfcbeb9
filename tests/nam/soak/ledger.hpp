/// Memory that the soak test's processes share: the values that each client has written, and those that the
/// server has acknowledged.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace mpixrma::nam::soak {

inline constexpr std::size_t client_count = 32;
inline constexpr std::size_t user_count = 4;
inline constexpr std::size_t block_count = 64;
inline constexpr std::size_t words_of_block = 128;
inline constexpr std::size_t block_bytes = words_of_block * sizeof(std::uint64_t);
inline constexpr std::size_t window_bytes = block_count * block_bytes;

/// One block of a client's window. Each word of the block holds the number of one write, from the last
/// acknowledged to the last attempted one: a server that dies may leave part of an unacknowledged write.
struct Block {
  std::atomic<std::uint64_t> attempted{0};
  std::atomic<std::uint64_t> acknowledged{0};  ///< lost only if all processes of the server die
  std::atomic<std::uint64_t> persisted{0};     ///< survives the death of all processes of the server

  /// To be called after the death of all processes of the server.
  void forget_unpersisted() noexcept { acknowledged.store(persisted.load()); }
};

struct ClientRecord {
  std::array<Block, block_count> blocks;
  std::array<char, 512> port{};
  std::atomic<std::uint64_t> writes{0};    ///< acknowledged
  std::atomic<std::uint64_t> persists{0};  ///< acknowledged
  std::atomic<std::uint64_t> checks{0};    ///< of blocks, without a finding
  std::atomic<std::uint64_t> refusals{0};  ///< of requests, while a server was down or its disk full
  std::atomic<std::uint64_t> last_round{0};
};

struct Ledger {
  std::array<ClientRecord, client_count> clients;
  std::atomic<std::uint64_t> deaths{0};  ///< odd from a kill of all processes of the server to its next start
  std::atomic<std::uint64_t> round{1};   ///< each client checks all of its window once in each round
  std::atomic<bool> ends{false};
  std::atomic<bool> has_failed{false};
  std::array<char, 512> failure{};

  static Ledger* make() {
    void* const memory =
        ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Ledger;
  }

  /// The first failure is kept.
  void fail(std::string const& reason) noexcept {
    if (has_failed.exchange(true)) return;
    failure[reason.copy(failure.data(), failure.size() - 1)] = '\0';
  }
};

}  // namespace mpixrma::nam::soak

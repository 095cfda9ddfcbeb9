/// UCX's own put and get without the engine: a process without the network path executes none of them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/support/imposture.hpp"

namespace mpixrma::test {
namespace {

enum : int { victim, intruder, ranks };
constexpr std::uint64_t pattern = 0x5eed;

/// Whether a UCP put reaches the memory of a process with these paths, over TCP. The key is forged, because
/// UCX over TCP needs none. UCX_TCP_PUT_ENABLE=n, because TCP's own put always arrives (docs/security.md).
bool put_arrives(unsigned paths) {
  // The victim checks the memory of its own process; the result is returned through shared memory.
  auto* const arrived =
      static_cast<bool*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ::setenv("UCX_TLS", "tcp,self", 1);
  ::setenv("UCX_TCP_PUT_ENABLE", "n", 1);
  run_job(
      ranks,
      [=](mpix_engine_config& config) {
        config.protocols = paths;
        config.network_without_hardware = 1;
      },
      [=](Rank& rank) {
        std::uint64_t volatile word = pattern;
        rank.publish(0, const_cast<std::uint64_t*>(&word));
        rank.barrier();
        if (rank.rank() == intruder) {
          Rogue rogue(target_of(rank, victim).address.workers.front());
          rogue.put(rank.published(victim, 0), 0xbad, std::chrono::seconds(1));
        }
        rank.barrier();
        if (rank.rank() == victim) *arrived = word != pattern;
      });
  ::unsetenv("UCX_TLS");
  ::unsetenv("UCX_TCP_PUT_ENABLE");
  bool const result = *arrived;
  ::munmap(arrived, 4096);
  return result;
}

TEST(RemoteMemory, IsUnavailableWithoutTheNetworkProtocol) {
  EXPECT_FALSE(put_arrives(MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_CROSS_MEMORY |
                           MPIX_ENGINE_PROTOCOL_MESSAGE));
}

/// Shows that the test above would detect an arriving put.
TEST(RemoteMemory, IsAvailableWithTheNetworkProtocol) {
  EXPECT_TRUE(put_arrives(MPIX_ENGINE_PROTOCOL_NETWORK));
}

}  // namespace
}  // namespace mpixrma::test

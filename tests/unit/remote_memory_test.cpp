/// UCX's own put and get, past the engine: without the rdma path a process has nobody who would execute them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/support/imposture.hpp"

namespace mpixrma::test {
namespace {

enum : int { victim, stranger, ranks };
constexpr std::uint64_t pattern = 0x5eed;

/// Whether a put of UCP arrives in the memory of a process with these paths, over TCP. The key is made up:
/// UCX over TCP asks for none. TCP's own put, which UCX 1.18 takes otherwise, arrives always
/// (docs/security.md).
bool put_arrives(unsigned paths) {
  // What the victim finds is its own process's; the answer comes back through memory that all share.
  auto* const arrived =
      static_cast<bool*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ::setenv("UCX_TLS", "tcp,self", 1);
  ::setenv("UCX_TCP_PUT_ENABLE", "n", 1);
  run_job(
      ranks,
      [=](mpix_engine_config& config) {
        config.paths = paths;
        config.rdma_without_hardware = 1;
      },
      [=](Rank& rank) {
        std::uint64_t volatile word = pattern;
        rank.show(0, const_cast<std::uint64_t*>(&word));
        rank.barrier();
        if (rank.rank() == stranger) {
          Rogue rogue(target_of(rank, victim).address.workers.front());
          rogue.put(rank.shown(victim, 0), 0xbad, std::chrono::seconds(1));
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

TEST(RemoteMemory, is_not_there_without_the_rdma_path) {
  EXPECT_FALSE(put_arrives(MPIX_ENGINE_PATH_DIRECT | MPIX_ENGINE_PATH_CROSS_MEMORY | MPIX_ENGINE_PATH_AGENT));
}

/// So the test above would see one.
TEST(RemoteMemory, is_there_with_the_rdma_path) { EXPECT_TRUE(put_arrives(MPIX_ENGINE_PATH_RDMA)); }

}  // namespace
}  // namespace mpixrma::test

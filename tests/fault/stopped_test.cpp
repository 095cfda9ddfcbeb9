/// A rank that is stopped in the middle of incoming data: nothing fails, and all of it arrives.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

TEST(Stopped, FloodToStoppedRankArrivesAfterResume) {
  constexpr int puts = 20000;
  constexpr int max_origins = 8;
  Memory memory(sizeof(int) * puts * max_origins);
  int const others = memory.size() - 1;
  pid_t target = ::getpid();
  MPI_Bcast(&target, sizeof target, MPI_BYTE, 0, world);
  std::thread helper;
  if (memory.rank() == 1) {
    helper = std::thread([target] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ::kill(target, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::seconds(2));
      ::kill(target, SIGCONT);
    });
  }
  if (memory.rank() != 0) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      auto* const begin = reinterpret_cast<int*>(memory.at(0, kind)) + (memory.rank() - 1) * puts;
      std::vector<int> values(puts);
      for (int i = 0; i < puts; ++i) {
        values[static_cast<std::size_t>(i)] = memory.rank() * 1000000 + i;
        ASSERT_EQ(transfer(MPIX_RMA_PUT, &values[static_cast<std::size_t>(i)], 1, MPI_INT, 0, begin + i),
                  MPI_SUCCESS);
      }
      ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
    }
  }
  if (helper.joinable()) helper.join();
  MPI_Barrier(world);
  if (memory.rank() != 0) return;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    auto const* const values = reinterpret_cast<int const*>(memory.own(kind));
    for (int i = 0; i < others * puts; ++i)
      ASSERT_EQ(values[i], (i / puts + 1) * 1000000 + i % puts) << "kind " << kind;
  }
}

}  // namespace
}  // namespace mpixrma::test

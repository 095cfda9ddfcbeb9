/// ARMCI: non-blocking calls without enough memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"

namespace {

constexpr std::size_t large = 64 * 1024;   ///< less than a list of the segments, more than a message of them
thread_local int large_until_failure = 0;  ///< number of the large allocation that fails; 0: none

bool fails(std::size_t bytes) {
  return bytes >= large && large_until_failure > 0 && --large_until_failure == 0;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = fails(bytes) ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

/// Whichever allocation of the call fails: there is nothing to wait for afterwards, and no failure is left.
TEST(NoMemory, CallThatFailsLeavesNothingToWaitFor) {
  constexpr int segments = 8000;
  Remote const remote(3 * 8 * segments);
  int const next = (me() + 1) % size();
  std::vector<long> source(segments, me() + 1);
  std::vector<void*> from;
  std::vector<void*> to;
  for (int i = 0; i < segments; ++i) {
    from.push_back(&source[static_cast<std::size_t>(i)]);
    to.push_back(remote.at(next, 8 * (2 * i + i % 2)));  // not equally spaced
  }
  armci_giov_t list{from.data(), to.data(), 8, segments};
  int failures = 0;
  for (int failing = 1;; ++failing) {
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    large_until_failure = failing;
    int const code = ARMCI_NbPutV(&list, 1, next, failing % 2 == 0 ? &handle : nullptr);
    bool const failed = large_until_failure == 0;
    large_until_failure = 0;
    EXPECT_EQ(code != 0, failed);
    EXPECT_EQ(failing % 2 == 0 ? ARMCI_Wait(&handle) : ARMCI_WaitProc(next), 0);
    EXPECT_EQ(ARMCI_WaitAll(), 0);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 0);
  ARMCI_Barrier();
  int const previous = (me() + size() - 1) % size();
  auto const* const mine = reinterpret_cast<long const*>(remote.mine());
  for (int i = 0; i < segments; ++i) ASSERT_EQ(mine[2 * i + i % 2], previous + 1);
}

}  // namespace

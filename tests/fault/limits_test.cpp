/// Resource limits: with too little address space or too few descriptors at one rank, allocations fail at all
/// ranks, and the program continues; without locked memory everything works.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

/// A limit of this process while the object lives.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    rlimit const limit{value, before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource_, &limit), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
  Limit(Limit const&) = delete;
  Limit& operator=(Limit const&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

/// While the object lives, the limit of locked memory applies to this thread even if it is root's.
class WithoutLockPrivilege {
 public:
  WithoutLockPrivilege() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_), 0);
    Capabilities left{before_[0], before_[1]};
    left[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
    EXPECT_EQ(::syscall(SYS_capset, &header_, left), 0);
  }
  ~WithoutLockPrivilege() { EXPECT_EQ(::syscall(SYS_capset, &header_, before_), 0); }
  WithoutLockPrivilege(WithoutLockPrivilege const&) = delete;
  WithoutLockPrivilege& operator=(WithoutLockPrivilege const&) = delete;

 private:
  using Capabilities = __user_cap_data_struct[_LINUX_CAPABILITY_U32S_3];
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  Capabilities before_{};
};

rlim_t address_space() {
  unsigned long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file != nullptr && std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<rlim_t>(pages) * 4096;
}

constexpr MPI_Aint mebibyte = 1 << 20;

/// Checks that operations still work, on a small new allocation and in other memory.
void expect_working_operations() {
  Memory memory(4096);
  int const next = (memory.rank() + 1) % memory.size();
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int value = 100 * kind + memory.rank();
    EXPECT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_INT, next, memory.at(next, kind), MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
  }
  EXPECT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
  MPI_Barrier(world);
  int const before = (memory.rank() + memory.size() - 1) % memory.size();
  for (int kind = 0; kind < Memory::kinds; ++kind)
    EXPECT_EQ(*reinterpret_cast<int*>(memory.own(kind)), 100 * kind + before);
}

void expect_no_memory_anywhere(MPI_Aint bytes) {
  ErrorsReturn const returned(world);
  std::vector<void*> bases(8, nullptr);
  EXPECT_EQ(class_of(rma_allocate(bytes, MPI_INFO_NULL, world, bases.data())), MPI_ERR_NO_MEM);
}

/// Runs with `value` as rank 0's limit of `resource`.
void expect_refusal_under(__rlimit_resource resource, rlim_t value, MPI_Aint bytes) {
  expect_working_operations();
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  std::optional<Limit> limit;
  if (rank == 0) limit.emplace(resource, value);
  expect_no_memory_anywhere(rank == 0 ? bytes : 64);
  if (rank == 0) {
    ErrorsReturn const returned(MPI_COMM_WORLD);
    void* base = nullptr;
    EXPECT_EQ(class_of(rma_allocate_local(bytes, MPI_INFO_NULL, &base)), MPI_ERR_NO_MEM);
  }
  expect_working_operations();
  limit.reset();
  expect_working_operations();
}

TEST(Limits, RefusesAllocationWithoutAddressSpaceAtOneRank) {
  expect_refusal_under(RLIMIT_AS, address_space() + 512 * mebibyte, 1024 * mebibyte);
}

int counters_of(MPI_Win window, int rank) {
  int num = -1;
  EXPECT_EQ(MPIX_Win_get_num_notify(window, rank, &num), MPI_SUCCESS);
  return num;
}

/// 128 Mi counters at rank 0.
TEST(Limits, NotificationCountersWithoutMemoryAreRefusedAtAllRanks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  long* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(64, 8, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1 + rank), MPI_SUCCESS);
  MPI_Win_lock_all(0, window);
  ASSERT_EQ(MPIX_Put_notify(nullptr, 0, MPI_LONG, (rank + 1) % size, 0, 0, MPI_LONG, 0, window), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  for (int round = 0; round < 2; ++round) {
    std::optional<Limit> limit;
    if (rank == 0) limit.emplace(RLIMIT_AS, address_space() + 512 * mebibyte);
    int const wanted = rank == 0 ? 1 << 27 : 5;
    EXPECT_EQ(class_of(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, wanted)), MPI_ERR_NO_MEM);
    for (int other = 0; other < size; ++other) EXPECT_EQ(counters_of(window, other), 1 + other);
    MPI_Count value = -1;
    EXPECT_EQ(MPIX_Win_get_notify_value(window, 0, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
  }
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 5), MPI_SUCCESS);
  for (int other = 0; other < size; ++other) EXPECT_EQ(counters_of(window, other), 5);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST(Limits, RefusesAllocationWithoutDescriptorsAtOneRank) {
  expect_working_operations();  // opens the descriptors that operations need
  int const next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(next, 0);
  ::close(next);
  expect_refusal_under(RLIMIT_NOFILE, static_cast<rlim_t>(next), 256 * mebibyte);
}

TEST(Limits, ReachesPeerMemoryWithoutSpaceToMapIt) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  std::vector<void*> bases(static_cast<std::size_t>(size), nullptr);
  MPI_Aint const bytes = rank == size - 1 ? 256 * mebibyte : 64;
  ASSERT_EQ(rma_allocate(bytes, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
  if (rank == 0 && size > 1) {
    Limit const limit(RLIMIT_AS, address_space() + 64 * mebibyte);
    int value = 77;
    EXPECT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_INT, size - 1, bases.back(), MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, size - 1), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  if (rank == size - 1 && size > 1) EXPECT_EQ(*static_cast<int*>(bases.back()), 77);
  EXPECT_EQ(rma_free(bases[static_cast<std::size_t>(rank)], world), MPI_SUCCESS);
}

TEST(Limits, SharedWindowThatOneRankCannotMapIsRefusedAtAllRanks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (size == 1) GTEST_SKIP() << "needs a peer";
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  int num = 0;
  bool const is_ours = MPIX_Win_get_num_notify(window, 0, &num) == MPI_SUCCESS;
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  if (!is_ours) GTEST_SKIP() << "another component provides shared windows";
  std::optional<Limit> limit;
  if (rank == size - 1) limit.emplace(RLIMIT_AS, address_space() + 64 * mebibyte);
  ErrorsReturn const returned(world);
  MPI_Aint const bytes = rank == 0 ? 256 * mebibyte : 64;
  EXPECT_EQ(class_of(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, world, &base, &window)),
            MPI_ERR_NO_MEM);
  limit.reset();
  ASSERT_EQ(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST(Limits, OperatesWithoutLockedMemory) {
  Limit const limit(RLIMIT_MEMLOCK, 0);
  WithoutLockPrivilege const without;
  std::vector<char> memory(4096);
  // The function of the C library does nothing under sanitizers.
  EXPECT_NE(::syscall(SYS_mlock, memory.data(), memory.size()), 0) << "the limit has no effect";
  expect_working_operations();
}

}  // namespace
}  // namespace mpixrma::test

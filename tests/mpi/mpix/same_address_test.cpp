/// Info key mpix_same_address: the memory of all ranks has one base.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

constexpr std::uintptr_t mib = 1 << 20;

class SameAddress : public ::testing::Test {
 protected:
  SameAddress() {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    MPI_Info_create(&info_);
    MPI_Info_set(info_, "mpix_same_address", "true");
  }
  ~SameAddress() override { MPI_Info_free(&info_); }

  /// Returns the base of all ranks.
  std::uintptr_t allocate(MPI_Aint bytes) {
    std::vector<void*> bases(static_cast<std::size_t>(size_));
    EXPECT_EQ(rma_allocate(bytes, info_, world, bases.data()), MPI_SUCCESS);
    EXPECT_EQ(std::ranges::count(bases, bases[0]), size_);
    return reinterpret_cast<std::uintptr_t>(bases[0]);
  }
  static void free(std::uintptr_t base) {
    EXPECT_EQ(rma_free(reinterpret_cast<void*>(base), world), MPI_SUCCESS);
  }
  /// Puts to the next rank at the caller's own address.
  void expect_transfers(std::uintptr_t base, MPI_Aint bytes) {
    auto const count = static_cast<int>(bytes / 8);
    std::vector<long> values(static_cast<std::size_t>(count), rank_);
    int const next = (rank_ + 1) % size_;
    long const previous = (rank_ + size_ - 1) % size_;
    EXPECT_EQ(transfer(MPIX_RMA_PUT, values.data(), count, MPI_LONG, next, reinterpret_cast<void*>(base),
                       MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION),
              MPI_SUCCESS);
    MPI_Barrier(world);
    auto const* const own = reinterpret_cast<long const*>(base);
    EXPECT_EQ(std::count(own, own + count, previous), count);
    MPI_Barrier(world);
  }

  ErrorsReturn returned_{world};
  int rank_ = 0;
  int size_ = 0;
  MPI_Info info_ = MPI_INFO_NULL;
};

TEST_F(SameAddress, AllRanksHaveOneBase) {
  for (MPI_Aint const bytes : {MPI_Aint{8}, MPI_Aint{100000}, MPI_Aint{3} << 20, MPI_Aint{80} << 20}) {
    std::uintptr_t const base = allocate(bytes);
    ASSERT_NE(base, 0u);
    EXPECT_EQ(base % (2 * mib), 0u);
    if (char const* const begin = std::getenv("OMPI_MCA_osc_mpix_same_address_base"))
      EXPECT_GE(base, std::strtoull(begin, nullptr, 0));
    expect_transfers(base, std::min<MPI_Aint>(bytes, 100000));
    free(base);
  }
}

TEST_F(SameAddress, AllocationsDoNotOverlap) {
  std::uintptr_t const first = allocate(3 << 20);
  std::uintptr_t const second = allocate(5000);
  std::uintptr_t const third = allocate(5000);
  EXPECT_NE(second, third);
  EXPECT_TRUE(second >= first + 3 * mib || second + 5000 <= first);
  expect_transfers(first, 3 << 20);
  expect_transfers(third, 5000);
  free(second);
  expect_transfers(first, 3 << 20);
  expect_transfers(third, 5000);
  free(third);
  free(first);
}

/// The library unmaps such memory when it is freed, and keeps none of its pages for reuse.
TEST_F(SameAddress, FreedAddressesAreUsedAgain) {
  std::uintptr_t const first = allocate(8 << 20);
  free(first);
  for (int round = 0; round < 50; ++round) {
    std::uintptr_t const again = allocate(1 << 20);
    ASSERT_EQ(again, first);
    *reinterpret_cast<long*>(again) = round;
    free(again);
  }
}

TEST_F(SameAddress, SizesMayDiffer) {
  MPI_Aint const bytes = rank_ == 0 ? 0 : 1000 * rank_;
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  ASSERT_EQ(rma_allocate(bytes, info_, world, bases.data()), MPI_SUCCESS);
  EXPECT_EQ(bases[0], nullptr);
  for (void* const base : bases) EXPECT_EQ(base, base == bases[0] ? nullptr : bases.back());
  EXPECT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
}

/// Each rank has mapped other memory at a different one of the addresses where the next allocation may be.
TEST_F(SameAddress, AddressesInUseAtAnyRankAreAvoided) {
  std::uintptr_t const first = allocate(4 << 20);
  free(first);
  void* const wanted = reinterpret_cast<void*>(first + 4 * mib * static_cast<std::uintptr_t>(rank_));
  void* const other = ::mmap(wanted, 4 * mib, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(other, wanted);
  *static_cast<long*>(other) = 4711;
  std::uintptr_t const base = allocate(4 << 20);
  EXPECT_GE(base, first + 4 * mib * static_cast<std::uintptr_t>(size_));
  expect_transfers(base, 4 << 20);
  free(base);
  EXPECT_EQ(*static_cast<long*>(other), 4711);
  ::munmap(other, 4 * mib);
  MPI_Barrier(world);
}

/// The first possible address has this alignment in any case, so other memory occupies it.
TEST_F(SameAddress, AlignmentIsTheLargestRequired) {
  std::uintptr_t const first = allocate(64);
  MPI_Info_set(info_, "mpi_minimum_memory_alignment", rank_ == size_ - 1 ? "67108864" : "64");
  std::uintptr_t const base = allocate(5000);
  EXPECT_EQ(base % (64 * mib), 0u);
  free(base);
  free(first);
}

TEST_F(SameAddress, FailsAtAllRanksWithoutCommonAddresses) {
  MPI_Info_set(info_, "mpix_lazy_memory", "true");
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  MPI_Aint const most = MPI_Aint{17} << 40;
  EXPECT_EQ(class_of(rma_allocate(rank_ == size_ - 1 ? most : 8, info_, world, bases.data())),
            MPI_ERR_NO_MEM);
  free(allocate(8));
}

TEST_F(SameAddress, FailsAtAllRanksIfTheKeyDiffers) {
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  if (size_ > 1)
    EXPECT_EQ(class_of(rma_allocate(64, rank_ == 0 ? MPI_INFO_NULL : info_, world, bases.data())),
              MPI_ERR_INFO_VALUE);
  MPI_Info_set(info_, "mpix_same_address", rank_ == 0 ? "perhaps" : "true");
  EXPECT_EQ(class_of(rma_allocate(64, info_, world, bases.data())), MPI_ERR_INFO_VALUE);
  MPI_Info_set(info_, "mpix_same_address", "false");
  ASSERT_EQ(rma_allocate(64, info_, world, bases.data()), MPI_SUCCESS);
  EXPECT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
}

/// Ranks of different communicators agree among themselves.
TEST_F(SameAddress, EachCommunicatorHasItsOwnAddresses) {
  std::uintptr_t const all = allocate(64);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(world, rank_ % 2, rank_, &half);
  int members = 0;
  MPI_Comm_size(half, &members);
  std::vector<void*> bases(static_cast<std::size_t>(members));
  ASSERT_EQ(rma_allocate(rank_ % 2 == 0 ? 64 : 9 << 20, info_, half, bases.data()), MPI_SUCCESS);
  EXPECT_EQ(std::ranges::count(bases, bases[0]), members);
  std::uintptr_t const both = allocate(64);
  EXPECT_NE(both, all);
  EXPECT_NE(both, reinterpret_cast<std::uintptr_t>(bases[0]));
  expect_transfers(both, 64);
  free(both);
  EXPECT_EQ(rma_free(bases[0], half), MPI_SUCCESS);
  MPI_Comm_free(&half);
  free(all);
}

}  // namespace
}  // namespace mpixrma::test

/// mpix: read-modify-writes.
#include <sys/mman.h>

#include <ranges>

#include "tests/mpi/cpp/support.hpp"

namespace mpixrma::test {
namespace {

class CppUpdates : public Cpp {};

TEST_F(CppUpdates, FetchAddCountsEveryRank) {
  mpix::allocation<long> const memory = zeroed<long>(2);
  mpix::remote_ptr<long> const counter = memory.at(0);
  constexpr long rounds = 100;
  std::vector<int> drawn(static_cast<std::size_t>(rounds * size_));
  for (long i = 0; i < rounds; ++i) ++drawn[static_cast<std::size_t>(mpix::fetch_add(comm_, counter, 1))];
  for (long i = 0; i < rounds; ++i) mpix::rmw<mpix::rmw_op::inc>(comm_, mpix::none, mpix::none, counter + 1);
  complete_all();
  EXPECT_EQ(mpix::atomic_read(comm_, counter), rounds * size_);
  EXPECT_EQ(mpix::atomic_read(comm_, mpix::remote_ptr<long const>(counter)), rounds * size_);
  EXPECT_EQ(mpix::atomic_read(comm_, counter + 1), rounds * size_);
  MPI_Allreduce(MPI_IN_PLACE, drawn.data(), static_cast<int>(drawn.size()), MPI_INT, MPI_SUM, comm_);
  EXPECT_TRUE(std::ranges::all_of(drawn, [](int times) { return times == 1; }));
}

TEST_F(CppUpdates, CompareExchangeServesAsLock) {
  mpix::allocation<long> const memory = zeroed<long>(2);
  mpix::remote_ptr<long> const lock = memory.at(0);
  mpix::remote_ptr<long> const guarded = lock + 1;
  constexpr int rounds = 10;
  for (int i = 0; i < rounds; ++i) {
    for (long expected = 0; !mpix::compare_exchange(comm_, lock, expected, rank_ + 1); expected = 0)
      ASSERT_NE(expected, rank_ + 1);
    long value = 0;
    mpix::get(comm_, value, guarded, {.blocking = true});
    ++value;
    mpix::put(comm_, value, guarded, {.blocking = true});
    mpix::complete(comm_, 0);
    ASSERT_EQ(mpix::exchange(comm_, lock, 0), rank_ + 1);
  }
  complete_all();
  EXPECT_EQ(mpix::get_value(comm_, guarded), rounds * size_);
  MPI_Barrier(comm_);
}

TEST_F(CppUpdates, OperationsOfEveryKind) {
  mpix::allocation<int> const memory = zeroed<int>(8);
  mpix::remote_ptr<int> const there = memory.at(next_);
  EXPECT_EQ(mpix::exchange(comm_, there, 12), 0);
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::band>(comm_, there, 10), 12);
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::bxor>(comm_, there, 3), 8);
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::max>(comm_, there, 20), 11);
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::prod>(comm_, there, -2), 20);
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::land>(comm_, there, 0), -40);
  EXPECT_EQ(mpix::atomic_read(comm_, there), 0);
  std::array<int, 3> const mask{0xf0, 0x0f, -1};
  std::array<int, 3> const bits{0x55, 0x55, 0x55};
  std::array<int, 3> before{-1, -1, -1};
  mpix::rmw2<mpix::rmw2_op::mask_swap>(comm_, mask, bits, before, there + 1);
  complete_all();
  EXPECT_EQ(before, (std::array<int, 3>{}));
  EXPECT_EQ(memory[1], 0x50);
  EXPECT_EQ(memory[2], 0x05);
  EXPECT_EQ(memory[3], 0x55);
  MPI_Barrier(comm_);
  std::vector<int> const added{1, 2, 3};
  std::vector<int> previous(3);
  mpix::rrmw<mpix::rmw_op::sum>(comm_, added, previous, there + 1).wait();
  EXPECT_EQ(previous, (std::vector<int>{0x50, 0x05, 0x55}));
  mpix::rrmw2<mpix::rmw2_op::comp_swap_lt>(comm_, mask, bits, before, there + 1).wait();
  complete_all();
  EXPECT_EQ(before, (std::array<int, 3>{0x51, 0x07, 0x58}));
  EXPECT_EQ(memory[1], 0x51);  // 0xf0 < 0x51 does not hold
  EXPECT_EQ(memory[2], 0x07);
  EXPECT_EQ(memory[3], 0x55);  // -1 < 0x58 does
  MPI_Barrier(comm_);
}

TEST_F(CppUpdates, RejectsOperandsOfDifferentLengths) {
  mpix::allocation<int> const memory = zeroed<int>(4);
  std::vector<int> const two(2);
  std::vector<int> three(3);
  std::vector<int> fetched(3);
  mpix::remote_ptr<int> const there = memory.at(next_);
  using enum mpix::rmw2_op;
  EXPECT_EQ(thrown([&] { mpix::rmw<mpix::rmw_op::sum>(comm_, two, three, there); }), MPI_ERR_COUNT);
  EXPECT_EQ(thrown([&] { mpix::rmw2<comp_swap_e>(comm_, two, three, fetched, there); }), MPI_ERR_COUNT);
  EXPECT_EQ(thrown([&] { mpix::rmw2<comp_swap_e>(comm_, three, two, fetched, there); }), MPI_ERR_COUNT);
  EXPECT_EQ(thrown([&] { mpix::rmw2<comp_swap_e>(comm_, two, three, mpix::none, there); }), MPI_ERR_COUNT);
  EXPECT_EQ(thrown([&] { mpix::rmw2<comp_swap_e>(comm_, three, three, fetched, there); }), MPI_SUCCESS);
#ifndef MPICH_VERSION  // has no texts for codes of users
  EXPECT_EQ((mpix::rmw<mpix::rmw_op::sum, mpix::results>(comm_, two, three, there).message()),
            "mpix::rmw: the lengths differ: operand 2, result 3");
  EXPECT_EQ((mpix::rmw2<comp_swap_e, mpix::results>(comm_, two, three, fetched, there).message()),
            "mpix::rmw2: the lengths differ: operand 2, operand2 3, result 3");
  mpix::status const first = mpix::rmw<mpix::rmw_op::sum, mpix::results>(comm_, two, three, there);
  for (int i = 0; i < 15; ++i) {
    auto const shorter = std::span(fetched).first(2);
    EXPECT_NE((mpix::rmw<mpix::rmw_op::sum, mpix::results>(comm_, three, shorter, there)), first);
  }
  EXPECT_EQ(first.message(), "mpix::rmw: the lengths differ: operand 2, result 3");
#endif
  complete_all();
  EXPECT_TRUE(std::ranges::all_of(memory, [](int element) { return element == 0; }));
}

// A pair of iterators, whose tuple_size is 2.
#ifndef __clang__  // Clang 14 refuses the subranges of GCC 12's library
TEST_F(CppUpdates, SubrangesHaveLargeCounts) {
  using Range = std::ranges::subrange<char*>;
  static_assert(std::is_same_v<mpix::detail::count_type<char, Range>, MPI_Count>);
  static_assert(std::is_same_v<mpix::detail::count_type<char, std::array<char, 3> const&>, int>);
  static_assert(std::is_same_v<mpix::detail::count_type<char, std::span<char, 3>>, int>);
  static_assert(std::is_same_v<mpix::detail::count_type<char, char(&)[3]>, int>);
  mpix::allocation<char> const memory = zeroed<char>(100);
  std::size_t const length = (std::size_t{1} << 32) + 3;
  void* const pages =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const first = static_cast<char*>(pages);
  Range const range(first, first + length);
  mpix::status const failed =
      mpix::put<mpix::results>(comm_, range, memory.at(next_), {.remote_completion = true});
  mpix::status const completed = mpix::complete<mpix::results>(comm_);
  EXPECT_TRUE(failed.is(mpix::errc::address) || completed.is(mpix::errc::address));
  mpix::put(comm_, Range(first, first + 3), memory.at(next_));
  complete_all();
  ::munmap(pages, length);
}
#endif

TEST_F(CppUpdates, ComplexSumsAndPairsSwapped) {
  using Complex = std::complex<float>;
  mpix::allocation<Complex> const numbers = zeroed<Complex>(1);
  EXPECT_EQ(mpix::fetch_add(comm_, numbers.at(next_), Complex(1, -1)), Complex());
  EXPECT_EQ(mpix::fetch<mpix::rmw_op::prod>(comm_, numbers.at(next_), Complex(0, 1)), Complex(1, -1));
  complete_all();
  EXPECT_EQ(numbers[0], Complex(1, 1));
  using Pair = std::pair<long, int>;
  mpix::allocation<Pair> const pairs = zeroed<Pair>(1);
  EXPECT_EQ(mpix::exchange(comm_, pairs.at(next_), Pair(5, rank_)), Pair());
  complete_all();
  EXPECT_EQ(pairs[0], Pair(5, previous_));
  MPI_Barrier(comm_);
}

}  // namespace
}  // namespace mpixrma::test

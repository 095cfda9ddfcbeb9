/// Updates of the same elements by all processes: misaligned, across cache lines, pages and stripes, and
/// through several windows on the same memory.
#include <array>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

class AtomicUpdates : public FlavourTest {};

/// Adds 1 to a long by fetch-and-op, by accumulate, or by compare-and-swap in a loop.
void add_one(MPI_Win window, int target, MPI_Aint at, int way) {
  static long const one = 1;
  static long before = 0;
  if (way == 0) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, at, MPI_SUM, window);
  } else if (way == 1) {
    MPI_Accumulate(&one, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, window);
  } else {
    long present = 0;
    long found = 0;
    do {
      MPI_Get_accumulate(nullptr, 0, MPI_LONG, &present, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_NO_OP,
                         window);
      MPI_Win_flush(target, window);
      long const wanted = present + 1;
      MPI_Compare_and_swap(&wanted, &present, &found, MPI_LONG, target, at, window);
      MPI_Win_flush(target, window);
    } while (found != present);
  }
}

template <typename Value>
Value value_at(Window const& window, MPI_Aint offset) {
  Value value;
  std::memcpy(&value, window.base() + offset, sizeof value);
  return value;
}

TEST_P(AtomicUpdates, UnalignedElementsAreUpdatedExactly) {
  static constexpr std::array<MPI_Aint, 7> places{1, 61, 4093, 16381, 32765, 2020, 1003};
  Window window(GetParam(), 65536);
  int const count = rounds(1050);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < count; ++i) {
    MPI_Aint const place = places[static_cast<std::size_t>(i) % places.size()];
    int const target = i / 7 % size_;
    static short const one_short = 1;
    static double const one_double = 1;
    static long const ones[3] = {1, 1, 1};
    static long before = 0;
    add_one(window, target, window.at(target, place), i % 3);
    MPI_Accumulate(&one_short, 1, MPI_SHORT, target, window.at(target, place + 100), 1, MPI_SHORT, MPI_SUM,
                   window);
    MPI_Accumulate(&one_double, 1, MPI_DOUBLE, target, window.at(target, place + 200), 1, MPI_DOUBLE, MPI_SUM,
                   window);
    MPI_Accumulate(ones, 3, MPI_LONG, target, window.at(target, place + 300), 3, MPI_LONG, MPI_SUM, window);
    MPI_Get_accumulate(ones, 1, MPI_LONG, &before, 1, MPI_LONG, target, window.at(target, place + 308), 1,
                       MPI_LONG, MPI_SUM, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  for (std::size_t k = 0; k < places.size(); ++k) {
    long expected = 0;
    for (int i = static_cast<int>(k); i < count; i += 7)
      if (i / 7 % size_ == rank_) expected += size_;
    EXPECT_EQ(value_at<long>(window, places[k]), expected) << places[k];
    EXPECT_EQ(value_at<short>(window, places[k] + 100), static_cast<short>(expected)) << places[k];
    EXPECT_EQ(value_at<double>(window, places[k] + 200), static_cast<double>(expected)) << places[k];
    for (int word = 0; word < 3; ++word)
      EXPECT_EQ(value_at<long>(window, places[k] + 300 + 8 * word), (word == 1 ? 2 : 1) * expected)
          << places[k];
  }
}

MPIX_ON_EACH_FLAVOUR(AtomicUpdates);

class ManyWindows : public WindowTest {
 protected:
  static constexpr MPI_Aint bytes = 16384;
  static constexpr MPI_Aint place = 4096 + 64;  ///< displacement of the elements
  static constexpr int integers = 40;

  void make() {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, world, &base_, &windows_[0]);
    std::memset(base_, 0, bytes);
    MPI_Win_create(base_, bytes, 8, MPI_INFO_NULL, world, &windows_[1]);
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &windows_[2]);
    MPI_Win_attach(windows_[2], base_, bytes);
    MPI_Win_create(base_ + 4096, bytes - 4096, 1, MPI_INFO_NULL, world, &windows_[3]);
    MPI_Comm_split(world, 0, -rank_, &reversed_);
    MPI_Win_create(base_, bytes, 4, MPI_INFO_NULL, reversed_, &windows_[4]);
    MPI_Aint own = 0;
    MPI_Get_address(base_, &own);
    bases_.resize(static_cast<std::size_t>(size_));
    MPI_Allgather(&own, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, world);
  }
  void end() {
    for (std::size_t i = windows_.size(); i-- > 0;) MPI_Win_free(&windows_[i]);
    MPI_Comm_free(&reversed_);
  }
  MPI_Aint displacement(std::size_t window, int target, MPI_Aint offset) const {
    MPI_Aint const displacements[] = {offset, offset / 8, bases_[static_cast<std::size_t>(target)] + offset,
                                      offset - 4096, offset / 4};
    return displacements[window];
  }

  char* base_ = nullptr;
  std::array<MPI_Win, 5> windows_;
  MPI_Comm reversed_ = MPI_COMM_NULL;
  std::vector<MPI_Aint> bases_;
};

TEST_F(ManyWindows, UpdateTheSameMemoryAtomically) {
  make();
  int const count = rounds(600);
  static long const one = 1;
  static double const one_double = 1;
  static int const one_int = 1;
  static long ones[integers];
  std::fill(std::begin(ones), std::end(ones), 1);
  for (MPI_Win const window : windows_) MPI_Win_lock_all(0, window);
  for (int i = 0; i < count; ++i) {
    auto const which = static_cast<std::size_t>(i / 3 % 5);
    MPI_Win const window = windows_[which];
    int const owner = i % size_;
    int const target = which == 4 ? size_ - 1 - owner : owner;
    auto const at = [&](MPI_Aint offset) { return displacement(which, owner, place + offset); };
    if (i % 2 == 0) {
      static long before = 0;
      MPI_Fetch_and_op(&one, &before, MPI_LONG, target, at(0), MPI_SUM, window);
    } else {
      MPI_Accumulate(&one, 1, MPI_LONG, target, at(0), 1, MPI_LONG, MPI_SUM, window);
    }
    MPI_Accumulate(&one_double, 1, MPI_DOUBLE, target, at(64), 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Accumulate(&one_int, 1, MPI_INT, target, at(128), 1, MPI_INT, MPI_SUM, window);
    MPI_Accumulate(ones, integers, MPI_LONG, target, at(256), integers, MPI_LONG, MPI_SUM, window);
    if (i % 16 == 0) MPI_Win_flush(target, window);
  }
  for (MPI_Win const window : windows_) MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  long expected = 0;
  for (int i = rank_; i < count; i += size_) expected += size_;
  auto const* const elements = reinterpret_cast<long const*>(base_ + place);
  EXPECT_EQ(elements[0], expected);
  EXPECT_EQ(*reinterpret_cast<double const*>(base_ + place + 64), static_cast<double>(expected));
  EXPECT_EQ(*reinterpret_cast<int const*>(base_ + place + 128), expected);
  for (int i = 0; i < integers; ++i) EXPECT_EQ(elements[32 + i], expected) << i;
  end();
}

}  // namespace
}  // namespace mpixrma::test

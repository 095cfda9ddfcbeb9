/// mpi_accumulate_granularity and acc_single_intrinsic: several origins update single elements and arrays of
/// the same memory, and no update is lost.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "tests/support/full_length.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

constexpr int longs = 2048;    // several KiB
constexpr int doubles = 1024;  // behind them
constexpr int ints = 1024;     // behind these
constexpr MPI_Aint bytes = 8 * (longs + doubles) + 4 * ints;

/// The sums of all updates of this process, by rank.
template <typename T>
using Tally = std::vector<std::vector<T>>;

class Granularity : public FlavourTest {
 protected:
  Granularity() {
    char const* const given = std::getenv("MPIX_TEST_SEED");
    unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
    MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, world);
    if (rank_ == 0) std::printf("MPIX_TEST_SEED=%u\n", seed);
    random_.seed(seed + static_cast<unsigned>(rank_));
  }

  /// Returns memory that no earlier window has used, because the update mode of memory outlasts a window;
  /// nullptr for windows that allocate.
  void* fresh_memory() const {
    static constexpr std::size_t chunk = 32 * 1024;
    static_assert(bytes <= chunk);
    alignas(4096) static char memory[64][chunk];
    static std::size_t used = 0;
    bool const brings = GetParam() == Flavour::create || GetParam() == Flavour::dynamic;
    return brings ? memory[used++] : nullptr;
  }

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  /// One update of elements of a type that begin at `begin` in the memory of each rank.
  template <typename T>
  void update(Window const& window, MPI_Datatype type, MPI_Aint begin, Tally<T>& tally) {
    // Single elements are few, and all at one rank, so that updates of them collide.
    bool const is_single = below(2) == 0;
    int const rank = is_single ? size_ - 1 : below(size_);
    auto& sums = tally[static_cast<std::size_t>(rank)];
    auto const all = static_cast<int>(sums.size());
    int const count = is_single ? 1 : 2 + below(300);
    int const first = is_single ? below(2) * (all / 2) : below(all - count);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(1 + below(5));
    std::vector<T> before(values.size());
    MPI_Aint const at = window.at(rank, begin + first * static_cast<MPI_Aint>(sizeof(T)));
    switch (below(3)) {
      case 0:
        if (is_single) {
          MPI_Fetch_and_op(values.data(), before.data(), type, rank, at, MPI_SUM, window);
          break;
        }
        [[fallthrough]];
      case 1:
        MPI_Get_accumulate(values.data(), count, type, before.data(), count, type, rank, at, count, type,
                           MPI_SUM, window);
        break;
      default: MPI_Accumulate(values.data(), count, type, rank, at, count, type, MPI_SUM, window);
    }
    MPI_Win_flush(rank, window);
    for (int i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(first + i)] += values[static_cast<std::size_t>(i)];
  }

  template <typename T>
  void expect_sums(T const* memory, MPI_Datatype type, Tally<T>& tally) {
    for (int rank = 0; rank < size_; ++rank) {
      auto& sums = tally[static_cast<std::size_t>(rank)];
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), type, MPI_SUM, world);
      if (rank != rank_) continue;
      auto const wrong = std::mismatch(sums.begin(), sums.end(), memory);
      if (wrong.first == sums.end()) continue;
      ADD_FAILURE() << "element " << wrong.first - sums.begin() << " is " << *wrong.second << ", not "
                    << *wrong.first;
    }
  }
  template <typename T>
  Tally<T> tally_of(int count) const {
    return Tally<T>(static_cast<std::size_t>(size_), std::vector<T>(static_cast<std::size_t>(count)));
  }

  /// Updates the memory of all ranks through windows chosen at random. All windows are on the same memory.
  void contend(std::vector<Window const*> const& windows) {
    auto of_longs = tally_of<long>(longs);
    auto of_doubles = tally_of<double>(doubles);
    auto of_ints = tally_of<int>(ints);
    for (Window const* window : windows) MPI_Win_lock_all(0, *window);
    MPI_Barrier(world);
    // By load and store an update takes less than a microsecond, so only many updates collide.
    bool const is_mapped = GetParam() == Flavour::allocate || GetParam() == Flavour::shared;
    double const end = MPI_Wtime() + (is_mapped ? 0.4 / shortened(3) : 0.05);
    for (int round = 0; round < 100 || MPI_Wtime() < end; ++round) {
      Window const& window = *windows[static_cast<std::size_t>(below(static_cast<int>(windows.size())))];
      update(window, MPI_LONG, 0, of_longs);
      update(window, MPI_INT, 8 * (longs + doubles), of_ints);
      if (round % 4 == 0) update(window, MPI_DOUBLE, 8 * longs, of_doubles);
    }
    for (Window const* window : windows) MPI_Win_unlock_all(*window);
    MPI_Barrier(world);
    for (Window const* window : windows) MPI_Win_sync(*window);
    char const* const memory = windows.front()->base();
    expect_sums(reinterpret_cast<long const*>(memory), MPI_LONG, of_longs);
    expect_sums(reinterpret_cast<double const*>(memory + 8 * longs), MPI_DOUBLE, of_doubles);
    expect_sums(reinterpret_cast<int const*>(memory + 8 * (longs + doubles)), MPI_INT, of_ints);
  }

  std::mt19937 random_;
};
MPIX_ON_EACH_FLAVOUR(Granularity);

TEST_P(Granularity, W12_03_no_update_is_lost) {
  for (char const* const value : {"65536", "1024", "1000", "8", "1", "0", "wrong"}) {
    Info const info{{"mpi_accumulate_granularity", value}};
    Window const window(GetParam(), bytes, 1, info.get(), world, fresh_memory());
    if (*value != 'w') EXPECT_EQ(value_of(window, "mpi_accumulate_granularity"), value);
    contend({&window});
  }
}

TEST_P(Granularity, W12_03_no_update_of_single_elements_is_lost) {
  Info const info{{"acc_single_intrinsic", "true"}};
  Window const window(GetParam(), bytes, 1, info.get(), world, fresh_memory());
  contend({&window});
}

TEST_P(Granularity, W12_03_windows_on_the_same_memory_may_differ) {
  void* const memory = fresh_memory();
  if (memory == nullptr) return;
  Info const arrays{{"mpi_accumulate_granularity", "4096"}};
  Window const by_array(GetParam(), bytes, 1, arrays.get(), world, memory);
  Window const chosen(GetParam(), bytes, 1, MPI_INFO_NULL, world, memory);
  contend({&by_array, &chosen});
}

}  // namespace
}  // namespace mpixrma::test

/// Datatypes that are freed before the operations that use them are complete, and windows that are freed
/// before the requests of their operations are completed.
#include <array>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

class Lifetime : public FlavourTest {};

TEST_P(Lifetime, DatatypesAreFreedBeforeTheEpochEnds) {
  constexpr int words = 4096;
  constexpr int gets = 64;
  constexpr int blocks = 256;
  Window window(GetParam(), words * sizeof(int));
  static int results[gets][blocks];
  for (int round = 0; round < rounds(4); ++round) {
    auto const place = [](int get, int block) { return (block * (2 * (get % 8) + 1) * 3 + get) % words; };
    auto const value = [&](int rank, int word) { return rank * 100000 + round * 5000 + word; };
    MPI_Win_fence(0, window);
    for (int i = 0; i < words; ++i) window.base<int>()[i] = value(rank_, i);
    MPI_Win_fence(0, window);
    for (int get = 0; get < gets; ++get) {
      std::array<int, blocks> places;
      for (int i = 0; i < blocks; ++i) places[static_cast<std::size_t>(i)] = place(get, i);
      Type const scattered(
          [&](auto* type) { MPI_Type_create_indexed_block(blocks, 1, places.data(), MPI_INT, type); });
      Type const packed([](auto* type) { MPI_Type_vector(blocks, 1, 1, MPI_INT, type); });
      ASSERT_EQ(MPI_Get(results[get], 1, packed, next_, window.at(next_, 0), 1, scattered, window),
                MPI_SUCCESS);
    }
    MPI_Win_fence(0, window);
    for (int get = 0; get < gets; ++get)
      for (int i = 0; i < blocks; ++i)
        ASSERT_EQ(results[get][i], value(next_, place(get, i))) << "get " << get << ", block " << i;
  }
}

TEST_P(Lifetime, RequestsAreCompletedAfterTheWindowIsFreed) {
  constexpr int count = 100;
  constexpr int bytes = 4096;
  static char put[count][bytes];
  static char got[count][bytes];
  for (int round = 0; round < rounds(3); ++round) {
    std::vector<MPI_Request> requests(2 * count, MPI_REQUEST_NULL);
    {
      Window window(GetParam(), count * bytes);
      MPI_Win_lock_all(0, window);
      for (int i = 0; i < count; ++i) {
        std::memset(put[i], i + round, bytes);
        MPI_Rput(put[i], bytes, MPI_CHAR, next_, window.at(next_, i * bytes), bytes, MPI_CHAR, window,
                 &requests[static_cast<std::size_t>(i)]);
        MPI_Rget(got[i], bytes, MPI_CHAR, next_, window.at(next_, i * bytes), bytes, MPI_CHAR, window,
                 &requests[static_cast<std::size_t>(count + i)]);
      }
      MPI_Win_unlock_all(window);
    }
    EXPECT_EQ(MPI_Waitall(2 * count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < count; ++i) ASSERT_EQ(std::memcmp(put[i], got[i], bytes), 0) << i;
  }
}

MPIX_ON_EACH_FLAVOUR(Lifetime);

}  // namespace
}  // namespace mpixrma::test

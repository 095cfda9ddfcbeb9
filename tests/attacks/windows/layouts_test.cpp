/// Unusual layouts: absolute addresses, negative strides and extents, overlapping and empty blocks.
#include <array>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

long static_words[64];

TEST(AbsoluteAddresses, StandForOriginAndTargetAtMpiBottom) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  auto const next = static_cast<std::size_t>((rank + 1) % size);
  std::vector<long> heap(512);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_attach(window, heap.data(), static_cast<MPI_Aint>(heap.size() * sizeof(long)));
  MPI_Win_attach(window, static_words, sizeof static_words);
  std::memset(static_words, 0, sizeof static_words);
  MPI_Aint own[2];
  MPI_Get_address(heap.data(), &own[0]);
  MPI_Get_address(static_words, &own[1]);
  std::vector<MPI_Aint> all(2 * static_cast<std::size_t>(size));
  MPI_Allgather(own, 2, MPI_AINT, all.data(), 2, MPI_AINT, world);

  std::array<long, 4> first{1, 2, 3, 4};
  std::array<long, 3> second{11, 12, 13};
  std::array<long, 7> const values{1, 2, 3, 4, 11, 12, 13};
  MPI_Aint origins[2];
  MPI_Get_address(first.data(), &origins[0]);
  MPI_Get_address(second.data(), &origins[1]);
  int const origin_lengths[] = {4, 3};
  int const target_lengths[] = {3, 4};
  MPI_Aint const targets[] = {all[2 * next] + 16, all[2 * next + 1] + 8};
  Type const from([&](auto* type) { MPI_Type_create_hindexed(2, origin_lengths, origins, MPI_LONG, type); });
  Type const to([&](auto* type) { MPI_Type_create_hindexed(2, target_lengths, targets, MPI_LONG, type); });
  int const target = static_cast<int>(next);
  MPI_Win_fence(0, window);
  EXPECT_EQ(MPI_Put(MPI_BOTTOM, 1, from, target, 0, 1, to, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(MPI_BOTTOM, 1, from, target, 0, 1, to, MPI_SUM, window), MPI_SUCCESS);
  std::array<long, 7> before{};
  EXPECT_EQ(MPI_Get_accumulate(nullptr, 0, MPI_LONG, before.data(), 7, MPI_LONG, target, 0, 1, to, MPI_NO_OP,
                               window),
            MPI_SUCCESS);
  MPI_Win_fence(0, window);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(i < 3 ? heap[2 + i] : static_words[i - 2], 2 * values[i]) << i;
    EXPECT_EQ(before[i], 2 * values[i]) << i;
  }
  MPI_Win_free(&window);
}

class Layouts : public FlavourTest {
 protected:
  static constexpr int words = 4096;
  int value(int word) const { return next_ * 10000 + word; }
  int get(Window& window, int* to, int count, int word, int type_count, MPI_Datatype type) const {
    return MPI_Get(to, count, MPI_INT, next_, window.at(next_, 4 * MPI_Aint{word}), type_count, type, window);
  }
};

TEST_P(Layouts, GetMatchesTypeMap) {
  Window window(GetParam(), words * 4, 4);
  for (int i = 0; i < words; ++i) window.base<int>()[i] = rank_ * 10000 + i;
  std::array<int, 64> got{};
  std::vector<int> expected;
  auto const check = [&](char const* what) {
    MPI_Win_fence(0, window);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(got[i], value(expected[i])) << what << " " << i;
    expected.clear();
  };
  MPI_Win_fence(0, window);

  Type const backwards([](auto* type) { MPI_Type_vector(8, 2, -3, MPI_INT, type); });
  Type const shrinking([&](auto* type) { MPI_Type_create_resized(backwards, -100, -128, type); });
  EXPECT_EQ(get(window, got.data(), 48, 1000, 3, shrinking), MPI_SUCCESS);
  for (int element = 0; element < 3; ++element)
    for (int i = 0; i < 16; ++i) expected.push_back(1000 - 32 * element - 3 * (i / 2) + i % 2);
  check("negative stride and extent");
  if (GetParam() != Flavour::dynamic)
    EXPECT_EQ(class_of(get(window, got.data(), 48, 10, 3, shrinking)), MPI_ERR_RMA_RANGE);

  Type const one_word([](auto* type) { MPI_Type_create_hvector(5, 1, 0, MPI_INT, type); });
  EXPECT_EQ(get(window, got.data(), 5, 7, 1, one_word), MPI_SUCCESS);
  expected.assign(5, 7);
  check("stride 0");

  Type const four([](auto* type) { MPI_Type_contiguous(4, MPI_INT, type); });
  Type const overlapping([&](auto* type) { MPI_Type_create_resized(four, 0, 8, type); });
  EXPECT_EQ(get(window, got.data(), 12, 7, 3, overlapping), MPI_SUCCESS);
  for (int i = 0; i < 12; ++i) expected.push_back(7 + i / 4 * 2 + i % 4);
  check("overlapping elements");

  int const lengths[] = {1, 0, 1};
  MPI_Aint const places[] = {0, MPI_Aint{1} << 28, 8};
  Type const holed([&](auto* type) { MPI_Type_create_hindexed(3, lengths, places, MPI_INT, type); });
  EXPECT_EQ(get(window, got.data(), 2, 0, 1, holed), MPI_SUCCESS);
  expected = {0, 2};
  check("empty block beyond the window");

  Type const nothing([](auto* type) { MPI_Type_contiguous(0, MPI_INT, type); });
  EXPECT_EQ(get(window, got.data(), 0, 0, 3, nothing), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(got.data(), 7, nothing, next_, window.at(next_, 0), 3, nothing, MPI_SUM, window),
            MPI_SUCCESS);
  MPI_Win_fence(0, window);
}

TEST_P(Layouts, NestVectorsNineTimes) {
  constexpr int levels = 9;
  Window window(GetParam(), words * 4, 4);
  for (int i = 0; i < words; ++i) window.base<int>()[i] = rank_ * 10000 + i;
  MPI_Datatype nested = MPI_INT;
  for (int level = 0; level < levels; ++level) {
    MPI_Datatype const inner = nested;
    MPI_Type_create_hvector(2, 1, (MPI_Aint{3} << level) * 4, inner, &nested);
    if (level != 0) {
      MPI_Datatype unused = inner;
      MPI_Type_free(&unused);
    }
  }
  MPI_Type_commit(&nested);
  std::vector<int> got(1u << levels);
  MPI_Win_fence(0, window);
  EXPECT_EQ(get(window, got.data(), 1 << levels, 0, 1, nested), MPI_SUCCESS);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 1 << levels; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], value(3 * i)) << i;
  MPI_Type_free(&nested);
}

MPIX_ON_EACH_FLAVOUR(Layouts);

}  // namespace
}  // namespace mpixrma::test

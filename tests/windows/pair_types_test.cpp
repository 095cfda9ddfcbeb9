/// Pair types move their type map: the padding in the program's memory is preserved.
#include "tests/support/padded_records.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

constexpr unsigned char there = 0x5a;  ///< in the padding of the target's records
constexpr unsigned char here = 0x33;   ///< in the padding of the origin's records

template <typename V>
class PairTypes : public ::testing::Test {
 protected:
  static constexpr int most = 3000;

  PairTypes() {
    MPI_Comm_rank(world, &rank_);
    int size = 0;
    MPI_Comm_size(world, &size);
    next_ = (rank_ + 1) % size;
  }

  /// Sets records 0, 1, ... with index 7 at every process and calls operate(count). Then expects the first
  /// `count` records to be those from `first` on with `index`, and the others to be unchanged.
  template <typename Operate>
  void updates(Window& window, char const* what, int first, int index, Operate operate) {
    for (int const count : {1, 3, most}) {
      fill_records<V>(window.base(), most, 0, 7, there);
      MPI_Win_sync(window);
      MPI_Barrier(world);
      ASSERT_EQ(operate(count), MPI_SUCCESS) << what;
      ASSERT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
      MPI_Barrier(world);
      MPI_Win_sync(window);
      expect_records<V>(window.base(), count, first, index, there, what);
      auto* const rest = window.base<PaddedPair<V>>() + count;
      expect_records<V>(rest, most - count, count, 7, there, what);
      MPI_Barrier(world);
    }
  }

  /// Like updates(), for operations that fetch into records of this process and do not change the target.
  template <typename Operate>
  void fetches(Window& window, char const* what, Operate operate) {
    updates(window, what, 0, 7, [&](int count) {
      auto result = make_records<V>(most, 1, 1, here);
      if (int const code = operate(result.data(), count); code != MPI_SUCCESS) return code;
      MPI_Win_flush(next_, window);
      expect_records<V>(result.data(), count, 0, 7, here, what);
      return MPI_SUCCESS;
    });
  }

  int rank_ = 0;
  int next_ = 0;
};
using Values = ::testing::Types<double, long, short, long double>;
TYPED_TEST_SUITE(PairTypes, Values);

TYPED_TEST(PairTypes, KeepPaddingOfBothSides) {
  using V = TypeParam;
  MPI_Datatype const pair = pair_type<V>();
  int const next = this->next_;
  for (Flavour const flavour : {Flavour::allocate, Flavour::create}) {
    SCOPED_TRACE(name_of(flavour));
    Window window(flavour, this->most * static_cast<MPI_Aint>(sizeof(PaddedPair<V>)));
    MPI_Aint const at = window.at(next, 0);
    MPI_Win_lock_all(0, window);
    auto origin = make_records<V>(this->most, 20, 3, here);
    auto* const data = origin.data();
    this->updates(window, "put", 20, 3,
                  [&](int n) { return MPI_Put(data, n, pair, next, at, n, pair, window); });
    this->updates(window, "replace", 20, 3, [&](int n) {
      return MPI_Accumulate(data, n, pair, next, at, n, pair, MPI_REPLACE, window);
    });
    this->updates(window, "maxloc", 20, 3, [&](int n) {
      return MPI_Accumulate(data, n, pair, next, at, n, pair, MPI_MAXLOC, window);
    });
    this->updates(window, "fetching maxloc", 20, 3, [&](int n) {
      auto result = make_records<V>(n, 1, 1, here);
      int const code =
          MPI_Get_accumulate(data, n, pair, result.data(), n, pair, next, at, n, pair, MPI_MAXLOC, window);
      MPI_Win_flush(next, window);
      expect_records<V>(result.data(), n, 0, 7, here, "fetched");
      return code;
    });
    this->fetches(window, "get",
                  [&](void* result, int n) { return MPI_Get(result, n, pair, next, at, n, pair, window); });
    this->fetches(window, "no_op", [&](void* result, int n) {
      return MPI_Get_accumulate(nullptr, 0, pair, result, n, pair, next, at, n, pair, MPI_NO_OP, window);
    });
    MPI_Win_unlock_all(window);
  }
}

/// With such a layout each message describes only a part.
TYPED_TEST(PairTypes, KeepPaddingOfIrregularLayouts) {
  using V = TypeParam;
  constexpr int count = 1500;
  std::vector<int> places;
  for (int i = 0; i < count; ++i) places.push_back(i + i / 2);
  int const all = places.back() + 1;
  MPI_Datatype irregular = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(count, 1, places.data(), pair_type<V>(), &irregular);
  MPI_Type_commit(&irregular);
  int const next = this->next_;
  Window window(Flavour::create, all * static_cast<MPI_Aint>(sizeof(PaddedPair<V>)));
  MPI_Win_lock_all(0, window);
  for (MPI_Op const op : {MPI_REPLACE, MPI_MAXLOC}) {
    fill_records<V>(window.base(), all, 0, 7, there);
    MPI_Win_sync(window);
    MPI_Barrier(world);
    auto origin = make_records<V>(all, 20, 3, here);
    auto result = make_records<V>(all, 1, 1, here);
    ASSERT_EQ(MPI_Get_accumulate(origin.data(), 1, irregular, result.data(), 1, irregular, next,
                                 window.at(next, 0), 1, irregular, op, window),
              MPI_SUCCESS);
    MPI_Win_flush(next, window);
    MPI_Barrier(world);
    MPI_Win_sync(window);
    std::vector<bool> is_part(static_cast<std::size_t>(all));
    for (int const place : places) is_part[static_cast<std::size_t>(place)] = true;
    for (int i = 0; i < all; ++i) {
      bool const part = is_part[static_cast<std::size_t>(i)];
      auto const* const target = window.template base<PaddedPair<V>>() + i;
      expect_records<V>(target, 1, part ? 20 + i : i, part ? 3 : 7, there, "target");
      expect_records<V>(&result[static_cast<std::size_t>(i)], 1, part ? i : 1 + i, part ? 7 : 1, here,
                        "result");
    }
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
  MPI_Type_free(&irregular);
}

TYPED_TEST(PairTypes, MatchStructsOfTheSameSignature) {
  using V = TypeParam;
  MPI_Datatype const pair = pair_type<V>();
  MPI_Datatype packed = packed_pair_type<V>();
  int const next = this->next_;
  Window window(Flavour::allocate, this->most * static_cast<MPI_Aint>(sizeof(PaddedPair<V>)));
  MPI_Win_lock_all(0, window);
  std::vector<std::byte> buffer(this->most * sizeof(PaddedPair<V>));
  this->updates(window, "put of structs", 20, 3, [&](int n) {
    auto records = make_records<V>(n, 20, 3, here);
    int used = 0;
    MPI_Pack(records.data(), n, pair, buffer.data(), static_cast<int>(buffer.size()), &used, world);
    return MPI_Put(buffer.data(), n, packed, next, window.at(next, 0), n, pair, window);
  });
  this->fetches(window, "get of structs", [&](void* result, int n) {
    int const code = MPI_Get(buffer.data(), n, packed, next, window.at(next, 0), n, pair, window);
    MPI_Win_flush(next, window);
    int used = 0;
    MPI_Unpack(buffer.data(), static_cast<int>(buffer.size()), &used, result, n, pair, world);
    return code;
  });
  MPI_Win_unlock_all(window);
  MPI_Type_free(&packed);
}

}  // namespace
}  // namespace mpixrma::test

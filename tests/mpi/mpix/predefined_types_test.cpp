/// Predefined types that are not plain numbers. Pairs move their type map, and the padding in the program's
/// memory is preserved. Types of MPI_Type_create_f90_real and the like support arithmetic; logicals and
/// characters do not.
#include "tests/support/mpix_fixture.hpp"
#include "tests/support/padded_records.hpp"

namespace mpixrma::test {
namespace {

template <typename V>
class PairTransfers : public ::testing::Test {};
using Values = ::testing::Types<double, long, short, long double>;
TYPED_TEST_SUITE(PairTransfers, Values);

TYPED_TEST(PairTransfers, KeepPaddingOfBothSides) {
  using V = TypeParam;
  constexpr int most = 3000;
  constexpr unsigned char there = 0x5a;
  constexpr unsigned char here = 0x33;
  MPI_Datatype const pair = pair_type<V>();
  Memory memory(most * static_cast<MPI_Aint>(sizeof(PaddedPair<V>)));
  int const next = (memory.rank() + 1) % memory.size();
  MPIX_RMA_Attributes largest = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP | MPIX_RMA_ATTR_ATOMICITY);
  largest.accumulate_op = MPI_MAXLOC;
  struct Way {
    char const* name;
    MPIX_RMA_Op op;
    MPIX_RMA_Attributes* attributes;
  } const ways[] = {{"put", MPIX_RMA_PUT, nullptr}, {"maxloc", MPIX_RMA_ACCUMULATE, &largest}};
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int const count : {1, 3, most}) {
      for (Way const& way : ways) {
        SCOPED_TRACE(::testing::Message() << way.name << ", kind " << kind << ", " << count);
        fill_records<V>(memory.own(kind), most, 0, 7, there);
        MPI_Barrier(world);
        auto origin = make_records<V>(most, 20, 3, here);
        ASSERT_EQ(MPIX_RMA_xfer(way.op, origin.data(), count, pair, next, memory.at(next, kind), count, pair,
                                nullptr, &world, way.attributes),
                  MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
        MPI_Barrier(world);
        expect_records<V>(memory.own(kind), count, 20, 3, there, way.name);
        auto* const rest = memory.own(kind) + static_cast<std::size_t>(count) * sizeof(PaddedPair<V>);
        expect_records<V>(rest, most - count, count, 7, there, "behind it");
        auto got = make_records<V>(most, 1, 1, here);
        ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), count, pair, next, memory.at(next, kind)), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
        expect_records<V>(got.data(), count, 20, 3, here, "get");
        MPI_Barrier(world);
      }
    }
  }
}

TYPED_TEST(PairTransfers, MatchStructsOfTheSameSignature) {
  using V = TypeParam;
  Memory memory(sizeof(PaddedPair<V>));
  int const next = (memory.rank() + 1) % memory.size();
  MPI_Datatype packed = packed_pair_type<V>();
  std::byte data[sizeof(V) + sizeof(int)];
  V const value = 12;
  int const index = 34;
  std::memcpy(data, &value, sizeof value);
  std::memcpy(data + sizeof value, &index, sizeof index);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill_records<V>(memory.own(kind), 1, 0, 7, 0x5a);
    MPI_Barrier(world);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, data, 1, packed, next, memory.at(next, kind), 1, pair_type<V>(),
                            nullptr, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    expect_records<V>(memory.own(kind), 1, 12, 34, 0x5a, "put");
    std::byte got[sizeof data] = {};
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_GET, got, 1, packed, next, memory.at(next, kind), 1, pair_type<V>(),
                            nullptr, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    EXPECT_EQ(std::memcmp(got, &value, std::is_same_v<V, long double> ? 10 : sizeof value), 0);
    EXPECT_EQ(std::memcmp(got + sizeof value, &index, sizeof index), 0);
  }
  MPI_Type_free(&packed);
}

TEST(F90Types, TakePartInAccumulates) {
  Memory memory(sizeof(double));
  int const next = (memory.rank() + 1) % memory.size();
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(15, 300, &real);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    double value = 2.5;
    for (MPI_Datatype const at_target : {real, MPI_DOUBLE}) {
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, real, next, memory.at(next, kind), 1, at_target,
                              nullptr, &world, nullptr),
                MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    double found = 0;
    std::memcpy(&found, memory.own(kind), sizeof found);
    EXPECT_EQ(found, 5.0) << kind;
  }
}

/// Types whose elements have the representation of a number, and on which MPI defines no arithmetic.
TEST(PredefinedTypes, RefuseUpdatesOfLogicalsAndTexts) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(256);
  char* const there = memory.at(0, 0);
  auto const address = reinterpret_cast<MPI_Aint>(there);
  long operand = 1;
  long result = 0;
  auto const rmw = [&](MPIX_RMW_Op op, MPI_Datatype type) {
    return class_of(MPIX_RMA_rmw(op, &operand, 1, type, &result, 0, address, nullptr, &world, nullptr));
  };
  auto const accumulate = [&](MPI_Op op, MPI_Datatype origin, MPI_Datatype target) {
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP);
    chosen.accumulate_op = op;
    return class_of(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &operand, 1, origin, 0, there, 1, target, nullptr,
                                  &world, &chosen));
  };
  for (MPIX_RMW_Op const op : {MPIX_RMW_SUM, MPIX_RMW_MIN, MPIX_RMW_INC, MPIX_RMW_BAND})
    EXPECT_EQ(rmw(op, MPI_LOGICAL), MPI_ERR_OP) << op;
  EXPECT_EQ(rmw(MPIX_RMW_LOR, MPI_LOGICAL), MPI_SUCCESS);
  EXPECT_EQ(accumulate(MPI_SUM, MPI_LOGICAL, MPI_LOGICAL), MPI_ERR_OP);
  EXPECT_EQ(accumulate(MPI_LAND, MPI_LOGICAL, MPI_INT), MPI_ERR_TYPE);
  EXPECT_EQ(accumulate(MPI_LAND, MPI_LOGICAL, MPI_LOGICAL), MPI_SUCCESS);
  for (MPI_Datatype const type : {MPI_WCHAR, MPI_PACKED, MPI_CHARACTER}) {
    for (MPIX_RMW_Op const op : {MPIX_RMW_BAND, MPIX_RMW_BOR, MPIX_RMW_BXOR, MPIX_RMW_SUM})
      EXPECT_EQ(rmw(op, type), MPI_ERR_OP) << op;
    EXPECT_EQ(accumulate(MPI_BOR, type, type), MPI_ERR_OP);
    EXPECT_EQ(accumulate(MPI_REPLACE, type, type), MPI_SUCCESS);
    EXPECT_EQ(rmw(MPIX_RMW_NO_OP, type), MPI_SUCCESS);
  }
  EXPECT_EQ(rmw(MPIX_RMW_BAND, MPI_BYTE), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test

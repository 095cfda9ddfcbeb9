/// Predefined types that are not plain numbers. Pairs move their type map, and the padding in the program's
/// memory is preserved. Types of MPI_Type_create_f90_real and the like support arithmetic; logicals and
/// characters do not.
#include <tuple>

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

TYPED_TEST(PairTransfers, SwapSequencesOfPairs) {
  using V = TypeParam;
  constexpr int most = 600;
  constexpr unsigned char there = 0x5a;
  constexpr unsigned char here = 0x33;
  Memory memory(most * static_cast<MPI_Aint>(sizeof(PaddedPair<V>)));
  int const next = (memory.rank() + 1) % memory.size();
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Datatype six = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, pair_type<V>(), &two);
  MPI_Type_vector(3, 1, 1, two, &six);
  MPI_Type_commit(&two);
  MPI_Type_commit(&six);
  auto const rmw = [&](MPIX_RMW_Op op, void const* operand, int count, MPI_Datatype type, void* result,
                       char* target) {
    auto const address = reinterpret_cast<MPI_Aint>(target);
    ASSERT_EQ(MPIX_RMA_rmw(op, operand, count, type, result, next, address, nullptr, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
  };
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (auto const& [type, count, pairs] : {std::tuple{two, 1, 2}, {two, most / 2, most}, {six, 4, 24}}) {
      SCOPED_TRACE(::testing::Message() << "kind " << kind << ", " << pairs << " pairs");
      fill_records<V>(memory.own(kind), most, 0, 7, there);
      MPI_Barrier(world);
      auto const operand = make_records<V>(most, 20, 3, here);
      auto result = make_records<V>(most, 1, 1, here);
      rmw(MPIX_RMW_SWAP, operand.data(), count, type, result.data(), memory.at(next, kind));
      expect_records<V>(result.data(), pairs, 0, 7, here, "swapped");
      rmw(MPIX_RMW_NO_OP, nullptr, count, type, result.data(), memory.at(next, kind));
      expect_records<V>(result.data(), pairs, 20, 3, here, "read");
      expect_records<V>(result.data() + pairs, most - pairs, 1 + pairs, 1, here, "behind the result");
      MPI_Barrier(world);
      expect_records<V>(memory.own(kind), pairs, 20, 3, there, "at the target");
      auto* const rest = memory.own(kind) + static_cast<std::size_t>(pairs) * sizeof(PaddedPair<V>);
      expect_records<V>(rest, most - pairs, pairs, 7, there, "behind it");
      MPI_Barrier(world);
    }
  }
  MPI_Type_free(&two);
  MPI_Type_free(&six);
}

TYPED_TEST(PairTransfers, RmwRefusesOtherSequencesOfPairs) {
  using V = TypeParam;
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(16 * sizeof(PaddedPair<V>));
  constexpr int places[] = {1, 0};
  MPI_Datatype types[3];
  MPI_Type_vector(2, 1, 2, pair_type<V>(), &types[0]);
  MPI_Type_create_resized(pair_type<V>(), 0, 2 * sizeof(PaddedPair<V>), &types[1]);
  MPI_Type_create_indexed_block(2, 1, places, pair_type<V>(), &types[2]);
  PaddedPair<V> operand[4] = {};
  auto const address = reinterpret_cast<MPI_Aint>(memory.at(0, 0));
  for (MPI_Datatype& type : types) {
    MPI_Type_commit(&type);
    EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_SWAP, operand, 1, type, nullptr, 0, address, nullptr, &world,
                                    nullptr)),
              MPI_ERR_TYPE)
        << &type - types;
    MPI_Type_free(&type);
  }
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

TEST(PredefinedTypes, CompareWideCharactersAsAWhole) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(256);
  int const next = (memory.rank() + 1) % memory.size();
  wchar_t const others[] = {0x5566, 0x7722};  // the second has a byte of the target
  wchar_t const equal[] = {0x1122, 0x3344};
  wchar_t const newer[] = {0x0102, 0x0304};
  MPI_Datatype both = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_WCHAR, &both);
  MPI_Type_commit(&both);
  wchar_t found[2] = {};
  auto const rmw2 = [&](MPIX_RMW2_Op op, wchar_t const* compared, MPI_Datatype type, char* target) {
    int const code = MPIX_RMA_rmw2(op, compared, type == both ? 1 : 2, type, newer, found, next,
                                   reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr);
    MPIX_RMA_Complete(&world, next);
    return class_of(code);
  };
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (MPI_Datatype const type : {MPI_WCHAR, both}) {
      char* const there = memory.at(next, kind);
      auto const expect = [&](MPIX_RMW2_Op op, wchar_t const* compared, wchar_t const* after) {
        std::memcpy(memory.own(kind), equal, sizeof equal);
        MPI_Barrier(world);
        EXPECT_EQ(rmw2(op, compared, type, there), MPI_SUCCESS);
        EXPECT_EQ(std::memcmp(found, equal, sizeof equal), 0) << op;
        MPI_Barrier(world);
        EXPECT_EQ(std::memcmp(memory.own(kind), after, sizeof equal), 0) << op;
        MPI_Barrier(world);
      };
      expect(MPIX_RMW2_COMP_SWAP_E, others, equal);
      expect(MPIX_RMW2_COMP_SWAP_E, equal, newer);
      expect(MPIX_RMW2_COMP_SWAP_NE, equal, equal);
      expect(MPIX_RMW2_COMP_SWAP_NE, others, newer);
      for (MPIX_RMW2_Op const op :
           {MPIX_RMW2_MASK_SWAP, MPIX_RMW2_COMP_SWAP_LT, MPIX_RMW2_COMP_SWAP_LE, MPIX_RMW2_COMP_SWAP_GE})
        EXPECT_EQ(rmw2(op, equal, type, there), MPI_ERR_OP) << op;
      EXPECT_EQ(rmw2(MPIX_RMW2_COMP_SWAP_E, equal, type, there + sizeof(wchar_t) / 2), MPI_ERR_ARG);
    }
  }
  MPI_Type_free(&both);
}

/// An integer and a wide character have one representation, but not the same operations.
TEST(PredefinedTypes, RefuseUpdatesOfWideCharactersAmongIntegers) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(256);
  constexpr int lengths[] = {1, 1};
  MPI_Aint const places[] = {0, sizeof(wchar_t)};
  MPI_Datatype const integer = sizeof(wchar_t) == sizeof(std::int32_t) ? MPI_INT32_T : MPI_INT16_T;
  MPI_Datatype const parts[] = {integer, MPI_WCHAR};
  MPI_Datatype record = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, parts, &record);
  MPI_Type_commit(&record);
  wchar_t const operand[2] = {};
  auto const address = reinterpret_cast<MPI_Aint>(memory.at(0, 0));
  EXPECT_EQ(
      class_of(MPIX_RMA_rmw(MPIX_RMW_SUM, operand, 1, record, nullptr, 0, address, nullptr, &world, nullptr)),
      MPI_ERR_TYPE);
  MPI_Type_free(&record);
}

#ifdef MPI_2COMPLEX
/// MPI defines no operation of two complex numbers, which must not be compared by their bytes.
TEST(PredefinedTypes, MoveTwoComplexNumbersAndCompareNone) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(256);
  float const operand[4] = {1, 2, 3, 4};
  float found[4] = {5, 6, 7, 8};
  auto const address = reinterpret_cast<MPI_Aint>(memory.at(memory.rank(), 0));
  auto const rmw = [&](MPIX_RMW_Op op) {
    return class_of(
        MPIX_RMA_rmw(op, operand, 1, MPI_2COMPLEX, found, memory.rank(), address, nullptr, &world, nullptr));
  };
  EXPECT_EQ(rmw(MPIX_RMW_SWAP), MPI_SUCCESS);
  EXPECT_EQ(rmw(MPIX_RMW_NO_OP), MPI_SUCCESS);
  EXPECT_EQ(rmw(MPIX_RMW_BAND), MPI_ERR_OP);
  EXPECT_EQ(class_of(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, operand, 1, MPI_2COMPLEX, operand, nullptr,
                                   memory.rank(), address, nullptr, &world, nullptr)),
            MPI_ERR_OP);
  MPIX_RMA_Complete(&world, memory.rank());
  EXPECT_EQ(std::memcmp(found, operand, sizeof operand), 0);
}
#endif

}  // namespace
}  // namespace mpixrma::test

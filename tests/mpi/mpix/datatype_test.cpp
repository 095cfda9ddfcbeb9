/// Derived datatypes on either side, compared with MPI's own packing.
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/full_length.hpp"
#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/random_type.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::test {
namespace {

struct Side {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint extent = 0;
  int size = 0;
};

Side make_side(std::mt19937_64& random) {
  Side side;
  side.type = random_type(random, 1 + static_cast<int>(random() % 2));
  MPI_Type_commit(&side.type);
  MPI_Aint lower = 0;
  MPI_Type_get_true_extent(side.type, &lower, &side.extent);
  MPI_Type_size(side.type, &side.size);
  return side;
}

/// Returns different bytes at every rank. `count` is a multiple of 8.
std::vector<char> random_bytes(std::size_t count, std::mt19937_64& random, int rank) {
  std::vector<char> bytes(count);
  for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
    std::uint64_t const next = random() + static_cast<unsigned>(rank);
    std::memcpy(&bytes[i], &next, sizeof next);
  }
  return bytes;
}

TEST(Datatypes, RandomTypesOnBothSidesMatchMpiPack) {
  auto start = seed();
  MPI_Bcast(&start, 1, MPI_UINT64_T, 0, world);
  std::mt19937_64 random(start);
  constexpr int span = 1 << 18;
  Memory memory(2 * span);
  int const next = (memory.rank() + 1) % memory.size();
  for (int round = 0; round < (sanitized ? 20 : 150 / shortened(3)); ++round) {
    SCOPED_TRACE("seed " + std::to_string(start) + " round " + std::to_string(round));
    Side origin = make_side(random);
    Side target = make_side(random);
    // Counts for which both sides have the same number of bytes.
    int const common = std::lcm(origin.size, target.size);
    int const origin_count = common / origin.size;
    int const target_count = common / target.size;
    MPI_Aint unused = 0;
    MPI_Aint origin_step = 0;
    MPI_Aint target_step = 0;
    MPI_Type_get_extent(origin.type, &unused, &origin_step);
    MPI_Type_get_extent(target.type, &unused, &target_step);
    bool const fits = origin_count * origin_step + origin.extent < span &&
                      target_count * target_step + target.extent < span;
    int const kind = round % Memory::kinds;
    if (fits) {
      std::vector<char> out = random_bytes(2 * span, random, memory.rank());
      std::memset(memory.own(kind), 0, 2 * span);
      std::vector<char> packed(static_cast<std::size_t>(common));
      int position = 0;
      MPI_Pack(out.data() + span / 2, origin_count, origin.type, packed.data(), common, &position, world);
      std::vector<char> expected(2 * span, 0);
      position = 0;
      MPI_Unpack(packed.data(), common, &position, expected.data() + span / 2, target_count, target.type,
                 world);
      MPI_Barrier(world);
      ASSERT_EQ(
          MPIX_RMA_xfer(MPIX_RMA_PUT, out.data() + span / 2, origin_count, origin.type, next,
                        memory.at(next, kind, span / 2), target_count, target.type, nullptr, &world, nullptr),
          MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
      std::vector<char> back(2 * span, 0);
      MPIX_RMA_Attributes blocking = attributes(MPIX_RMA_ATTR_BLOCKING);
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_GET, back.data(), 2 * span, MPI_BYTE, next, memory.at(next, kind),
                              2 * span, MPI_BYTE, nullptr, &world, &blocking),
                MPI_SUCCESS);
      ASSERT_EQ(back, expected);
      std::fill(back.begin(), back.end(), 0);
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_GET, back.data() + span / 2, origin_count, origin.type, next,
                              memory.at(next, kind, span / 2), target_count, target.type, nullptr, &world,
                              &blocking),
                MPI_SUCCESS);
      std::vector<char> repacked(static_cast<std::size_t>(common));
      position = 0;
      MPI_Pack(back.data() + span / 2, origin_count, origin.type, repacked.data(), common, &position, world);
      ASSERT_EQ(repacked, packed);
    }
    MPI_Barrier(world);
    MPI_Type_free(&origin.type);
    MPI_Type_free(&target.type);
  }
}

MPI_Datatype cyclic(int indices, int processes, int rank, MPI_Datatype old) {
  int const distribution = MPI_DISTRIBUTE_CYCLIC;
  int const argument = MPI_DISTRIBUTE_DFLT_DARG;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(processes, rank, 1, &indices, &distribution, &argument, &processes, MPI_ORDER_C, old,
                         &made);
  MPI_Type_commit(&made);
  return made;
}

TEST(Datatypes, DistributedArraysKeepPairsTogether) {
  struct Pair {
    double value;
    int index;
  };
  constexpr int pairs = 7;
  Memory memory(pairs * sizeof(Pair));
  int const next = (memory.rank() + 1) % memory.size();
  MPI_Datatype const every_third = cyclic(pairs, 3, 1, MPI_DOUBLE_INT);  // 1 and 4
  Pair const values[] = {{1.5, 10}, {2.5, 20}};
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<Pair*>(values), 2, MPI_DOUBLE_INT, next,
                            memory.at(next, kind), 1, every_third, nullptr, &world, nullptr),
              MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
  MPI_Barrier(world);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    Pair got[pairs];
    std::memcpy(got, memory.own(kind), sizeof got);
    for (int i = 0; i < pairs; ++i) {
      double const expected = i == 1 ? 1.5 : i == 4 ? 2.5 : 0;
      ASSERT_EQ(got[i].value, expected) << "pair " << i;
      ASSERT_EQ(got[i].index, static_cast<int>(expected * 10 - (expected != 0 ? 5 : 0))) << "pair " << i;
    }
  }
  MPI_Datatype type = every_third;
  MPI_Type_free(&type);
}

TEST(Datatypes, DistributedArraysWithoutElementsMoveNoData) {
  Memory memory(64);
  MPI_Datatype nothing = cyclic(3, 4, 3, MPI_INT);
  int value = 5;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, nothing, memory.rank(), memory.own(0), 0, MPI_INT, nullptr,
                          &world, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, memory.rank()), MPI_SUCCESS);
  EXPECT_EQ(memory.own(0)[0], 0);
  MPI_Type_free(&nothing);
}

TEST(Datatypes, AccumulateOverVectorsMatchesTypeMap) {
  Memory memory(4096);
  MPI_Datatype columns = MPI_DATATYPE_NULL;
  MPI_Type_vector(10, 2, 5, MPI_DOUBLE, &columns);
  MPI_Type_commit(&columns);
  std::vector<double> values(20);
  std::iota(values.begin(), values.end(), 1.0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPIX_RMA_Attributes atomic = attributes(MPIX_RMA_ATTR_ATOMICITY);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, values.data(), 20, MPI_DOUBLE, 0, memory.at(0, kind), 1,
                            columns, nullptr, &world, &atomic),
              MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
  MPI_Barrier(world);
  if (memory.rank() == 0) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      auto const* const got = reinterpret_cast<double const*>(memory.own(kind));
      for (int row = 0; row < 10; ++row) {
        for (int column = 0; column < 5; ++column) {
          double const expected = column < 2 ? (row * 2 + column + 1) * memory.size() : 0;
          if (row * 5 + column < 47)
            ASSERT_EQ(got[row * 5 + column], expected) << "row " << row << " column " << column;
        }
      }
    }
  }
  MPI_Type_free(&columns);
}

/// Each operation on elements of `type`, which consist of `parts` Scalars, against MPI_Reduce_local.
template <typename Scalar>
void expect_accumulate_like_mpi(MPI_Datatype type, int parts, std::initializer_list<MPI_Op> operations) {
  constexpr int elements = 12;
  auto const scalars = static_cast<std::size_t>(elements * parts);
  int size = 0;
  MPI_Type_size(type, &size);
  ASSERT_EQ(static_cast<std::size_t>(size), sizeof(Scalar) * static_cast<std::size_t>(parts));
  Memory memory(scalars * sizeof(Scalar));
  int const next = (memory.rank() + 1) % memory.size();
  std::vector<Scalar> from(scalars);
  std::vector<Scalar> before(scalars);
  for (std::size_t i = 0; i < scalars; ++i) {
    from[i] = static_cast<Scalar>(i % 3);
    before[i] = static_cast<Scalar>((i + 1) / 2 % 3);
  }
  for (MPI_Op const operation : operations) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      std::memcpy(memory.own(kind), before.data(), scalars * sizeof(Scalar));
      MPI_Barrier(world);
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP);
      chosen.accumulate_op = operation;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, from.data(), elements, type, next, memory.at(next, kind),
                              elements, type, nullptr, &world, &chosen),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
      MPI_Barrier(world);
      std::vector<Scalar> expected = before;
      ASSERT_EQ(MPI_Reduce_local(from.data(), expected.data(), elements, type, operation), MPI_SUCCESS);
      EXPECT_EQ(std::memcmp(memory.own(kind), expected.data(), scalars * sizeof(Scalar)), 0);
      MPI_Barrier(world);
    }
  }
}

TEST(Datatypes, OriginsMayBeAtMpiBottom) {
  Memory memory(16 * sizeof(int));
  int const next = (memory.rank() + 1) % memory.size();
  int numbers[3] = {};
  int const lengths[] = {1, 1};
  MPI_Aint places[2] = {};
  for (int i = 0; i < 2; ++i) MPI_Get_address(&numbers[2 * i], &places[i]);
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  auto const move = [&](MPIX_RMA_Op op, int kind) {
    ASSERT_EQ(MPIX_RMA_xfer(op, MPI_BOTTOM, 1, absolute, next, memory.at(next, kind), 2, MPI_INT, nullptr,
                            &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
  };
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    numbers[0] = 3 + memory.rank();
    numbers[2] = 4 + kind;
    move(MPIX_RMA_PUT, kind);
    move(MPIX_RMA_ACCUMULATE, kind);
    numbers[0] = numbers[2] = -1;
    move(MPIX_RMA_GET, kind);
    EXPECT_EQ(numbers[0], 2 * (3 + memory.rank()));
    EXPECT_EQ(numbers[1], 0);
    EXPECT_EQ(numbers[2], 2 * (4 + kind));
    MPI_Barrier(world);
  }
  MPI_Type_free(&absolute);
}

MPI_Datatype block_at(void const* address, int count) {
  MPI_Aint place = 0;
  MPI_Get_address(address, &place);
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &count, &place, MPI_INT, &block);
  MPI_Type_commit(&block);
  return block;
}

/// One block without gaps, far from displacement 0.
TEST(Datatypes, BlocksAtAbsoluteAddressesMayBeAtMpiBottomOnBothSides) {
  Memory memory(4 * sizeof(int));
  int const next = (memory.rank() + 1) % memory.size();
  int const previous = (memory.rank() + memory.size() - 1) % memory.size();
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int numbers[3] = {10 + memory.rank(), 20 + memory.rank(), 30 + memory.rank()};
    MPI_Datatype origin = block_at(numbers, 3);
    MPI_Datatype target = block_at(memory.at(next, kind, sizeof(int)), 3);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, MPI_BOTTOM, 1, origin, next, MPI_BOTTOM, 1, target, nullptr, &world,
                            nullptr),
              MPI_SUCCESS);
    MPI_Type_free(&origin);
    MPI_Type_free(&target);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    int got[4];
    std::memcpy(got, memory.own(kind), sizeof got);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(got[i + 1], 10 * (i + 1) + previous) << "kind " << kind;
    MPI_Barrier(world);
  }
}

/// Rows with negative strides on both sides. At the origin the rows lie in the gaps of each other.
TEST(Datatypes, NegativeStridesOnBothSides) {
  Memory memory(32 * sizeof(int));
  int const next = (memory.rank() + 1) % memory.size();
  int const previous = (memory.rank() + memory.size() - 1) % memory.size();
  MPI_Datatype backwards = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, -2, MPI_INT, &backwards);
  MPI_Type_commit(&backwards);
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(backwards, -6 * static_cast<MPI_Aint>(sizeof(int)), 8 * sizeof(int), &rows);
  MPI_Type_commit(&rows);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::memset(memory.own(kind), 0, 32 * sizeof(int));
    MPI_Barrier(world);
    int from[8];
    for (int i = 0; i < 8; ++i) from[i] = 100 * (memory.rank() + 1) + i;
    // from[7], [5], [3], [1] to places 10, 8, 6, 4; from[6], [4], [2], [0] to 18, 16, 14, 12.
    for (int row = 0; row < 2; ++row)
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, from + 7 - row, 1, backwards, next,
                              memory.at(next, kind, (10 + 8 * row) * static_cast<int>(sizeof(int))), 1, rows,
                              nullptr, &world, nullptr),
                MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    int got[32];
    std::memcpy(got, memory.own(kind), sizeof got);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(got[10 - 2 * i], 100 * (previous + 1) + 7 - 2 * i) << "kind " << kind;
      EXPECT_EQ(got[18 - 2 * i], 100 * (previous + 1) + 6 - 2 * i) << "kind " << kind;
      EXPECT_EQ(got[9 - 2 * i], 0) << "kind " << kind;
    }
    MPI_Barrier(world);
  }
  MPI_Type_free(&backwards);
  MPI_Type_free(&rows);
}

TEST(Datatypes, AccumulateOnTypesOfOtherLanguagesAsMpiReduces) {
  std::initializer_list<MPI_Op> const logical = {MPI_LAND, MPI_LOR, MPI_LXOR};
  std::initializer_list<MPI_Op> const arithmetic = {MPI_SUM, MPI_PROD};
  expect_accumulate_like_mpi<std::int32_t>(MPI_LOGICAL, 1, logical);
#ifdef MPI_LOGICAL1
  expect_accumulate_like_mpi<std::int8_t>(MPI_LOGICAL1, 1, logical);
#endif
#ifdef MPI_LOGICAL2
  expect_accumulate_like_mpi<std::int16_t>(MPI_LOGICAL2, 1, logical);
#endif
#ifdef MPI_LOGICAL4
  expect_accumulate_like_mpi<std::int32_t>(MPI_LOGICAL4, 1, logical);
#endif
#ifdef MPI_LOGICAL8
  expect_accumulate_like_mpi<std::int64_t>(MPI_LOGICAL8, 1, logical);
#endif
  expect_accumulate_like_mpi<float>(MPI_CXX_FLOAT_COMPLEX, 2, arithmetic);
  expect_accumulate_like_mpi<double>(MPI_CXX_DOUBLE_COMPLEX, 2, arithmetic);
  expect_accumulate_like_mpi<int>(MPI_2INTEGER, 2, {MPI_MAXLOC, MPI_MINLOC});
}

}  // namespace
}  // namespace mpixrma::test

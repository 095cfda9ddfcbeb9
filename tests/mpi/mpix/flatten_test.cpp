/// Layouts of datatypes: the place of each byte, compared with MPI_Pack; and layouts of more than 2 GiB.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "datatype/datatype.hpp"

namespace mpixrma::test {
namespace {

using engine::LayoutCursor;
using engine::LayoutRun;

/// Returns the bytes of one element in the order of MPI_Pack, each as its offset from the element's address.
std::vector<std::ptrdiff_t> packed_offsets(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_true_extent(type, &lower, &extent);
  int size = 0;
  MPI_Type_size(type, &size);
  if (size == 0) return {};
  std::vector<unsigned char> memory(static_cast<std::size_t>(extent));
  std::vector<unsigned char> packed(static_cast<std::size_t>(size));
  std::vector<std::ptrdiff_t> offsets(packed.size(), lower);
  for (unsigned digit = 0; digit < 24; digit += 8) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i >> digit);
    int position = 0;
    MPI_Pack(memory.data() - lower, 1, type, packed.data(), size, &position, MPI_COMM_SELF);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += std::ptrdiff_t{packed[i]} << digit;
  }
  return offsets;
}

std::vector<std::ptrdiff_t> flattened_offsets(MPI_Datatype type) {
  FlatType const flat = flatten(type);
  std::vector<std::ptrdiff_t> offsets;
  LayoutCursor cursor(flat.layout.view());
  while (cursor.remaining() != 0) {
    LayoutRun const run = cursor.next();
    for (std::size_t i = 0; i < run.length; ++i)
      offsets.push_back(run.offset + static_cast<std::ptrdiff_t>(i));
  }
  return offsets;
}

TEST(Flatten, PairTypesWithoutTheirPadding) {
  for (MPI_Datatype const type : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER}) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    EXPECT_EQ(flattened_offsets(type), packed_offsets(type)) << name;
    FlatType const flat = flatten(type);
    EXPECT_EQ(flat.size, engine::element_size(flat.element)) << name;
    EXPECT_TRUE(engine::is_defined(engine::ReduceOp::minloc, flat.element)) << name;
    EXPECT_FALSE(flat.mixed) << name;
  }
}

TEST(Flatten, F90TypesByCombinerAndSize) {
  using engine::ElementType;
  auto const element = [](auto create, auto... arguments) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(create(arguments..., &type), MPI_SUCCESS);
    FlatType const flat = flatten(type);
    EXPECT_EQ(flattened_offsets(type), packed_offsets(type));
    // Also as a part of another type, whose contents are examined more than once.
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, type, &pair);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(flatten(pair).element, flat.element);
    MPI_Type_free(&pair);
    return flat.element;
  };
  EXPECT_EQ(element(MPI_Type_create_f90_real, 6, 30), ElementType::float32);
  EXPECT_EQ(element(MPI_Type_create_f90_real, 15, 300), ElementType::float64);
  EXPECT_EQ(element(MPI_Type_create_f90_real, 10, MPI_UNDEFINED), ElementType::float64);
  EXPECT_EQ(element(MPI_Type_create_f90_complex, 6, 30), ElementType::complex_float);
  EXPECT_EQ(element(MPI_Type_create_f90_complex, 15, 300), ElementType::complex_double);
  EXPECT_EQ(element(MPI_Type_create_f90_integer, 2), ElementType::int8);
  EXPECT_EQ(element(MPI_Type_create_f90_integer, 4), ElementType::int16);
  EXPECT_EQ(element(MPI_Type_create_f90_integer, 9), ElementType::int32);
  EXPECT_EQ(element(MPI_Type_create_f90_integer, 18), ElementType::int64);
}

struct Random {
  std::mt19937_64 engine;
  int up_to(int limit) { return 1 + static_cast<int>(engine() % static_cast<unsigned>(limit)); }
};

MPI_Datatype random_darray(Random& random, std::string* what) {
  int const dimensions = random.up_to(3);
  int sizes[3];
  int kinds[3];
  int arguments[3];
  int grid[3];
  int processes = 1;
  for (int d = 0; d < dimensions; ++d) {
    constexpr int all[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    sizes[d] = random.up_to(12);
    kinds[d] = all[random.up_to(3) - 1];
    grid[d] = kinds[d] == MPI_DISTRIBUTE_NONE ? 1 : random.up_to(4);
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    int const least = (sizes[d] + grid[d] - 1) / grid[d];  // of a block distribution's blocks
    if (kinds[d] != MPI_DISTRIBUTE_NONE && random.up_to(2) == 1)
      arguments[d] = kinds[d] == MPI_DISTRIBUTE_BLOCK ? least + random.up_to(2) - 1 : random.up_to(4);
    processes *= grid[d];
    *what += " size " + std::to_string(sizes[d]) + " kind " + std::to_string(kinds[d]) + " argument " +
             std::to_string(arguments[d]) + " grid " + std::to_string(grid[d]);
  }
  int const rank = random.up_to(processes) - 1;
  int const order = random.up_to(2) == 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype old = MPI_INT;
  if (random.up_to(2) == 1) MPI_Type_create_resized(MPI_SHORT, 0, 6, &old);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(processes, rank, dimensions, sizes, kinds, arguments, grid, order, old, &made);
  if (old != MPI_INT) MPI_Type_free(&old);
  MPI_Type_commit(&made);
  *what += " rank " + std::to_string(rank) + " order " + std::to_string(order);
  return made;
}

TEST(Flatten, DarraysMatchMpiPack) {
  char const* const chosen = std::getenv("MPIX_TEST_SEED");
  auto const seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("MPIX_TEST_SEED=" + std::to_string(seed));
  Random random{std::mt19937_64(seed)};
  for (int i = 0; i < 2000; ++i) {
    std::string what;
    MPI_Datatype type = random_darray(random, &what);
    EXPECT_EQ(flattened_offsets(type), packed_offsets(type)) << what;
    MPI_Type_free(&type);
    if (HasFailure()) break;
  }
}

/// Rows distributed cyclically in blocks of two, columns in blocks: 8 GiB of bytes, half of which belong to
/// this rank.
TEST(Flatten, DarrayAboveTwoGibibytes) {
  int const sizes[] = {65536, 131072};
  int const kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  int const arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  int const grid[] = {2, 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  FlatType const flat = flatten(type);
  constexpr std::size_t row = 131072;
  EXPECT_EQ(flat.size, 32768 * row);
  EXPECT_EQ(flat.extent, static_cast<std::ptrdiff_t>(65536 * row));
  EXPECT_LE(flat.layout.view().runs.size(), 4u);
  LayoutCursor cursor(flat.layout.view());
  // The last byte but one of this rank's last row, which is the last row of all.
  cursor.seek(flat.size - 2);
  EXPECT_EQ(cursor.next().offset, static_cast<std::ptrdiff_t>(65536 * row) - 2);
  cursor.seek(2 * row);
  EXPECT_EQ(cursor.next().offset, static_cast<std::ptrdiff_t>(6 * row));
  MPI_Type_free(&type);
}

TEST(Flatten, ContiguousAboveTwoGibibytes) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &inner);
  MPI_Type_vector(4, 3, 5, inner, &type);
  FlatType const flat = flatten(type);
  constexpr std::size_t element = std::size_t{8} << 30;
  EXPECT_EQ(flat.size, 12 * element);
  EXPECT_EQ(flat.extent, static_cast<std::ptrdiff_t>(18 * element));
  MPI_Type_free(&type);
  MPI_Type_free(&inner);
}

}  // namespace
}  // namespace mpixrma::test

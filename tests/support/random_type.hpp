/// Random derived datatypes.
#pragma once

#include <mpi.h>

#include <random>

namespace mpixrma::test {

#if MPI_VERSION >= 4
/// Returns a random datatype whose constructor has counts of type MPI_Count, of at most 12 elements `old`.
inline MPI_Datatype random_large_type(std::mt19937_64& random, MPI_Datatype old, MPI_Count lower,
                                      MPI_Count extent) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  auto const up_to = [&](MPI_Count limit) { return 1 + static_cast<MPI_Count>(random() % 4) % limit; };
  MPI_Count const lengths[] = {up_to(2), 0, up_to(3)};
  MPI_Count const places[] = {0, 5, 7};
  MPI_Count const bytes[] = {8 * extent, 0, 3 * extent};
  switch (random() % 10) {
    case 0: MPI_Type_contiguous_c(up_to(4), old, &made); break;
    case 1: MPI_Type_vector_c(up_to(4), 2, 2 + up_to(3), old, &made); break;
    case 2: MPI_Type_create_hvector_c(up_to(4), 1, extent * (1 + up_to(3)), old, &made); break;
    case 3: MPI_Type_indexed_c(3, lengths, places, old, &made); break;
    case 4: MPI_Type_create_hindexed_c(3, lengths, bytes, old, &made); break;
    case 5: MPI_Type_create_indexed_block_c(3, 2, places, old, &made); break;
    case 6: MPI_Type_create_resized_c(old, lower, extent + 4 * up_to(4), &made); break;
    case 7: {
      MPI_Datatype const types[] = {old, MPI_INT, old};
      MPI_Type_create_struct_c(3, lengths, bytes, types, &made);
      break;
    }
    case 8: {
      MPI_Count const sizes[] = {4, 5};
      MPI_Count const parts[] = {2, 3};
      MPI_Count const starts[] = {1, 1};
      MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_FORTRAN, old, &made);
      break;
    }
    default: {
      MPI_Count const sizes[] = {6, 6};
      int const kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
      int const arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
      int const grid[] = {2, 2};
      MPI_Type_create_darray_c(4, static_cast<int>(random() % 4), 2, sizes, kinds, arguments, grid,
                               MPI_ORDER_C, old, &made);
    }
  }
  return made;
}
#endif

/// Returns a random datatype of at most 144 ints.
inline MPI_Datatype random_type(std::mt19937_64& random, int depth) {
  if (depth == 0) return MPI_INT;
  MPI_Datatype old = random_type(random, depth - 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  auto const up_to = [&](int limit) { return 1 + static_cast<int>(random() % static_cast<unsigned>(limit)); };
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(old, &lower, &extent);
  int const lengths[] = {up_to(2), 0, up_to(3)};
  int const places[] = {0, 5, 7};
  MPI_Aint const bytes[] = {8 * extent, 0, 3 * extent};
#if MPI_VERSION >= 4
  if (random() % 2 == 0) {
    made = random_large_type(random, old, lower, extent);
    if (depth > 1) MPI_Type_free(&old);
    return made;
  }
#endif
  switch (random() % 11) {
    case 0: MPI_Type_contiguous(up_to(4), old, &made); break;
    case 1: MPI_Type_vector(up_to(4), 2, 2 + up_to(3), old, &made); break;
    case 2: MPI_Type_create_hvector(up_to(4), 1, extent * (1 + up_to(3)), old, &made); break;
    case 3: MPI_Type_indexed(3, lengths, places, old, &made); break;
    case 4: MPI_Type_create_hindexed(3, lengths, bytes, old, &made); break;
    case 5: MPI_Type_create_indexed_block(3, 2, places, old, &made); break;
    case 6: MPI_Type_create_resized(old, lower, extent + 4 * up_to(4), &made); break;
    case 7: {
      MPI_Datatype const types[] = {old, MPI_INT, old};
      MPI_Type_create_struct(3, lengths, bytes, types, &made);
      break;
    }
    case 8: {
      int const sizes[] = {4, 5};
      int const parts[] = {2, 3};
      int const starts[] = {1, 1};
      MPI_Type_create_subarray(2, sizes, parts, starts, random() % 2 == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                               old, &made);
      break;
    }
    case 9: {
      int const sizes[] = {6, 6};
      int const kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
      int const arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
      int const grid[] = {2, 2};
      MPI_Type_create_darray(4, static_cast<int>(random() % 4), 2, sizes, kinds, arguments, grid, MPI_ORDER_C,
                             old, &made);
      break;
    }
    default: MPI_Type_dup(old, &made); break;
  }
  if (depth > 1) MPI_Type_free(&old);
  return made;
}

}  // namespace mpixrma::test

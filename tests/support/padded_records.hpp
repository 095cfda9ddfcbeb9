/// Arrays of the C structs of MPI's pair types whose padding holds user data.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace mpixrma::test {

/// MPI's struct for pairs of a value and an int.
template <typename V>
struct PaddedPair {
  V value;
  int index;
};

template <typename V>
MPI_Datatype pair_type() {
  if constexpr (std::is_same_v<V, double>) return MPI_DOUBLE_INT;
  if constexpr (std::is_same_v<V, long>) return MPI_LONG_INT;
  if constexpr (std::is_same_v<V, short>) return MPI_SHORT_INT;
  if constexpr (std::is_same_v<V, long double>) return MPI_LONG_DOUBLE_INT;
}
template <typename V>
MPI_Datatype value_type() {
  if constexpr (std::is_same_v<V, double>) return MPI_DOUBLE;
  if constexpr (std::is_same_v<V, long>) return MPI_LONG;
  if constexpr (std::is_same_v<V, short>) return MPI_SHORT;
  if constexpr (std::is_same_v<V, long double>) return MPI_LONG_DOUBLE;
}

/// Returns a committed datatype of a gap-free struct with the same signature; the caller frees it.
template <typename V>
MPI_Datatype packed_pair_type() {
  int const lengths[] = {1, 1};
  MPI_Aint const places[] = {0, sizeof(V)};
  MPI_Datatype const types[] = {value_type<V>(), MPI_INT};
  MPI_Datatype record = MPI_DATATYPE_NULL;
  MPI_Datatype packed = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &record);
  MPI_Type_create_resized(record, 0, sizeof(V) + sizeof(int), &packed);
  MPI_Type_commit(&packed);
  MPI_Type_free(&record);
  return packed;
}

/// Fills `count` records at `base`: record i has value (first + i) % 30000, which a short can hold, and `tag`
/// in each byte of its padding.
template <typename V>
void fill_records(void* base, int count, int first, int index, unsigned char tag) {
  std::memset(base, tag, static_cast<std::size_t>(count) * sizeof(PaddedPair<V>));
  auto* const bytes = static_cast<std::byte*>(base);
  for (int i = 0; i < count; ++i) {
    auto* const record = bytes + static_cast<std::size_t>(i) * sizeof(PaddedPair<V>);
    V const value = static_cast<V>((first + i) % 30000);
    std::memcpy(record, &value, sizeof value);
    std::memcpy(record + offsetof(PaddedPair<V>, index), &index, sizeof index);
  }
}

template <typename V>
std::vector<PaddedPair<V>> make_records(int count, int first, int index, unsigned char tag) {
  std::vector<PaddedPair<V>> made(static_cast<std::size_t>(count));
  fill_records<V>(made.data(), count, first, index, tag);
  return made;
}

/// Fails at the first record that differs from the result of fill_records() with these arguments.
template <typename V>
void expect_records(void const* base, int count, int first, int index, unsigned char tag, char const* what) {
  constexpr std::size_t index_at = offsetof(PaddedPair<V>, index);
  auto const* const bytes = static_cast<unsigned char const*>(base);
  for (int i = 0; i < count; ++i) {
    unsigned char const* const record = bytes + static_cast<std::size_t>(i) * sizeof(PaddedPair<V>);
    V value;
    int found = 0;
    std::memcpy(&value, record, sizeof value);
    std::memcpy(&found, record + index_at, sizeof found);
    ASSERT_EQ(value, static_cast<V>((first + i) % 30000)) << what << ", record " << i << " of " << count;
    ASSERT_EQ(found, index) << what << ", record " << i << " of " << count;
    for (std::size_t at = sizeof(V); at < sizeof(PaddedPair<V>); ++at) {
      if (at >= index_at && at < index_at + sizeof(int)) continue;
      ASSERT_EQ(record[at], tag) << what << ", padding of record " << i << " of " << count;
    }
  }
}

}  // namespace mpixrma::test

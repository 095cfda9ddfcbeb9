/// ARMCI over MPI (P), section VI: the methods of vector and strided transfers, which ARMCI_Init reads from
/// the environment.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"

namespace conformance {
namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

using Variables = std::vector<std::pair<char const*, char const*>>;

/// ARMCI with these variables for a scope.
class Settings {
 public:
  explicit Settings(Variables variables) : variables_(std::move(variables)) {
    EXPECT_EQ(ARMCI_Finalize(), 0);
    for (auto const& [name, value] : variables_) ::setenv(name, value, 1);
    EXPECT_EQ(ARMCI_Init(), 0);
  }
  ~Settings() {
    EXPECT_EQ(ARMCI_Finalize(), 0);
    for (auto const& [name, value] : variables_) ::unsetenv(name);
    EXPECT_EQ(ARMCI_Init(), 0);
  }
  Settings(Settings const&) = delete;
  Settings& operator=(Settings const&) = delete;

 private:
  Variables variables_;
};

Variables const methods[] = {
    {{"ARMCI_IOV_METHOD", "AUTO"}},    {{"ARMCI_IOV_METHOD", "DIRECT"}},
    {{"ARMCI_IOV_METHOD", "BATCHED"}}, {{"ARMCI_IOV_METHOD", "BATCHED"}, {"ARMCI_IOV_BATCHED_LIMIT", "3"}},
    {{"ARMCI_IOV_METHOD", "CONSRV"}},
};

template <typename T>
T own(Remote const& remote, std::ptrdiff_t offset) {
  T value;
  std::memcpy(&value, remote.mine() + offset, sizeof value);
  return value;
}

/// Remote segments in two allocations, in no order of their addresses; local segments in ordinary memory.
TEST(ArmciMethods, P_09_every_method_moves_all_segments) {
  constexpr int segments = 50;
  for (Variables const& method : methods) {
    Settings const settings(method);
    SCOPED_TRACE(method.back().second);
    Remote first(segments * 32);
    Remote second(segments * 32);
    int const next = (me() + 1) % size();
    std::vector<long> values(2 * segments);
    std::iota(values.begin(), values.end(), 1 + 1000L * me());
    std::vector<void*> here;
    std::vector<void*> there;
    for (int i = 0; i < segments; ++i) {
      here.push_back(&values[static_cast<std::size_t>(2 * i)]);
      there.push_back((i % 3 == 0 ? second : first).at(next, i * 17 % segments * 32));
    }
    armci_giov_t set = {here.data(), there.data(), 16, segments};
    long two = 2;
    EXPECT_EQ(ARMCI_PutV(&set, 1, next), 0);
    EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &two, &set, 1, next), 0);
    std::vector<long> got(values.size(), -1);
    std::vector<void*> to;
    for (int i = 0; i < segments; ++i) to.push_back(&got[static_cast<std::size_t>(2 * i)]);
    armci_giov_t back = {there.data(), to.data(), 16, segments};
    EXPECT_EQ(ARMCI_GetV(&back, 1, next), 0);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 3 * values[i]);
    ARMCI_Barrier();
    long const before = (me() + size() - 1) % size();
    for (int i = 0; i < segments; ++i) {
      std::ptrdiff_t const place = i * 17 % segments * 32;
      for (int word = 0; word < 4; ++word) {
        long const value = word < 2 ? 3 * (1 + 1000 * before + 2 * i + word) : 0;
        EXPECT_EQ(own<long>(i % 3 == 0 ? second : first, place + 8 * word), value);
        EXPECT_EQ(own<long>(i % 3 == 0 ? first : second, place + 8 * word), 0);
      }
    }
  }
}

/// DIRECT as well, which this library executes in the order of the list.
TEST(ArmciMethods, P_09_overlapping_segments_take_effect_in_order_by_every_method) {
  constexpr int segments = 9;
  for (Variables const& method : methods) {
    Settings const settings(method);
    SCOPED_TRACE(method.back().second);
    Remote remote(256);
    int const next = (me() + 1) % size();
    std::vector<long> values(2 * segments);
    std::iota(values.begin(), values.end(), 1);
    std::vector<void*> here;
    std::vector<void*> there;
    for (int i = 0; i < segments; ++i) {
      here.push_back(&values[static_cast<std::size_t>(2 * i)]);
      there.push_back(remote.at(next, 8 * (i * 4 % segments)));  // each overlaps the one a word behind it
    }
    std::vector<long> expected(segments + 1);
    auto const place = [&](int i, int word) { return static_cast<std::size_t>(i * 4 % segments + word); };
    for (int i = 0; i < 2 * segments; ++i)
      expected[place(i / 2, i % 2)] = values[static_cast<std::size_t>(i)];
    armci_giov_t set = {here.data(), there.data(), 16, segments};
    long ten = 10;
    EXPECT_EQ(ARMCI_PutV(&set, 1, next), 0);
    std::vector<long> got(segments + 1, -1);
    EXPECT_EQ(ARMCI_Get(remote.at(next), got.data(), 8 * (segments + 1), next), 0);
    EXPECT_EQ(got, expected);
    for (int i = 0; i < 2 * segments; ++i)
      expected[place(i / 2, i % 2)] += 10 * values[static_cast<std::size_t>(i)];
    EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &ten, &set, 1, next), 0);
    EXPECT_EQ(ARMCI_Get(remote.at(next), got.data(), 8 * (segments + 1), next), 0);
    EXPECT_EQ(got, expected);
    ARMCI_Barrier();
  }
}

/// Returns the result of a vector put of three segments; the third begins `distance` bytes after the first.
int put_of_three(Remote const& remote, std::ptrdiff_t distance) {
  int const next = (me() + 1) % size();
  long values[] = {1, 2, 3};
  void* here[] = {&values[0], &values[1], &values[2]};
  void* there[] = {remote.at(next), remote.at(next, 64), remote.at(next, distance)};
  armci_giov_t set = {here, there, 8, 3};
  return ARMCI_PutV(&set, 1, next);
}

TEST(ArmciMethods, P_18_overlaps_of_a_vector_are_found) {
  for (char const* const method : {"AUTO", "DIRECT", "CONSRV"}) {
    Settings const settings({{"ARMCI_IOV_METHOD", method}, {"ARMCI_IOV_CHECKS", "1"}});
    SCOPED_TRACE(method);
    Remote remote(128);
    for (std::ptrdiff_t const distance : {0, 1, 7, 57, 64, 71}) EXPECT_NE(put_of_three(remote, distance), 0);
    ARMCI_Barrier();
    EXPECT_EQ(own<long>(remote, 0) + own<long>(remote, 64), 0);  // nothing of them was transferred
    ARMCI_Barrier();
    for (std::ptrdiff_t const distance : {8, 56, 72}) EXPECT_EQ(put_of_three(remote, distance), 0);
    ARMCI_Barrier();
    for (std::ptrdiff_t const distance : {8, 56, 72}) EXPECT_EQ(own<long>(remote, distance), 3);
  }
}

/// Coinciding rows of a destination are an error with ARMCI_STRIDED_METHOD=IOV and checks, but not with
/// DIRECT.
TEST(ArmciMethods, P_10_strided_transfers_go_directly_or_as_vectors) {
  for (char const* const method : {"DIRECT", "IOV"}) {
    Settings const settings({{"ARMCI_STRIDED_METHOD", method}, {"ARMCI_IOV_CHECKS", "1"}});
    SCOPED_TRACE(method);
    Remote remote(8192);
    int const next = (me() + 1) % size();
    std::vector<long> values(2 * 3 * 4);
    std::iota(values.begin(), values.end(), 1 + 100L * me());
    int packed[] = {16, 48};
    int strides[] = {24, 200};
    int count[] = {16, 3, 4};
    long two = 2;
    EXPECT_EQ(ARMCI_PutS(values.data(), packed, remote.at(next), strides, count, 2, next), 0);
    EXPECT_EQ(
        ARMCI_AccS(ARMCI_ACC_LNG, &two, values.data(), packed, remote.at(next), strides, count, 2, next), 0);
    std::vector<long> got(values.size(), -1);
    EXPECT_EQ(ARMCI_GetS(remote.at(next), strides, got.data(), packed, count, 2, next), 0);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 3 * values[i]);
    ARMCI_Barrier();
    long const before = (me() + size() - 1) % size();
    std::vector<long> expected(1024, 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      expected[i / 6 * 25 + i / 2 % 3 * 3 + i % 2] = 3 * (1 + 100 * before + static_cast<long>(i));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(own<long>(remote, static_cast<std::ptrdiff_t>(8 * i)), expected[i]) << i;
    ARMCI_Barrier();
    int same[] = {24, 0};
    int const code = ARMCI_PutS(values.data(), packed, remote.at(next), same, count, 2, next);
    EXPECT_EQ(code != 0, std::string(method) == "IOV");
    ARMCI_Barrier();
  }
}

}  // namespace
}  // namespace conformance

/// ARMCI: values of every kind of transfer, and of the helpers that Global Arrays uses.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"
#include "tests/support/random_layout.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

TEST(Contiguous, PutGetAndValues) {
  Remote remote(80000);
  int const next = (me() + 1) % size();
  std::vector<double> out(5000);
  std::iota(out.begin(), out.end(), 100.0 * me());
  ARMCI_Put(out.data(), remote.at(next), 40000, next);
  ARMCI_PutValueLong(77 + me(), remote.at(next, 40000), next);
  ARMCI_PutValueDouble(0.5 + me(), remote.at(next, 40008), next);
  int const value = 5 + me();
  ARMCI_Put_flag(out.data(), remote.at(next, 50000), 800, reinterpret_cast<int*>(remote.at(next, 60000)),
                 value, next);
  ARMCI_Barrier();
  int const before = (me() + size() - 1) % size();
  auto const* const got = reinterpret_cast<double const*>(remote.mine());
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(got[i], 100.0 * before + i);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(got[50000 / 8 + i], 100.0 * before + i);
  EXPECT_EQ(*reinterpret_cast<long*>(remote.mine() + 40000), 77 + before);
  EXPECT_EQ(*reinterpret_cast<int*>(remote.mine() + 60000), 5 + before);
  std::vector<double> in(5000);
  ARMCI_Get(remote.at(next), in.data(), 40000, next);
  EXPECT_EQ(in, out);
  EXPECT_EQ(ARMCI_GetValueLong(remote.at(next, 40000), next), 77 + me());
  EXPECT_EQ(ARMCI_GetValueDouble(remote.at(next, 40008), next), 0.5 + me());
}

template <typename T>
void accumulate(int datatype, T scale) {
  constexpr int count = 3000;
  Remote remote(count * static_cast<armci_size_t>(sizeof(T)));
  std::vector<T> values(count);
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = T(i % 17);
  for (int round = 0; round < 5; ++round) {
    for (int process = 0; process < size(); ++process) {
      ARMCI_Acc(datatype, &scale, values.data(), remote.at(process), count * static_cast<int>(sizeof(T)),
                process);
    }
  }
  ARMCI_Barrier();
  auto const* const got = reinterpret_cast<T const*>(remote.mine());
  for (int i = 0; i < count; ++i) ASSERT_EQ(got[i], T(5 * size()) * scale * T(i % 17));
  ARMCI_Barrier();
}

TEST(Accumulate, AllTypesScaleAndAreExact) {
  accumulate<int>(ARMCI_ACC_INT, 3);
  accumulate<long>(ARMCI_ACC_LNG, -2);
  accumulate<float>(ARMCI_ACC_FLT, 0.5f);
  accumulate<double>(ARMCI_ACC_DBL, 1.0);
  accumulate<double>(ARMCI_ACC_DBL, 2.0);
  accumulate<std::complex<float>>(ARMCI_ACC_CPL, {0.0f, 1.0f});
  accumulate<std::complex<double>>(ARMCI_ACC_DCP, {2.0, -1.0});
}

/// All processes add to the same words of process 0 by ARMCI_Acc, ARMCI_AccS and ARMCI_Rmw, at aligned and
/// misaligned addresses.
TEST(Accumulate, SingleElementsOfAllProcessesAndCallsAreSummed) {
  constexpr int rounds = 5000;
  Remote remote(128);
  long one = 1;
  double unit = 1;
  double values[2] = {1, 2};
  long longs[2] = {1, 2};
  int packed = 8;
  int stride = 12;  // every second element is aligned
  int count[] = {8, 2};
  for (int round = 0; round < rounds; ++round) {
    long fetched = 0;
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, remote.at(0), 8, 0);
    ARMCI_AccS(ARMCI_ACC_LNG, &one, longs, &packed, remote.at(0), &stride, count, 1, 0);
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, remote.at(0), 1, 0);
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, remote.at(0, 12), 8, 0);
    ARMCI_Acc(ARMCI_ACC_DBL, &unit, values, remote.at(0, 64), 8, 0);
    ARMCI_AccS(ARMCI_ACC_DBL, &unit, values, &packed, remote.at(0, 64), &stride, count, 1, 0);
    ARMCI_Acc(ARMCI_ACC_DBL, &unit, values, remote.at(0, 76), 8, 0);
  }
  ARMCI_Barrier();
  if (me() == 0) {
    std::memcpy(longs, remote.mine(), 8);
    std::memcpy(&longs[1], remote.mine() + 12, 8);
    std::memcpy(values, remote.mine() + 64, 8);
    std::memcpy(&values[1], remote.mine() + 76, 8);
    EXPECT_EQ(longs[0], 3L * rounds * size());
    EXPECT_EQ(longs[1], 3L * rounds * size());
    EXPECT_EQ(values[0], 2.0 * rounds * size());
    EXPECT_EQ(values[1], 3.0 * rounds * size());
  }
  ARMCI_Barrier();
}

TEST(Strided, ThreeDimensionalSectionsMoveAndAdd) {
  constexpr int nx = 20;
  constexpr int ny = 15;
  constexpr int nz = 10;
  Remote remote(nx * ny * nz * 8);
  int const next = (me() + 1) % size();
  std::vector<double> local(6 * 5 * 4);
  std::iota(local.begin(), local.end(), 1.0 + 1000 * me());
  int count[3] = {6 * 8, 5, 4};
  int local_strides[2] = {6 * 8, 6 * 5 * 8};
  int remote_strides[2] = {nx * 8, nx * ny * 8};
  char* const corner = remote.at(next, ((2 * ny + 3) * nx + 4) * 8);
  double scale = 2.0;
  ARMCI_PutS(local.data(), local_strides, corner, remote_strides, count, 2, next);
  ARMCI_AccS(ARMCI_ACC_DBL, &scale, local.data(), local_strides, corner, remote_strides, count, 2, next);
  std::vector<double> back(local.size());
  ARMCI_GetS(corner, remote_strides, back.data(), local_strides, count, 2, next);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 3 * local[i]);
  ARMCI_Barrier();
  auto const* const mine = reinterpret_cast<double const*>(remote.mine());
  int const before = (me() + size() - 1) % size();
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        bool const inside = z >= 2 && z < 6 && y >= 3 && y < 8 && x >= 4 && x < 10;
        double const expected =
            inside ? 3 * (1.0 + 1000 * before + ((z - 2) * 5 + (y - 3)) * 6 + (x - 4)) : 0;
        ASSERT_EQ(mine[(z * ny + y) * nx + x], expected);
      }
    }
  }
  std::vector<char> packed(local.size() * 8);
  armci_write_strided(back.data(), 2, local_strides, count, packed.data());
  EXPECT_EQ(std::memcmp(packed.data(), back.data(), packed.size()), 0);
}

/// Shapes with and without gaps on either side; a block without gaps is transferred as one.
TEST(Strided, GapsOfEitherSideAreLeftOut) {
  Remote remote(4096);
  double two = 2;
  int const next = (me() + 1) % size();
  for (int shape = 0; shape < 81; ++shape) {
    int count[] = {8, 1 + shape % 3, 1 + shape / 3 % 3};
    int here[] = {8 + shape / 9 % 3 * 8, 0}, there[] = {8 + shape / 27 * 8, 0};
    for (int* const side : {here, there}) side[1] = side[0] * count[1];
    std::vector<double> source(64), back(64, -1.0), whole = back, expected_back = back, expected = whole;
    std::iota(source.begin(), source.end(), 1.0 + shape);
    ARMCI_Put(whole.data(), remote.at(next), 64 * 8, next);
    ARMCI_PutS(source.data(), here, remote.at(next), there, count, 2, next);
    ARMCI_AccS(ARMCI_ACC_DBL, &two, source.data(), here, remote.at(next), there, count, 2, next);
    ARMCI_GetS(remote.at(next), there, back.data(), here, count, 2, next);
    ARMCI_Get(remote.at(next), whole.data(), 64 * 8, next);
    for (int row = 0; row < count[1] * count[2]; ++row)
      expected_back[row * here[0] / 8] = expected[row * there[0] / 8] = 3 * source[row * here[0] / 8];
    EXPECT_EQ(back, expected_back) << shape;
    EXPECT_EQ(whole, expected) << shape;
  }
  ARMCI_Barrier();
}

TEST(Vector, ListsOfSegmentsMoveAndAdd) {
  Remote remote(8000);
  Remote other(8000);  // a list may span several allocations
  int const next = (me() + 1) % size();
  std::vector<double> local(100);
  std::iota(local.begin(), local.end(), 1.0);
  std::vector<void*> here;
  std::vector<void*> there;
  for (int i = 0; i < 50; ++i) {
    here.push_back(&local[static_cast<std::size_t>(2 * i)]);
    there.push_back((i % 2 == 0 ? remote : other).at(next, i * 100));
  }
  armci_giov_t put{here.data(), there.data(), 16, 50};
  double scale = 1.0;
  ARMCI_PutV(&put, 1, next);
  ARMCI_AccV(ARMCI_ACC_DBL, &scale, &put, 1, next);
  std::vector<double> back(100);
  std::vector<void*> to;
  for (int i = 0; i < 50; ++i) to.push_back(&back[static_cast<std::size_t>(2 * i)]);
  armci_giov_t get{there.data(), to.data(), 16, 50};
  ARMCI_GetV(&get, 1, next);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 2 * local[i]);
}

TEST(Vector, ListsReachAllocatedAndOtherMemory) {
  constexpr int segments = 12;
  Remote remote(800);
  std::vector<double> own(100, -1.0);
  int const next = (me() + 1) % size();
  std::vector<char*> others(static_cast<std::size_t>(size()));
  char* const mine = reinterpret_cast<char*>(own.data());
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, others.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  std::vector<double> local(segments);
  std::iota(local.begin(), local.end(), 1.0 + 100 * me());
  std::vector<double> back(segments);
  std::vector<void*> here;
  std::vector<void*> there;
  std::vector<void*> to;
  for (int i = 0; i < segments; ++i) {
    bool const allocated = i < 2 || i > 6;
    here.push_back(&local[static_cast<std::size_t>(i)]);
    to.push_back(&back[static_cast<std::size_t>(i)]);
    there.push_back(allocated ? remote.at(next, i * 8) : others[static_cast<std::size_t>(next)] + i * 8);
  }
  armci_giov_t put{here.data(), there.data(), 8, segments};
  armci_giov_t few{here.data(), there.data(), 8, 4};
  armci_giov_t get{there.data(), to.data(), 8, segments};
  double scale = 2.0;
  ARMCI_PutV(&put, 1, next);
  ARMCI_AccV(ARMCI_ACC_DBL, &scale, &put, 1, next);
  ARMCI_AccV(ARMCI_ACC_DBL, &scale, &few, 1, next);
  ARMCI_GetV(&get, 1, next);
  for (std::size_t i = 0; i < segments; ++i) EXPECT_EQ(back[i], (i < 4 ? 5 : 3) * local[i]);
  ARMCI_Barrier();
}

TEST(NonBlocking, HandlesAndImplicitOperationsComplete) {
  constexpr int parts = 20;
  Remote remote(parts * 4000);
  int const next = (me() + 1) % size();
  std::vector<std::vector<int>> out(parts, std::vector<int>(1000));
  std::vector<armci_hdl_t> handles(parts);
  for (int i = 0; i < parts; ++i) {
    auto const part = static_cast<std::size_t>(i);
    std::iota(out[part].begin(), out[part].end(), i * 10000 + me());
    ARMCI_INIT_HANDLE(&handles[part]);
    ARMCI_NbPut(out[part].data(), remote.at(next, i * 4000), 4000, next,
                i % 2 == 0 ? &handles[part] : nullptr);
  }
  for (auto& handle : handles) EXPECT_EQ(ARMCI_Wait(&handle), 0);
  ARMCI_WaitAll();
  ARMCI_Fence(next);
  armci_hdl_t aggregate;
  ARMCI_INIT_HANDLE(&aggregate);
  ARMCI_SET_AGGREGATE_HANDLE(&aggregate);
  std::vector<std::vector<int>> in(parts, std::vector<int>(1000));
  for (int i = 0; i < parts; ++i)
    ARMCI_NbGet(remote.at(next, i * 4000), in[static_cast<std::size_t>(i)].data(), 4000, next, &aggregate);
  while (ARMCI_Test(&aggregate) != 0) {
  }
  EXPECT_EQ(in, out);
}

TEST(Rmw, CountersAreExactAndSwapsExchange) {
  constexpr int rounds = 300;
  Remote remote(64);
  std::vector<long> fetched(rounds);
  for (auto& value : fetched) ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &value, remote.at(0), 1, 0);
  std::vector<long> all(static_cast<std::size_t>(rounds * size()));
  MPI_Allgather(fetched.data(), rounds, MPI_LONG, all.data(), rounds, MPI_LONG, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<long>(i));
  int value = 0;
  ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &value, remote.at(size() - 1, 8), 3, size() - 1);
  ARMCI_Barrier();
  if (me() == size() - 1) {
    EXPECT_EQ(*reinterpret_cast<int*>(remote.mine() + 8), 3 * size());
  }
  ARMCI_Barrier();
  if (me() == 0) {
    int token = 99;
    ARMCI_Rmw(ARMCI_SWAP, &token, remote.at(0, 16), 0, 0);
    EXPECT_EQ(token, 0);
    EXPECT_EQ(ARMCI_GetValueInt(remote.at(0, 16), 0), 99);
  }
}

TEST(Mutexes, ExcludeEachOther) {
  ARMCI_Create_mutexes(2);
  Remote remote(64);
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    for (int owner = 0; owner < std::min(size(), 2); ++owner) {
      ARMCI_Lock(1, owner);
      // Get, change, put: without exclusion updates would be lost.
      long value = 0;
      ARMCI_Get(remote.at(owner), &value, sizeof value, owner);
      ++value;
      ARMCI_Put(&value, remote.at(owner), sizeof value, owner);
      ARMCI_Fence(owner);
      ARMCI_Unlock(1, owner);
    }
  }
  ARMCI_Barrier();
  if (me() < 2) {
    EXPECT_EQ(*reinterpret_cast<long*>(remote.mine()), rounds * size());
  }
  ARMCI_Destroy_mutexes();
}

/// Location consistency: operations of one process on a place of another take effect in program order.
TEST(Order, RandomOperationsMatchProgramOrder) {
  auto start = mpixrma::test::seed();
  MPI_Bcast(&start, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  std::mt19937_64 random(start + static_cast<std::uint64_t>(me()));
  constexpr int words = 512;
  Remote remote(words * 8 * static_cast<armci_size_t>(size()));
  int const next = (me() + 1) % size();
  char* const area = remote.at(next, me() * words * 8);
  std::vector<double> expected(words, 0.0);
  std::vector<double> source(words);
  double scale = 2.0;
  for (int round = 0; round < 3000; ++round) {
    for (auto& value : source) value = static_cast<double>(random() % 1000);
    int const rows = 1 + static_cast<int>(random() % 8);
    int const width = 1 + static_cast<int>(random() % 8);
    int const stride = width + static_cast<int>(random() % 8);
    int const first = static_cast<int>(random() % static_cast<unsigned>(words - rows * stride));
    int count[2] = {width * 8, rows};
    int strides[1] = {stride * 8};
    int packed[1] = {width * 8};
    unsigned const kind = static_cast<unsigned>(random() % 4);
    for (int r = 0; r < rows && kind != 3; ++r) {
      for (int c = 0; c < width; ++c) {
        double& place = expected[static_cast<std::size_t>(first + r * stride + c)];
        double const value = source[static_cast<std::size_t>(r * width + c)];
        if (kind == 0) place = value;
        if (kind == 1) place += scale * value;
        if (kind == 2 && r == 0) place = value;
      }
    }
    if (kind == 0) ARMCI_PutS(source.data(), packed, area + first * 8, strides, count, 1, next);
    if (kind == 1)
      ARMCI_AccS(ARMCI_ACC_DBL, &scale, source.data(), packed, area + first * 8, strides, count, 1, next);
    if (kind == 2) ARMCI_Put(source.data(), area + first * 8, width * 8, next);
    if (kind == 3) {
      std::vector<double> got(words);
      ARMCI_Get(area, got.data(), words * 8, next);
      ASSERT_EQ(got, expected) << "seed " << start << " round " << round;
    }
  }
}

TEST(Groups, CommunicateAmongThemselves) {
  int const half = (size() + 1) / 2;
  if (me() < half) {
    std::vector<int> members(static_cast<std::size_t>(half));
    std::iota(members.begin(), members.end(), 0);
    ARMCI_Group group;
    ARMCI_Group_create(half, members.data(), &group);
    int rank = -1;
    int count = 0;
    ARMCI_Group_rank(&group, &rank);
    ARMCI_Group_size(&group, &count);
    EXPECT_EQ(rank, me());
    EXPECT_EQ(count, half);
    EXPECT_EQ(ARMCI_Absolute_id(&group, half - 1), half - 1);
    std::vector<void*> bases(static_cast<std::size_t>(half));
    ARMCI_Malloc_group(bases.data(), 64, &group);
    int const next = (rank + 1) % half;
    ARMCI_PutValueInt(rank + 10, bases[static_cast<std::size_t>(next)], ARMCI_Absolute_id(&group, next));
    ARMCI_AllFence();
    armci_msg_group_barrier(&group);
    EXPECT_EQ(*static_cast<int*>(bases[static_cast<std::size_t>(rank)]), (rank + half - 1) % half + 10);
    int sum = rank;
    char plus[] = "+";
    armci_msg_group_igop(&sum, 1, plus, &group);
    EXPECT_EQ(sum, half * (half - 1) / 2);
    ARMCI_Free_group(bases[static_cast<std::size_t>(rank)], &group);
    ARMCI_Group_free(&group);
  }
  ARMCI_Barrier();
}

}  // namespace

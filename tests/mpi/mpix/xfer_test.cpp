/// MPIX_RMA_xfer, Complete and Fence: values between all pairs of ranks.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {
namespace {

TEST(Xfer, PutThenGetReturnsTheValuesFromEveryRankAndKind) {
  constexpr int count = 5000;
  Memory memory(count * sizeof(double) * 4);
  int const me = memory.rank();
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int rank = 0; rank < memory.size(); ++rank) {
      if (me >= 4) continue;
      std::vector<double> out(count);
      std::iota(out.begin(), out.end(), 1000.0 * me + kind);
      char* const target = memory.at(rank, kind, me * count * static_cast<int>(sizeof(double)));
      for (int const part : {1, 3, count}) {
        ASSERT_EQ(transfer(MPIX_RMA_PUT, out.data(), part, MPI_DOUBLE, rank, target), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
        std::vector<double> in(count, -1);
        ASSERT_EQ(transfer(MPIX_RMA_GET, in.data(), part, MPI_DOUBLE, rank, target, MPIX_RMA_ATTR_BLOCKING),
                  MPI_SUCCESS);
        ASSERT_TRUE(std::equal(in.begin(), in.begin() + part, out.begin()))
            << "rank " << rank << " kind " << kind;
        ASSERT_EQ(part == count ? -1 : in[static_cast<std::size_t>(part)], -1);
      }
    }
  }
  MPI_Barrier(world);
  for (int from = 0; from < std::min(memory.size(), 4); ++from) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      auto const* const got = reinterpret_cast<double const*>(memory.own(kind)) + from * count;
      for (int i = 0; i < count; ++i) ASSERT_EQ(got[i], 1000.0 * from + kind + i);
    }
  }
}

/// Accumulates after a put of the same datatype to the same memory, so that both are already in the caches.
template <typename Scalar>
void expect_sums_after_put(MPI_Datatype type, int scalars_of_element, std::ptrdiff_t offset) {
  constexpr int most = 5;
  constexpr int times = 3;
  Memory memory(1024);
  int const next = (memory.rank() + 1) % memory.size();
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int count = 1; count <= most; ++count) {
      char* const target = memory.at(next, kind) + offset;
      std::vector<Scalar> values(static_cast<std::size_t>(count * scalars_of_element));
      std::iota(values.begin(), values.end(), static_cast<Scalar>(1));
      auto const move = [&](MPIX_RMA_Op op, std::vector<Scalar>& local) {
        ASSERT_EQ(transfer(op, local.data(), count, type, next, target), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
      };
      move(MPIX_RMA_PUT, values);
      for (int i = 0; i < times; ++i) move(MPIX_RMA_ACCUMULATE, values);
      std::vector<Scalar> sums(values.size());
      move(MPIX_RMA_GET, sums);
      for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(sums[i], static_cast<Scalar>((times + 1) * values[i]))
            << "kind " << kind << " count " << count;
    }
  }
  MPI_Barrier(world);
}

TEST(Xfer, AccumulatesSumAfterPutsOfTheSameDatatype) {
  MPI_Datatype three = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  MPI_Type_commit(&three);
  for (std::ptrdiff_t const offset : {0, 5}) {
    expect_sums_after_put<signed char>(MPI_INT8_T, 1, offset);
    expect_sums_after_put<short>(MPI_SHORT, 1, offset);
    expect_sums_after_put<unsigned>(MPI_UNSIGNED, 1, offset);
    expect_sums_after_put<long>(MPI_LONG, 1, offset);
    expect_sums_after_put<float>(MPI_FLOAT, 1, offset);
    expect_sums_after_put<double>(MPI_DOUBLE, 1, offset);
    expect_sums_after_put<double>(MPI_C_DOUBLE_COMPLEX, 2, offset);
    expect_sums_after_put<double>(three, 3, offset);
  }
  MPI_Type_free(&three);
}

/// A sum of bytes is rejected although the put of bytes before it has succeeded.
TEST(Xfer, AccumulatesOfBytesFailAfterPutsOfBytes) {
  Memory memory(64);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  double value = 1;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    char* const target = memory.at(memory.rank(), kind);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 8, MPI_BYTE, memory.rank(), target), MPI_SUCCESS);
      int error = MPI_SUCCESS;
      MPI_Error_class(transfer(MPIX_RMA_ACCUMULATE, &value, 8, MPI_BYTE, memory.rank(), target), &error);
      EXPECT_EQ(error, MPI_ERR_OP);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, memory.rank()), MPI_SUCCESS);
    double found = 0;
    std::memcpy(&found, target, sizeof found);
    EXPECT_EQ(found, 1);
  }
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
}

TEST(Xfer, SidesOfAnAccumulateWithoutDataOrTargetAreNotCompared) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory const memory(256);
  double value = 1;
  auto const accumulate = [&](int count, int rank, MPI_Datatype target_type) {
    return MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, count, MPI_DOUBLE, rank, memory.at(0, 0), 2 * count,
                         target_type, nullptr, &world, nullptr);
  };
  EXPECT_EQ(class_of(accumulate(1, 0, MPI_INT)), MPI_ERR_TYPE);
  EXPECT_EQ(accumulate(0, 0, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(accumulate(1, MPI_PROC_NULL, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(class_of(accumulate(-1, MPI_PROC_NULL, MPI_DOUBLE)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(accumulate(1, MPI_PROC_NULL, MPI_DATATYPE_NULL)), MPI_ERR_TYPE);
}

TEST(Xfer, RequestsCompleteByEveryCallOfMpi) {
  constexpr int count = 20000;
  Memory memory(count * sizeof(int) * 8);
  int const next = (memory.rank() + 1) % memory.size();
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), kind * 7 + memory.rank());
    std::vector<int> back(count);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), count, MPI_INT, next, memory.at(next, kind),
                       MPIX_RMA_ATTR_REMOTE_COMPLETION, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    ASSERT_EQ(transfer(MPIX_RMA_GET, back.data(), count, MPI_INT, next, memory.at(next, kind), 0, &request),
              MPI_SUCCESS);
    int flag = 0;
    while (flag == 0) ASSERT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(back, values);

    std::vector<std::vector<int>> parts(4, std::vector<int>(count / 4));
    std::vector<MPI_Request> requests(4);
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(transfer(MPIX_RMA_GET, parts[static_cast<std::size_t>(i)].data(), count / 4, MPI_INT, next,
                         memory.at(next, kind, i * count), 0, &requests[static_cast<std::size_t>(i)]),
                MPI_SUCCESS);
    }
    int index = -1;
    ASSERT_EQ(MPI_Waitany(4, requests.data(), &index, &status), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(parts[static_cast<std::size_t>(i / (count / 4))][static_cast<std::size_t>(i % (count / 4))],
                values[static_cast<std::size_t>(i)]);

    // A request that is freed before completion: the operation is still executed.
    values[0] = -5;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), count, MPI_INT, next, memory.at(next, kind),
                       MPIX_RMA_ATTR_REMOTE_COMPLETION, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(reinterpret_cast<int const*>(memory.own(kind))[0], -5);
    MPI_Barrier(world);
  }
}

TEST(Xfer, AtomicAccumulatesOfAllRanksAddUp) {
  constexpr int count = 3000;
  constexpr int rounds = 20;
  Memory memory(count * 16);
  std::vector<double> values(count, 1.0);
  std::vector<long> counts(count, 1);
  for (int round = 0; round < rounds; ++round) {
    for (int rank = 0; rank < memory.size(); ++rank) {
      for (int kind = 0; kind < Memory::kinds; ++kind) {
        ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, values.data(), count, MPI_DOUBLE, rank, memory.at(rank, kind),
                           MPIX_RMA_ATTR_ATOMICITY),
                  MPI_SUCCESS);
        ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, counts.data(), count, MPI_LONG, rank,
                           memory.at(rank, kind, count * 8), MPIX_RMA_ATTR_ATOMICITY),
                  MPI_SUCCESS);
      }
    }
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(reinterpret_cast<double*>(memory.own(kind))[i], rounds * memory.size()) << "kind " << kind;
      ASSERT_EQ(reinterpret_cast<long*>(memory.own(kind) + count * 8)[i], rounds * memory.size())
          << "kind " << kind;
    }
  }
}

TEST(Xfer, AccumulateTakesOperationAndScale) {
  Memory memory(1024);
  MPI_Barrier(world);
  if (memory.rank() == 0) {
    int const last = memory.size() - 1;
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      double start[4] = {1, 2, 3, 4};
      ASSERT_EQ(transfer(MPIX_RMA_PUT, start, 4, MPI_DOUBLE, last, memory.at(last, kind)), MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
      double operand[4] = {10, 1, 10, 1};
      double const scale = 0.5;
      MPIX_RMA_Attributes chosen =
          attributes(MPIX_RMA_ATTR_ACCUMULATE_OP | MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION);
      chosen.accumulate_op = MPI_MAX;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, operand, 4, MPI_DOUBLE, last, memory.at(last, kind), 4,
                              MPI_DOUBLE, nullptr, &world, &chosen),
                MPI_SUCCESS);
      chosen.set = MPIX_RMA_ATTR_ACCUMULATE_SCALE | MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
      chosen.accumulate_scale = &scale;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, operand, 4, MPI_DOUBLE, last, memory.at(last, kind), 4,
                              MPI_DOUBLE, nullptr, &world, &chosen),
                MPI_SUCCESS);
      double got[4] = {};
      ASSERT_EQ(
          transfer(MPIX_RMA_GET, got, 4, MPI_DOUBLE, last, memory.at(last, kind), MPIX_RMA_ATTR_BLOCKING),
          MPI_SUCCESS);
      double const expected[4] = {15, 2.5, 15, 4.5};
      for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], expected[i]) << "kind " << kind;
    }
  }
}

/// A flag put after a fence is never seen before the data.
TEST(Fence, OrdersDataBeforeFlag) {
  constexpr int count = 4000;
  Memory memory(count * 8 + 64);
  constexpr int rounds = 100;
  int const last = memory.size() - 1;
  if (memory.size() == 1) return;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Barrier(world);
    if (memory.rank() == 0) {
      std::vector<std::int64_t> data(count);
      for (std::int64_t round = 1; round <= rounds; ++round) {
        std::fill(data.begin(), data.end(), round);
        ASSERT_EQ(transfer(MPIX_RMA_PUT, data.data(), count, MPI_INT64_T, last, memory.at(last, kind, 64)),
                  MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Fence(&world, last), MPI_SUCCESS);
        ASSERT_EQ(
            transfer(MPIX_RMA_PUT, &round, 1, MPI_INT64_T, last, memory.at(last, (kind + 1) % Memory::kinds)),
            MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
      }
    } else if (memory.rank() == last) {
      auto const* const flag =
          reinterpret_cast<std::int64_t volatile*>(memory.own((kind + 1) % Memory::kinds));
      auto const* const data = reinterpret_cast<std::int64_t volatile*>(memory.own(kind) + 64);
      for (std::int64_t seen = 0; seen < rounds;) {
        seen = *flag;
        std::atomic_thread_fence(std::memory_order_acquire);
        ASSERT_GE(data[count - 1], seen);
        ASSERT_GE(data[0], seen);
      }
    }
    MPI_Barrier(world);
    std::memset(memory.own((kind + 1) % Memory::kinds), 0, 8);
    MPI_Barrier(world);
  }
}

TEST(Progress, ComputingTargetDoesNotDelayOrigin) {
  Memory memory(64);
  int const last = memory.size() - 1;
  MPI_Barrier(world);
  if (memory.size() == 1) return;
  if (memory.rank() == last) {
    // Waits outside of MPI: if the transfer needed progress by MPI calls, the loop would end by the clock.
    auto const* const value = reinterpret_cast<double volatile*>(memory.own(Memory::plain));
    double const start = MPI_Wtime();
    double now = start;
    while (*value != 2.5 && now - start < 30) now = MPI_Wtime();
    EXPECT_EQ(*value, 2.5);
    EXPECT_LT(now - start, 20.0);
  } else if (memory.rank() == 0) {
    double addend = 2.5;
    EXPECT_EQ(transfer(MPIX_RMA_ACCUMULATE, &addend, 1, MPI_DOUBLE, last, memory.at(last, Memory::plain),
                       MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
  }
  MPI_Barrier(world);
}

TEST(Communicators, SubAndInterCommunicatorsAddressTheirOwnRanks) {
  Memory memory(256);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(world, memory.rank() % 2, -memory.rank(), &half);
  int mine = 0;
  int members = 0;
  MPI_Comm_rank(half, &mine);
  MPI_Comm_size(half, &members);
  int const neighbour = (mine + 1) % members;
  int neighbour_in_world = 0;
  MPI_Group all;
  MPI_Group some;
  MPI_Comm_group(world, &all);
  MPI_Comm_group(half, &some);
  MPI_Group_translate_ranks(some, 1, &neighbour, all, &neighbour_in_world);
  long const value = 100 + memory.rank();
  ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, neighbour,
                          memory.at(neighbour_in_world, 0), 1, MPI_LONG, nullptr, &half, nullptr),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&half, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  int const before = (mine + members - 1) % members;
  int before_in_world = 0;
  MPI_Group_translate_ranks(some, 1, &before, all, &before_in_world);
  EXPECT_EQ(*reinterpret_cast<long*>(memory.own(0)), 100 + before_in_world);
  MPI_Barrier(world);
  if (memory.size() > 1) {
    MPI_Comm inter = MPI_COMM_NULL;
    // Leaders: the highest world rank of each half is its rank 0.
    int const other_leader = memory.rank() % 2 == 0 ? (memory.size() - 1) - (memory.size() - 1 + 1) % 2
                                                    : (memory.size() - 1) - (memory.size() - 1) % 2;
    MPI_Intercomm_create(half, 0, world, other_leader, 5, &inter);
    if (mine == 0) {
      long const greeting = 1000 + memory.rank();
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<long*>(&greeting), 1, MPI_LONG, 0,
                              memory.at(other_leader, 0, 8), 1, MPI_LONG, nullptr, &inter, nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&inter, 0), MPI_SUCCESS);
    }
    MPI_Barrier(world);
    if (mine == 0) EXPECT_EQ(reinterpret_cast<long*>(memory.own(0))[1], 1000 + other_leader);
    MPI_Comm_free(&inter);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  MPI_Comm_free(&half);
}

TEST(Memory, SuccessorAtTheSameAddressIsAccessible) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  for (int round = 0; round < 30; ++round) {
    std::vector<void*> bases(static_cast<std::size_t>(size));
    ASSERT_EQ(rma_allocate(rank % 2 == 1 && round % 3 == 0 ? 0 : 1 << 20, MPI_INFO_NULL, world, bases.data()),
              MPI_SUCCESS);
    void* const mine = bases[static_cast<std::size_t>(rank)];
    int const next = (rank + 1) % size;
    long const value = round * 1000 + rank;
    if (mine != nullptr) std::memset(mine, 0, 64);
    MPI_Barrier(world);
    if (bases[static_cast<std::size_t>(next)] != nullptr) {
      ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, next,
                         bases[static_cast<std::size_t>(next)]),
                MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    if (mine != nullptr) ASSERT_EQ(*static_cast<long*>(mine), round * 1000 + (rank + size - 1) % size);
    ASSERT_EQ(rma_free(mine, world), MPI_SUCCESS);
  }
}

TEST(Xfer, NullIsAnErrorForDatatypesWithGaps) {
  ErrorsReturn const returned(MPI_COMM_WORLD);
  Memory memory(256);
  double values[8] = {};
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &gaps);
  MPI_Type_commit(&gaps);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    void* const there = memory.at(0, kind);
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
      EXPECT_EQ(class_of(MPIX_RMA_xfer(op, nullptr, 1, gaps, 0, there, 1, gaps, nullptr, &world, nullptr)),
                MPI_ERR_BUFFER);
      EXPECT_EQ(class_of(MPIX_RMA_xfer(op, values, 1, gaps, 0, nullptr, 1, gaps, nullptr, &world, nullptr)),
                MPI_ERR_ARG);
    }
  }
  MPI_Type_free(&gaps);
}

}  // namespace
}  // namespace mpixrma::test

/// Read-modify-write of many types, in every kind of memory, from all processes and threads at once;
/// notification counters.
#include <atomic>
#include <complex>
#include <random>
#include <thread>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {

namespace {

class AtomicAttacks : public ::testing::Test {
 protected:
  static constexpr int bytes = 8192;

  void SetUp() override { MPI_Barrier(world); }
  int rank() const { return memory_.rank(); }
  int size() const { return memory_.size(); }
  MPI_Aint address(int rank, int kind, int offset) const {
    return reinterpret_cast<MPI_Aint>(memory_.at(rank, kind, offset));
  }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  Memory memory_{bytes};
};

/// Adds 1 repeatedly, at random by rmw or accumulate with ATOMICITY, with or without a result, to one element
/// or two.
template <typename T>
void add_ones(MPI_Datatype type, int target, MPI_Aint where, int rounds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < rounds; ++i) {
    T one[2] = {T{1}, T{1}};
    T before[2];
    MPIX_RMA_Attributes chosen = attributes((random() % 16) | MPIX_RMA_ATTR_BLOCKING);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (random() % 5) {
      case 0:
        code = MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, type, before, target, where, nullptr, &world, nullptr);
        break;
      case 1:
        code = MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, type, nullptr, target, where, &request, &world, &chosen);
        break;
      case 2:
        code = MPIX_RMA_rmw(MPIX_RMW_SUM, one, 2, type, before, target,
                            where - static_cast<MPI_Aint>(sizeof(T)), nullptr, &world, &chosen);
        break;
      case 3:
        chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
        code = MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, one, 1, type, target, reinterpret_cast<void*>(where), 1,
                             type, nullptr, &world, &chosen);
        break;
      default:
        chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
        code = MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, one, 2, type, target, reinterpret_cast<void*>(where), 2,
                             type, &request, &world, &chosen);
    }
    ASSERT_EQ(code, MPI_SUCCESS) << text_of(code);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, target), MPI_SUCCESS);
  }
}

template <typename T>
void contend(Memory& memory, MPI_Datatype type, char const* name) {
  constexpr int rounds = 60;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Barrier(world);
    std::memset(memory.own(kind), 0, 1024);
    MPI_Barrier(world);
    int const target = 0;
    auto const where = reinterpret_cast<MPI_Aint>(memory.at(target, kind, 512));
    auto const rank = static_cast<std::uint64_t>(memory.rank());
    std::thread other([&] { add_ones<T>(type, target, where, rounds, 2 * rank); });
    add_ones<T>(type, target, where, rounds, 2 * rank + 1);
    other.join();
    MPI_Barrier(world);
    if (memory.rank() == target) {
      T const found = *reinterpret_cast<T const*>(memory.own(kind) + 512);
      EXPECT_EQ(found, T(static_cast<float>(2 * rounds * memory.size()))) << name << " kind " << kind;
    }
  }
}

TEST_F(AtomicAttacks, UpdatesOfManyTypesAreExact) {
  contend<std::int16_t>(memory_, MPI_INT16_T, "int16");
  contend<std::uint16_t>(memory_, MPI_UNSIGNED_SHORT, "unsigned short");
  contend<std::int32_t>(memory_, MPI_INT, "int");
  contend<std::uint64_t>(memory_, MPI_UINT64_T, "uint64");
  contend<float>(memory_, MPI_FLOAT, "float");
  contend<double>(memory_, MPI_DOUBLE, "double");
  contend<long double>(memory_, MPI_LONG_DOUBLE, "long double");
  contend<std::complex<float>>(memory_, MPI_C_FLOAT_COMPLEX, "float complex");
  contend<std::complex<double>>(memory_, MPI_C_DOUBLE_COMPLEX, "double complex");
  contend<std::complex<long double>>(memory_, MPI_C_LONG_DOUBLE_COMPLEX, "long double complex");
}

/// Integers of different widths on the same bytes.
TEST_F(AtomicAttacks, IntegersOfAllWidthsAreAtomicWithEachOther) {
  constexpr int rounds = 100;  // for 3 ranks: below 2^15
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Barrier(world);
    std::memset(memory_.own(kind), 0, 64);
    MPI_Barrier(world);
    MPI_Aint const where = address(size() - 1, kind, 16);
    for (int i = 0; i < rounds; ++i) {
      std::int64_t wide = std::int64_t{1} << 48;
      std::int32_t middle = 1 << 16;
      std::int16_t narrow = 1;
      std::int64_t none = 0;
      std::int64_t before = 0;
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &wide, 1, MPI_INT64_T, nullptr, size() - 1, where, nullptr, &world,
                             nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &middle, 1, MPI_INT32_T, nullptr, size() - 1, where, nullptr,
                             &world, nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &narrow, 1, MPI_INT16_T, nullptr, size() - 1, where, nullptr,
                             &world, nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &narrow, 1, MPI_INT16_T, nullptr, size() - 1, where + 4, nullptr,
                             &world, nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_BOR, &none, 1, MPI_INT64_T, &before, size() - 1, where, nullptr, &world,
                             nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_rmw2(MPIX_RMW2_MASK_SWAP, &none, 1, MPI_INT64_T, &wide, &before, size() - 1, where,
                              nullptr, &world, nullptr),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, size() - 1), MPI_SUCCESS);
    }
    MPI_Barrier(world);
    if (rank() == size() - 1) {
      std::int64_t const n = rounds * size();
      EXPECT_EQ(*reinterpret_cast<std::int64_t*>(memory_.own(kind) + 16),
                (n << 48) + (n << 32) + (n << 16) + n)
          << "kind " << kind;
    }
  }
}

/// The counters of EachNotifiedOperationIsCountedOnce.
constexpr int counters = 5;

/// A random operation with NOTIFY on memory of the next rank.
struct NotifiedOperation {
  MPI_Comm comm;
  int target;
  void* memory;
  MPI_Aint address;      ///< of `memory`
  MPI_Datatype strided;  ///< 8 longs
  MPIX_RMA_Attributes* attributes;
  MPI_Request* request;
  std::vector<long>& values;
  long& before;  ///< the result, which may arrive late

  int transfer(MPIX_RMA_Op op, int count, MPI_Datatype type, int longs, int rank) {
    return MPIX_RMA_xfer(op, values.data(), count, type, rank, memory, longs, MPI_LONG, request, &comm,
                         attributes);
  }
  /// Issues the operation of this kind, 0 to 6, of which the last one has no target. Returns an error code.
  int issue(unsigned kind) {
    switch (kind) {
      case 0: return transfer(MPIX_RMA_PUT, 100, MPI_LONG, 100, target);
      case 1: return transfer(MPIX_RMA_GET, 1000, MPI_LONG, 1000, target);
      case 2: return transfer(MPIX_RMA_ACCUMULATE, 10, MPI_LONG, 10, target);
      case 3: return transfer(MPIX_RMA_PUT, 1, strided, 8, target);
      case 4:
        return MPIX_RMA_rmw(MPIX_RMW_SUM, values.data(), 1, MPI_LONG, &before, target, address, request,
                            &comm, attributes);
      case 5:
        return MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, values.data(), 2, MPI_LONG, values.data() + 10, nullptr,
                             target, address, request, &comm, attributes);
      default: return transfer(MPIX_RMA_PUT, 1, MPI_LONG, 1, MPI_PROC_NULL);
    }
  }
  /// A put that names a counter which does not exist.
  void expect_refusal(int counter) {
    attributes->notify_index = counter;
    request = nullptr;
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, 1, MPI_LONG, 1, target)), MPI_ERR_ARG);
  }
};

/// Waits until the counters of `comm` have the values that the previous rank expects, and compares them.
void compare_counters(MPI_Comm comm, MPI_Count const (&expected)[counters], int next, int previous) {
  MPI_Count arriving[counters] = {};
  MPI_Sendrecv(expected, counters, MPI_COUNT, next, 0, arriving, counters, MPI_COUNT, previous, 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Request waits[counters];
  for (int i = 0; i < counters; ++i)
    ASSERT_EQ(rma_wait_notify_value(comm, i, arriving[i], &waits[i]), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS), MPI_SUCCESS);
  ASSERT_EQ(MPI_Waitall(counters, waits, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  MPI_Barrier(comm);
  for (int i = 0; i < counters; ++i) {
    MPI_Count value = -1;
    EXPECT_EQ(rma_get_notify_value(comm, i, &value), MPI_SUCCESS);
    EXPECT_EQ(value, arriving[i]) << i;
  }
}

/// Every operation that may notify does so exactly once; others do not.
TEST_F(AtomicAttacks, EachNotifiedOperationIsCountedOnce) {
  std::mt19937_64 random(seed() + static_cast<unsigned>(rank()));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  ASSERT_EQ(rma_set_num_notify(comm, counters), MPI_SUCCESS);
  int const right = (rank() + 1) % size();
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 2, MPI_LONG, &vector);
  MPI_Type_commit(&vector);
  MPI_Count expected[counters] = {};
  std::vector<long> values(1024, 1);
  long before = 0;
  for (int i = 0; i < 400; ++i) {
    auto const index = static_cast<int>(random() % counters);
    auto const memory = static_cast<int>(random() % 3);
    MPIX_RMA_Attributes chosen = attributes((random() % 16) | MPIX_RMA_ATTR_NOTIFY);
    chosen.notify_index = index;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request* const asked = random() % 2 == 0 ? &request : nullptr;
    NotifiedOperation operation{
        comm,   right, memory_.at(right, memory), address(right, memory, 0), vector, &chosen, asked,
        values, before};
    if (auto const kind = static_cast<unsigned>(random() % 8); kind == 7) {
      operation.expect_refusal(random() % 2 == 0 ? counters : -1);
    } else {
      int const code = operation.issue(kind);
      ASSERT_EQ(code, MPI_SUCCESS) << text_of(code);
      if (kind != 6) ++expected[index];
    }
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (random() % 8 == 0) ASSERT_EQ(MPIX_RMA_Complete(&comm, right), MPI_SUCCESS);
  }
  compare_counters(comm, expected, right, (rank() + size() - 1) % size());
  MPI_Type_free(&vector);
  MPI_Comm_free(&comm);
}

/// A counter is reset while others increment it and several requests wait for it.
TEST_F(AtomicAttacks, ResetsLoseNoNotification) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  constexpr int rounds = 300;
  std::atomic<bool> done{false};
  MPI_Count taken = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(rma_wait_notify_value(comm, 0, MPI_Count{1} << 40, &request), MPI_SUCCESS);
  std::thread reader([&] {
    while (!done.load()) {
      MPI_Count before = 0;
      EXPECT_EQ(rma_reset_notify_value(comm, 0, &before), MPI_SUCCESS);
      taken += before;
      MPI_Request soon = MPI_REQUEST_NULL;
      EXPECT_EQ(rma_wait_notify_value(comm, 0, 0, &soon), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&soon, MPI_STATUS_IGNORE), MPI_SUCCESS);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    for (int target = 0; target < size(); ++target) {
      long value = i;
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
      EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, target,
                              memory_.at(target, i % 3, 8 * rank()), 1, MPI_LONG, nullptr, &comm, &chosen),
                MPI_SUCCESS);
      if (i % 10 == 0)
        EXPECT_EQ(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS), MPI_SUCCESS);
      else
        EXPECT_EQ(MPIX_RMA_Complete(&comm, target), MPI_SUCCESS);
    }
  }
  MPI_Barrier(comm);
  done.store(true);
  reader.join();
  MPI_Count rest = 0;
  EXPECT_EQ(rma_get_notify_value(comm, 0, &rest), MPI_SUCCESS);
  EXPECT_EQ(taken + rest, MPI_Count{rounds} * size());
  MPI_Barrier(comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  EXPECT_EQ(rma_set_num_notify(comm, 0), MPI_SUCCESS);
  EXPECT_NE(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace mpixrma::test

/// Section 5.1.1: attributes of an operation.
#include <random>

#include "spec-conformance/support.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {
namespace {

class X511 : public Clause {};

constexpr std::uint64_t single_attributes[] = {MPIX_RMA_ATTR_ATOMICITY,
                                               MPIX_RMA_ATTR_ORDERING,
                                               MPIX_RMA_ATTR_BLOCKING,
                                               MPIX_RMA_ATTR_REMOTE_COMPLETION,
                                               MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE,
                                               MPIX_RMA_ATTR_TARGET_COMMUNICATABLE};

TEST_F(X511, X511_01_result_is_independent_of_attributes) {
  void* base = nullptr;
  ASSERT_EQ(rma_allocate_local(4096, MPI_INFO_NULL, &base), MPI_SUCCESS);
  auto* const origin = static_cast<long*>(base);
  constexpr unsigned sets = 1u << std::size(single_attributes);
  fill(0);
  for (int kind = 0; kind < Memory::plain; ++kind) {
    for (unsigned chosen = 0; chosen < sets; ++chosen) {
      std::uint64_t set = 0;
      for (unsigned i = 0; i < std::size(single_attributes); ++i)
        if ((chosen >> i & 1) != 0) set |= single_attributes[i];
      for (int i = 0; i < 500; ++i) origin[i] = chosen + i;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, origin, 500, MPI_LONG, next_, there(kind), set), MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, origin, 500, MPI_LONG, next_, there(kind), set), MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      std::fill(origin, origin + 500, -1);
      ASSERT_EQ(transfer(MPIX_RMA_GET, origin, 500, MPI_LONG, next_, there(kind), set), MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      for (int i = 0; i < 500; ++i)
        ASSERT_EQ(origin[i], 2 * (static_cast<long>(chosen) + i)) << "attributes " << set;
    }
  }
  MPI_Barrier(world);
  EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
}

TEST_F(X511, X511_02_new_communicator_has_no_attributes) {
  Duplicate copy;
  for (int const key : {MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_KEY_ORDERING, MPIX_RMA_KEY_BLOCKING,
                        MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_KEY_COMMUNICATABLE,
                        MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_KEY_ACCUMULATE_SCALE, MPIX_RMA_KEY_NOTIFY}) {
    ASSERT_NE(key, MPI_KEYVAL_INVALID);
    void* value = nullptr;
    int found = 1;
    EXPECT_EQ(MPI_Comm_get_attr(copy.get(), key, &value, &found), MPI_SUCCESS);
    EXPECT_EQ(found, 0);
  }
}

TEST_F(X511, X511_03_put_is_complete_when_its_buffer_may_be_reused) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<int> values(200, 6);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 200, MPI_INT, next_, there(kind), 0, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::fill(values.begin(), values.end(), 0);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind, 4 * 199), 6);
  }
}

TEST_F(X511, X511_04_operation_and_scale_of_an_accumulate_are_attributes_too) {
  struct Case {
    MPI_Op op;
    int expected;
  };
  // 12 (operation) 10
  Case const cases[] = {{MPI_SUM, 22}, {MPI_PROD, 120}, {MPI_MIN, 10},     {MPI_MAX, 12},
                        {MPI_LAND, 1}, {MPI_LOR, 1},    {MPI_LXOR, 0},     {MPI_BAND, 8},
                        {MPI_BOR, 14}, {MPI_BXOR, 6},   {MPI_REPLACE, 10}, {MPI_NO_OP, 12}};
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (Case const& one : cases) {
      MPI_Barrier(world);
      int const twelve = 12;
      std::memcpy(memory_.own(kind), &twelve, sizeof twelve);
      MPI_Barrier(world);
      int ten = 10;
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP);
      chosen.accumulate_op = one.op;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &ten, 1, MPI_INT, next_, there(kind), 1, MPI_INT, nullptr,
                              &world, &chosen),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      MPI_Barrier(world);
      EXPECT_EQ(own<int>(kind), one.expected);
    }
    MPI_Barrier(world);
    double const start = 1.5;
    std::memcpy(memory_.own(kind), &start, sizeof start);
    MPI_Barrier(world);
    double value = 3;
    double const scale = -0.5;
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_SCALE);
    chosen.accumulate_scale = &scale;
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_DOUBLE, next_, there(kind), 1, MPI_DOUBLE,
                            nullptr, &world, &chosen),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<double>(kind), 0.0);
  }
}

TEST_F(X511, X511_05_attribute_applies_to_its_call_only) {
  fill(0);
  int value = 3;
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP | blocking_remote);
  chosen.accumulate_op = MPI_REPLACE;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_INT, next_, there(0), 1, MPI_INT, nullptr,
                            &world, &chosen),
              MPI_SUCCESS);
  }
  ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_INT, next_, there(0), blocking_remote), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 6);
}

TEST_F(X511, X511_06_attribute_of_communicator_applies_to_its_operations) {
  fill(0);
  Duplicate comm;
  int value = 5;
  auto const accumulate = [&] {
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &value, 1, MPI_INT, next_, there(0), 1, MPI_INT, nullptr,
                                &comm),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
  };
  accumulate();
  accumulate();
  // Set on a communicator in use, replaced, and removed.
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD)),
            MPI_SUCCESS);
  accumulate();
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 50);
  MPI_Barrier(world);
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_REPLACE)),
            MPI_SUCCESS);
  accumulate();
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 5);
  MPI_Barrier(world);
  ASSERT_EQ(MPI_Comm_delete_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_OP), MPI_SUCCESS);
  accumulate();
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 10);
}

TEST_F(X511, X511_07_attributes_of_call_request_and_communicator_combine) {
  fill(0);
  Duplicate comm;
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON), MPI_SUCCESS);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD)),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
  double const scale = 4;
  double value = 2;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    double const start = 3;
    MPI_Barrier(world);
    std::memcpy(memory_.own(kind), &start, sizeof start);
    MPI_Barrier(world);
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &value, 1, MPI_DOUBLE, next_, there(kind), 1, MPI_DOUBLE,
                                &request, &comm),
              MPI_SUCCESS);
    // Blocking and remote completion: the data has arrived already.
    MPI_Barrier(world);
    EXPECT_EQ(own<double>(kind), 6.0) << "kind " << kind;
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    // The call's attributes with those of the communicator.
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_ACCUMULATE_OP |
                                            MPIX_RMA_ATTR_ACCUMULATE_SCALE);
    chosen.accumulate_op = MPI_SUM;
    chosen.accumulate_scale = &scale;
    MPI_Barrier(world);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_DOUBLE, next_, there(kind), 1, MPI_DOUBLE,
                            nullptr, &comm, &chosen),
              MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<double>(kind), 14.0) << "kind " << kind;
  }
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}

/// Random operations update strided blocks whose elements are equal at all times.
TEST_F(X511, X511_08_updates_of_a_target_do_not_interleave) {
  constexpr int rounds = 60;
  std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank_));
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      int const target = static_cast<int>(random() % static_cast<unsigned>(size_));
      // Every second element of the block.
      int const count = kind == Memory::plain ? 6000 : 600;
      MPI_Datatype strided = MPI_DATATYPE_NULL;
      MPI_Type_vector(count, 1, 2, MPI_INT, &strided);
      MPI_Type_commit(&strided);
      std::vector<int> mine(static_cast<std::size_t>(count), static_cast<int>(random() % 1000));
      auto const op = static_cast<MPIX_RMA_Op>(1 + random() % 3);
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING);
      ASSERT_EQ(MPIX_RMA_xfer(op, mine.data(), count, MPI_INT, target, memory_.at(target, kind), 1, strided,
                              nullptr, &world, &chosen),
                MPI_SUCCESS);
      std::vector<int> got(static_cast<std::size_t>(count), -1);
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_GET, got.data(), count, MPI_INT, target, memory_.at(target, kind), 1,
                              strided, nullptr, &world, &chosen),
                MPI_SUCCESS);
      for (int const value : got) ASSERT_EQ(value, got[0]) << "kind " << kind << " round " << round;
      MPI_Type_free(&strided);
    }
  }
}

/// All ranks copy their arrays to or from the next rank at the same time. With both sides locked, the values
/// never rotate around the ring: at least one is lost.
TEST_F(X511, X511_09_updates_of_an_origin_do_not_interleave) {
  constexpr int rounds = 30;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      int const count = round % 2 == 0 ? 40000 : 64;
      MPI_Barrier(world);
      std::memset(memory_.own(kind), rank_, static_cast<std::size_t>(count));
      MPI_Barrier(world);
      MPIX_RMA_Op const op = round % 3 == 0 ? MPIX_RMA_GET : MPIX_RMA_PUT;
      ASSERT_EQ(transfer(op, memory_.own(kind), count, MPI_BYTE, next_, there(kind), MPIX_RMA_ATTR_ATOMICITY),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      MPI_Barrier(world);
      ASSERT_TRUE(is_uniform(memory_.own(kind), static_cast<std::size_t>(count))) << "kind " << kind;
      // In any order of the operations, the first one makes two neighbours equal.
      int const value = memory_.own(kind)[0];
      std::vector<int> values(static_cast<std::size_t>(size_));
      MPI_Allgather(&value, 1, MPI_INT, values.data(), 1, MPI_INT, world);
      std::sort(values.begin(), values.end());
      bool const distinct = std::adjacent_find(values.begin(), values.end()) == values.end();
      EXPECT_TRUE(size_ == 1 || !distinct) << "kind " << kind << " round " << round;
    }
  }
}

TEST_F(X511, X511_12_ordered_operations_take_effect_in_issue_order) {
  constexpr int rounds = 150;
  fill(0);
  // Each rank has its own part of rank 0's memory.
  std::ptrdiff_t const part = 8192L * rank_ % bytes;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<std::int64_t> model(1000, 0);
    std::vector<std::vector<std::int64_t>> origins;
    for (int round = 0; round < rounds; ++round) {
      std::size_t const length = round % 5 == 0 ? 1000 : 3;
      origins.emplace_back(length, round);
      std::uint64_t const more = round % 4 == 0 ? MPIX_RMA_ATTR_ATOMICITY : 0;
      bool const add = round % 3 == 0;
      ASSERT_EQ(
          transfer(add ? MPIX_RMA_ACCUMULATE : MPIX_RMA_PUT, origins.back().data(), static_cast<int>(length),
                   MPI_INT64_T, 0, memory_.at(0, kind, part), MPIX_RMA_ATTR_ORDERING | more),
          MPI_SUCCESS);
      for (std::size_t i = 0; i < length; ++i) model[i] = add ? model[i] + round : round;
    }
    std::vector<std::int64_t> got(1000, -1);
    ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), 1000, MPI_INT64_T, 0, memory_.at(0, kind, part),
                       MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    EXPECT_EQ(got, model) << "kind " << kind;
    ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
  }
}

TEST_F(X511, X511_13_ordered_get_follows_ordered_put) {
  fill(0);
  for (int round = 0; round < 100; ++round) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      // The location that the put wrote.
      std::ptrdiff_t const part = 4096L * rank_ % bytes;
      long const value = 1000 * rank_ + round;
      long got = -1;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, 0, memory_.at(0, kind, part),
                         MPIX_RMA_ATTR_ORDERING),
                MPI_SUCCESS);
      ASSERT_EQ(transfer(MPIX_RMA_GET, &got, 1, MPI_LONG, 0, memory_.at(0, kind, part),
                         MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING),
                MPI_SUCCESS);
      ASSERT_EQ(got, value);
      // The location that a put of this process to itself wrote.
      char* const mine = memory_.own(kind) + bytes / 2;
      long const overwritten = -7;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(&overwritten), 1, MPI_LONG, rank_, mine,
                         MPIX_RMA_ATTR_ORDERING),
                MPI_SUCCESS);
      ASSERT_EQ(
          transfer(MPIX_RMA_GET, mine, 1, MPI_LONG, 0, memory_.at(0, kind, part), MPIX_RMA_ATTR_ORDERING),
          MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
      ASSERT_EQ(own<long>(kind, bytes / 2), value) << "kind " << kind;
    }
  }
}

TEST_F(X511, X511_15_operations_are_completed_by_request_or_complete) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<int> got(100, -1);
    MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), 50, MPI_INT, next_, there(kind), 0, &requests[0]),
              MPI_SUCCESS);
    ASSERT_EQ(transfer(MPIX_RMA_GET, got.data() + 50, 50, MPI_INT, next_, there(kind, 200), 0, &requests[1]),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, std::vector<int>(100, 0));
    std::fill(got.begin(), got.end(), -1);
    ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), 100, MPI_INT, next_, there(kind)), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    EXPECT_EQ(got, std::vector<int>(100, 0));
  }
}

TEST_F(X511, X511_16_blocking_call_returns_complete) {
  fill(8);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<char> got(20000, 0);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), 20000, MPI_CHAR, next_, there(kind), MPIX_RMA_ATTR_BLOCKING,
                       &request),
              MPI_SUCCESS);
    EXPECT_EQ(got, std::vector<char>(20000, 8));
    int done = 0;
    ASSERT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 1);
  }
}

TEST_F(X511, X511_17_after_completion_the_origin_buffer_may_be_reused) {
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_ACCUMULATE}) {
    fill(0);
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      std::vector<double> values(6000, 2.0);
      ASSERT_EQ(transfer(op, values.data(), 6000, MPI_DOUBLE, next_, there(kind), MPIX_RMA_ATTR_BLOCKING),
                MPI_SUCCESS);
      std::fill(values.begin(), values.end(), 1e9);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      for (int i = 0; i < 6000; ++i) ASSERT_EQ(own<double>(kind, 8 * i), 2.0) << "kind " << kind;
    }
    MPI_Barrier(world);
  }
}

TEST_F(X511, X511_18_remote_completion_by_call_and_by_request) {
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_ACCUMULATE}) {
    for (int by_request = 0; by_request < 2; ++by_request) {
      fill(0);
      for (int kind = 0; kind < Memory::kinds; ++kind) {
        std::vector<double> values(6000, 3.0);
        if (by_request == 0) {
          ASSERT_EQ(transfer(op, values.data(), 6000, MPI_DOUBLE, next_, there(kind), blocking_remote),
                    MPI_SUCCESS);
        } else {
          MPI_Request request = MPI_REQUEST_NULL;
          ASSERT_EQ(transfer(op, values.data(), 6000, MPI_DOUBLE, next_, there(kind),
                             MPIX_RMA_ATTR_REMOTE_COMPLETION, &request),
                    MPI_SUCCESS);
          ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        MPI_Barrier(world);
        for (int i = 0; i < 6000; ++i) ASSERT_EQ(own<double>(kind, 8 * i), 3.0) << "kind " << kind;
      }
      MPI_Barrier(world);
    }
  }
}

}  // namespace
}  // namespace mpixrma::test

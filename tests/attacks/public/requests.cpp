/// Request objects of both types: reused, freed, mixed with MPI's own, passed to MPI's calls for completion.
#include <random>
#include <thread>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {

namespace {

class RequestAttacks : public ::testing::Test {
 protected:
  static constexpr int n = 64;

  void SetUp() override { MPI_Barrier(world); }
  int rank() const { return memory_.rank(); }
  int right() const { return (memory_.rank() + 1) % memory_.size(); }
  long* target(int kind, int index) const {
    return reinterpret_cast<long*>(memory_.at(right(), kind)) + index;
  }
  /// Returns the value that this process put to its neighbour.
  long fetch(int kind, int index) {
    long value = -1;
    EXPECT_EQ(
        transfer(MPIX_RMA_GET, &value, 1, MPI_LONG, right(), target(kind, index), MPIX_RMA_ATTR_BLOCKING),
        MPI_SUCCESS);
    return value;
  }

  /// A put of one number with a request object.
  int put_by(MPI_Request* object, long* value, long* where) {
    return MPIX_RMA_xfer_req(MPIX_RMA_PUT, value, 1, MPI_LONG, right(), where, 1, MPI_LONG, object, &world);
  }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  Memory memory_{n * sizeof(long)};
};

TEST_F(RequestAttacks, MixedArraysCompleteByEveryCall) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < 30; ++round) {
      constexpr int count = 12;
      MPI_Request requests[count];
      long values[count];
      long received[count];
      MPI_Request object = MPI_REQUEST_NULL;
      ASSERT_EQ(MPIX_Req_set_attr(&object, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
      int const left = (memory_.rank() + memory_.size() - 1) % memory_.size();
      for (int i = 0; i < count; ++i) {
        values[i] = 1000L * round + i + 1;
        requests[i] = MPI_REQUEST_NULL;
        if (i == 1) requests[i] = object;
        if (i % 4 == 0) {
          MPI_Irecv(&received[i], 1, MPI_LONG, left, i, world, &requests[i]);
        } else if (i % 4 == 2) {
          MPI_Isend(&values[i], 1, MPI_LONG, right(), i - 2, world, &requests[i]);
        } else if (i == 1) {
          ASSERT_EQ(put_by(&requests[i], &values[i], target(kind, i)), MPI_SUCCESS);
        } else if (i != 7) {  // stays null
          ASSERT_EQ(transfer(MPIX_RMA_PUT, &values[i], 1, MPI_LONG, right(), target(kind, i),
                             MPIX_RMA_ATTR_REMOTE_COMPLETION, &requests[i]),
                    MPI_SUCCESS);
        }
      }
      ASSERT_EQ(requests[1], object);
      int done = 0;
      int indices[count];
      MPI_Status statuses[count];
      int completed = 0;
      switch (round % 5) {
        case 0: EXPECT_EQ(MPI_Waitall(count, requests, statuses), MPI_SUCCESS); break;
        case 1:
          while (done == 0) EXPECT_EQ(MPI_Testall(count, requests, &done, statuses), MPI_SUCCESS);
          break;
        case 2: do { EXPECT_EQ(MPI_Waitsome(count, requests, &completed, indices, statuses), MPI_SUCCESS);
          } while (completed != MPI_UNDEFINED);
          break;
        case 3: do { EXPECT_EQ(MPI_Waitany(count, requests, &completed, statuses), MPI_SUCCESS);
          } while (completed != MPI_UNDEFINED);
          break;
        default:
          for (int i = 0; i < count; ++i) {
            for (done = 0; done == 0;)
              EXPECT_EQ(MPI_Request_get_status(requests[i], &done, &statuses[0]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
          }
      }
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(requests[i], i == 1 ? object : MPI_REQUEST_NULL) << i;
        bool const put = i % 2 == 1 && i != 7;
        if (put) EXPECT_EQ(fetch(kind, i), values[i]) << i << " kind " << kind << " round " << round;
      }
      EXPECT_EQ(MPI_Request_free(&object), MPI_SUCCESS);
    }
  }
}

TEST_F(RequestAttacks, FreeingActiveRequestKeepsOperation) {
  std::mt19937_64 random(seed());
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<long> values(400);
    for (int i = 0; i < 400; ++i) {
      values[static_cast<std::size_t>(i)] = i + 1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
      bool const native = random() % 2 == 0;
      bool const object = random() % 2 == 0;
      if (object && native)
        ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON), MPI_SUCCESS);
      if (object && !native)
        ASSERT_EQ(MPIX_Rma_request_set_attr(&own, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON), MPI_SUCCESS);
      auto* const value = &values[static_cast<std::size_t>(i)];
      int const code = native ? MPIX_RMA_xfer_req(MPIX_RMA_PUT, value, 1, MPI_LONG, right(),
                                                  target(kind, i % n), 1, MPI_LONG, &request, &world)
                              : MPIX_RMA_xfer_rma(MPIX_RMA_PUT, value, 1, MPI_LONG, right(),
                                                  target(kind, i % n), 1, MPI_LONG, &own, &world);
      ASSERT_EQ(code, MPI_SUCCESS);
      if (random() % 3 == 0) MPIX_RMA_Complete(&world, right());
      ASSERT_EQ(native ? MPI_Request_free(&request) : MPIX_Rma_request_free(&own), MPI_SUCCESS);
      EXPECT_TRUE(native ? request == MPI_REQUEST_NULL : own == MPIX_RMA_REQUEST_NULL);
      if (i % n == n - 1) ASSERT_EQ(MPIX_RMA_Complete(&world, right()), MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    for (int i = 400 - n; i < 400; ++i) EXPECT_EQ(fetch(kind, i % n), i + 1);
  }
}

TEST_F(RequestAttacks, StaleRmaRequestHandlesAreRefused) {
  MPIX_Rma_request object = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_Rma_request_set_attr(&object, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON), MPI_SUCCESS);
  MPIX_Rma_request stale = object;
  ASSERT_EQ(MPIX_Rma_request_free(&object), MPI_SUCCESS);
  long value = 1;
  int flag = 0;
  int index = 0;
  void* found = nullptr;
  EXPECT_EQ(class_of(MPIX_Rma_request_wait(&stale)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_test(&stale, &flag)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_free(&stale)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_waitall(1, &stale)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_testall(1, &stale, &flag)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_waitany(1, &stale, &index)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_set_attr(&stale, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_get_attr(&stale, MPIX_RMA_KEY_BLOCKING, &found, &flag)),
            MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), target(0, 0), 1, MPI_LONG,
                                       &stale, &world)),
            MPI_ERR_REQUEST);
  for (std::uintptr_t const garbage :
       {std::uintptr_t{1}, ~std::uintptr_t{0}, std::uintptr_t{1} << 32, std::uintptr_t{0x7fffffffffffffff}}) {
    auto wild = reinterpret_cast<MPIX_Rma_request>(garbage);
    EXPECT_EQ(class_of(MPIX_Rma_request_wait(&wild)), MPI_ERR_REQUEST);
    EXPECT_EQ(class_of(MPIX_Rma_request_free(&wild)), MPI_ERR_REQUEST);
  }
}

TEST_F(RequestAttacks, CancelledRequestsAndReusedObjectsComplete) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    long value = 77 + kind;
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), target(kind, 3),
                       MPIX_RMA_ATTR_REMOTE_COMPLETION, &request),
              MPI_SUCCESS);
    (void)MPI_Cancel(&request);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(fetch(kind, 3), value);
    MPI_Request object = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Req_set_attr(&object, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
    value = 99 + kind;
    ASSERT_EQ(put_by(&object, &value, target(kind, 4)), MPI_SUCCESS);
    MPI_Request const same = object;
    long other = 5;
    EXPECT_EQ(MPI_Wait(&object, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&object, MPI_STATUS_IGNORE), MPI_SUCCESS);  // inactive, so it returns at once
    EXPECT_EQ(object, same);
    ASSERT_EQ(put_by(&object, &other, target(kind, 5)), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(1, &object, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(fetch(kind, 4), value);
    EXPECT_EQ(fetch(kind, 5), other);
    EXPECT_EQ(MPI_Request_free(&object), MPI_SUCCESS);
  }
}

/// Freeing the counter fails a request that the program has freed before: no communicator reports that error.
TEST_F(RequestAttacks, FreedCounterRequestReportsNoError) {
  for (int round = 0; round < 20; ++round) {
    // Earlier requests belong to operations through MPI_COMM_WORLD.
    long value = round;
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), target(i, 0), 0, &requests[i]),
                MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world, &comm);
    ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
    for (MPI_Request& request : requests) {
      ASSERT_EQ(rma_wait_notify_value(comm, 0, 5, &request), MPI_SUCCESS);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    }
    ASSERT_EQ(rma_set_num_notify(comm, 0), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    MPI_Comm_free(&comm);
  }
}

/// The attributes of call or request and of the communicator are merged in every combination. A call's own
/// attributes and those of a request object do not meet: each form of MPIX_RMA_xfer takes one of them.
TEST_F(RequestAttacks, AttributesOfAllSourcesCombine) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  std::uint64_t const bits[] = {MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_ATTR_ORDERING, MPIX_RMA_ATTR_BLOCKING,
                                MPIX_RMA_ATTR_REMOTE_COMPLETION};
  int const keys[] = {MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_KEY_ORDERING, MPIX_RMA_KEY_BLOCKING,
                      MPIX_RMA_KEY_REMOTE_COMPLETION};
  long const three = 3;
  long const five = 5;
  ASSERT_EQ(MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ACCUMULATE_SCALE, const_cast<long*>(&three)), MPI_SUCCESS);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (unsigned combination = 0; combination < 2u * 3 * 3 * 3 * 3 * 2; ++combination) {
      bool const by_object = combination % 2 != 0;
      bool const scaled = combination / 162 != 0;  // which takes precedence over the communicator's scale
      MPIX_RMA_Attributes chosen{};
      MPI_Request object = MPI_REQUEST_NULL;
      unsigned places = combination / 2;
      for (unsigned i = 0; i < 4; ++i, places /= 3) {
        if (places % 3 == 1 && by_object)
          ASSERT_EQ(MPIX_Req_set_attr(&object, keys[i], MPIX_RMA_ON), MPI_SUCCESS);
        if (places % 3 == 1 && !by_object) chosen.set |= bits[i];
        ASSERT_EQ(MPI_Comm_set_attr(comm, keys[i], places % 3 == 2 ? MPIX_RMA_ON : nullptr), MPI_SUCCESS);
      }
      if (scaled && by_object)
        ASSERT_EQ(MPIX_Req_set_attr(&object, MPIX_RMA_KEY_ACCUMULATE_SCALE, const_cast<long*>(&five)),
                  MPI_SUCCESS);
      if (scaled && !by_object) {
        chosen.set |= MPIX_RMA_ATTR_ACCUMULATE_SCALE;
        chosen.accumulate_scale = &five;
      }
      long const before = fetch(kind, 9);
      long one = 1;
      int const code = by_object
                           ? MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, right(),
                                               target(kind, 9), 1, MPI_LONG, &object, &comm)
                           : MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, right(), target(kind, 9),
                                           1, MPI_LONG, nullptr, &comm, chosen.set != 0 ? &chosen : nullptr);
      ASSERT_EQ(code, MPI_SUCCESS);
      if (by_object) {
        ASSERT_EQ(MPI_Wait(&object, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (object != MPI_REQUEST_NULL) ASSERT_EQ(MPI_Request_free(&object), MPI_SUCCESS);
      }
      ASSERT_EQ(MPIX_RMA_Complete(&comm, right()), MPI_SUCCESS);
      ASSERT_EQ(fetch(kind, 9), before + (scaled ? 5 : 3))
          << "kind " << kind << " combination " << combination;
    }
  }
  MPI_Comm_free(&comm);
}

/// A call with an attribute argument uses no request object: it returns a new request and leaves the object.
TEST_F(RequestAttacks, CallsWithAttributesReturnAnotherRequest) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    MPI_Request object = MPI_REQUEST_NULL;
    long const seven = 7;
    ASSERT_EQ(MPIX_Req_set_attr(&object, MPIX_RMA_KEY_ACCUMULATE_SCALE, const_cast<long*>(&seven)),
              MPI_SUCCESS);
    MPI_Request request = object;
    long one = 1;
    long const before = fetch(kind, 9);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, right(), target(kind, 9), 1, MPI_LONG,
                            &request, &world, nullptr),
              MPI_SUCCESS);
    EXPECT_NE(request, object);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    request = object;
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, nullptr, right(),
                           reinterpret_cast<MPI_Aint>(target(kind, 9)), &request, &world, nullptr),
              MPI_SUCCESS);
    EXPECT_NE(request, object);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, right()), MPI_SUCCESS);
    EXPECT_EQ(fetch(kind, 9), before + 2);
    ASSERT_EQ(MPI_Request_free(&object), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace mpixrma::test

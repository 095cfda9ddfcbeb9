/// Section 5.3: prototypes, requests and errors.
#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X53 : public Clause {
 protected:
  void expect_put(int kind, int value) {
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind), value) << "kind " << kind;
    MPI_Barrier(world);
  }
};

TEST_F(X53, X53_01_native_request_and_attributes_as_a_parameter) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int value = 11 + kind;
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_REMOTE_COMPLETION);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, next_, there(kind), 1, MPI_INT, &request,
                            &world, &chosen),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    expect_put(kind, 11 + kind);
  }
}

TEST_F(X53, X53_02_native_request_alone) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int values[] = {21 + kind, 0};
    MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, values, 1, MPI_INT, next_, there(kind), 1, MPI_INT,
                                &requests[0], &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_GET, &values[1], 1, MPI_INT, next_, there(kind, 64), 1, MPI_INT,
                                &requests[1], &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_put(kind, 21 + kind);
  }
}

TEST_F(X53, X53_03_own_request_type) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<int> values(5000, 31 + kind);
    MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
    ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, values.data(), 5000, MPI_INT, next_, there(kind), 5000, MPI_INT,
                                &request, &world),
              MPI_SUCCESS);
    EXPECT_NE(request, MPIX_RMA_REQUEST_NULL);
    ASSERT_EQ(MPIX_Rma_request_wait(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPIX_RMA_REQUEST_NULL);
    expect_put(kind, 31 + kind);
    // All calls that complete several requests.
    MPIX_Rma_request many[4] = {MPIX_RMA_REQUEST_NULL, MPIX_RMA_REQUEST_NULL, MPIX_RMA_REQUEST_NULL,
                                MPIX_RMA_REQUEST_NULL};
    std::vector<int> got(4 * 1000, -1);
    auto const issue = [&] {
      std::fill(got.begin(), got.end(), -1);
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_GET, &got[static_cast<std::size_t>(1000 * i)], 1000, MPI_INT,
                                    next_, there(kind), 1000, MPI_INT, &many[i], &world),
                  MPI_SUCCESS);
      }
    };
    issue();
    ASSERT_EQ(MPIX_Rma_request_waitall(4, many), MPI_SUCCESS);
    EXPECT_TRUE(std::all_of(got.begin(), got.begin() + 3000, [&](int v) { return v == 31 + kind; }));
    issue();
    for (int flag = 0; flag == 0;) ASSERT_EQ(MPIX_Rma_request_testall(4, many, &flag), MPI_SUCCESS);
    EXPECT_TRUE(std::all_of(got.begin(), got.begin() + 3000, [&](int v) { return v == 31 + kind; }));
    issue();
    for (int i = 0; i < 3; ++i) {
      int index = -1;
      ASSERT_EQ(MPIX_Rma_request_waitany(4, many, &index), MPI_SUCCESS);
      ASSERT_TRUE(index >= 0 && index < 3);
      EXPECT_EQ(many[index], MPIX_RMA_REQUEST_NULL);
      EXPECT_EQ(got[static_cast<std::size_t>(1000 * index + 999)], 31 + kind);
    }
    int index = -1;
    ASSERT_EQ(MPIX_Rma_request_waitany(4, many, &index), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    issue();
    for (int i = 0; i < 2; ++i)
      for (int flag = 0; flag == 0;) ASSERT_EQ(MPIX_Rma_request_test(&many[i], &flag), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Rma_request_free(&many[2]), MPI_SUCCESS);
    EXPECT_EQ(many[2], MPIX_RMA_REQUEST_NULL);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    EXPECT_EQ(got[2999], 31 + kind);
  }
}

TEST_F(X53, X53_04_attributes_on_a_native_request) {
  ErrorsReturn const returned(world);
  fill(0);
  MPI_Request request = MPI_REQUEST_NULL;
  void* value = nullptr;
  int found = -1;
  EXPECT_EQ(MPIX_Req_get_attr(&request, MPIX_RMA_KEY_BLOCKING, &value, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 0);
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_REPLACE)),
            MPI_SUCCESS);
  ASSERT_NE(request, MPI_REQUEST_NULL);
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Req_get_attr(&request, MPIX_RMA_KEY_ACCUMULATE_OP, &value, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(value, MPIX_RMA_OP_VALUE(MPI_REPLACE));
  MPI_Request const object = request;
  // One object reused for successive operations, waited for and tested.
  for (int round = 0; round < 20; ++round) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      int number = 100 * round + kind;
      ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &number, 1, MPI_INT, next_, there(kind), 1, MPI_INT,
                                  &request, &world),
                MPI_SUCCESS);
      if (round % 2 == 0) {
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else {
        for (int flag = 0; flag == 0;) ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      ASSERT_EQ(request, object);
      MPI_Barrier(world);
      ASSERT_EQ(own<int>(kind), number) << "kind " << kind;
      MPI_Barrier(world);
    }
  }
  // In use: unavailable for another operation or other attributes.
  std::vector<int> values(16000, 1);
  ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, values.data(), 16000, MPI_INT, next_, there(Memory::plain),
                              16000, MPI_INT, &request, &world),
            MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_RMA_xfer_req(MPIX_RMA_PUT, values.data(), 1, MPI_INT, next_, there(0), 1, MPI_INT,
                                       &request, &world)),
            MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON)), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Req_set_attr(&request, 12345, MPIX_RMA_ON)), MPI_ERR_KEYVAL);
  EXPECT_EQ(class_of(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_INDEX_VALUE(9))),
            MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Req_set_attr(nullptr, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON)), MPI_ERR_REQUEST);
  ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(X53, X53_05_attributes_on_the_own_request_type) {
  ErrorsReturn const returned(world);
  fill(0);
  MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_Rma_request_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Rma_request_set_attr(&request, MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_ON), MPI_SUCCESS);
  MPIX_Rma_request const object = request;
  void* value = nullptr;
  int found = -1;
  EXPECT_EQ(MPIX_Rma_request_get_attr(&request, MPIX_RMA_KEY_ATOMICITY, &value, &found), MPI_SUCCESS);
  EXPECT_TRUE(found == 1 && value == MPIX_RMA_ON);
  EXPECT_EQ(MPIX_Rma_request_get_attr(&request, MPIX_RMA_KEY_ORDERING, &value, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < 10; ++round) {
      std::vector<int> values(3000, 50 * kind + round);
      ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, values.data(), 3000, MPI_INT, next_, there(kind), 3000,
                                  MPI_INT, &request, &world),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_Rma_request_wait(&request), MPI_SUCCESS);
      ASSERT_EQ(request, object);
      MPI_Barrier(world);
      ASSERT_EQ(own<int>(kind, 4 * 2999), 50 * kind + round);
      MPI_Barrier(world);
    }
  }
  MPIX_Rma_request stale = request;
  ASSERT_EQ(MPIX_Rma_request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Rma_request_wait(&request), MPI_SUCCESS);  // null is complete
  EXPECT_EQ(class_of(MPIX_Rma_request_wait(&stale)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_free(&stale)), MPI_ERR_REQUEST);
  int number = 1;
  EXPECT_EQ(class_of(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, &number, 1, MPI_INT, next_, there(0), 1, MPI_INT, &stale,
                                       &world)),
            MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_waitall(-1, nullptr)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(MPIX_Rma_request_testall(1, &stale, &found)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Rma_request_set_attr(&request, MPI_KEYVAL_INVALID, MPIX_RMA_ON)), MPI_ERR_KEYVAL);
}

TEST_F(X53, X53_06_errors_of_xfer) {
  ErrorsReturn const returned(world);
  double value = 1;
  MPI_Comm none = MPI_COMM_NULL;
  auto const put = [&](int count, MPI_Datatype type, int rank, void* target, MPI_Comm* comm) {
    return MPIX_RMA_xfer_req(MPIX_RMA_PUT, &value, count, type, rank, target, count, type, nullptr, comm);
  };
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, 0, there(0), &none)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, 0, there(0), nullptr)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(put(-1, MPI_DOUBLE, 0, there(0), &world)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(put(1, MPI_DATATYPE_NULL, 0, there(0), &world)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, size_, there(0), &world)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, -9, there(0), &world)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, 0, nullptr, &world)), MPI_ERR_ARG);
  EXPECT_EQ(put(1, MPI_DOUBLE, next_, there(0), &world), MPI_SUCCESS);
}

TEST_F(X53, X53_07_rmw_in_its_forms) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill(0);
    MPI_Aint const target = address_of(there(kind));
    long one = 1;
    long before[3] = {-1, -1, -1};
    MPI_Request native = MPI_REQUEST_NULL;
    MPIX_Rmw_request own_type = MPIX_RMA_REQUEST_NULL;
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ORDERING);
    ASSERT_EQ(
        MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before[0], next_, target, &native, &world, &chosen),
        MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&native, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_rmw_req(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before[1], next_, target, &native, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&native, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_rmw_rma(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before[2], next_, target, &own_type, &world,
                               &chosen),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Rma_request_wait(&own_type), MPI_SUCCESS);
    EXPECT_TRUE(before[0] == 0 && before[1] == 1 && before[2] == 2) << "kind " << kind;
    MPI_Barrier(world);
  }
}

TEST_F(X53, X53_08_rmw2_in_its_forms) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill(0);
    MPI_Aint const target = address_of(there(kind));
    int expected[] = {0, 7, 8};
    int wanted[] = {7, 8, 9};
    int before[] = {-1, -1, -1};
    MPI_Request native = MPI_REQUEST_NULL;
    MPIX_Rmw_request own_type = MPIX_RMA_REQUEST_NULL;
    ASSERT_EQ(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &expected[0], 1, MPI_INT, &wanted[0], &before[0], next_,
                            target, &native, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&native, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_rmw2_req(MPIX_RMW2_COMP_SWAP_E, &expected[1], 1, MPI_INT, &wanted[1], &before[1],
                                next_, target, &native, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&native, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_rmw2_rma(MPIX_RMW2_COMP_SWAP_E, &expected[2], 1, MPI_INT, &wanted[2], &before[2],
                                next_, target, &own_type, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_Rma_request_wait(&own_type), MPI_SUCCESS);
    EXPECT_TRUE(std::equal(before, before + 3, expected)) << "kind " << kind;
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind), 9);
    MPI_Barrier(world);
  }
}

TEST_F(X53, X53_09_errors_of_rmw_and_rmw2) {
  ErrorsReturn const returned(world);
  long operand[] = {1, 2};
  long result = 0;
  MPI_Aint const target = address_of(there(0));
  auto const call = [&](MPIX_RMW_Op op, void* in, int count, MPI_Datatype type, void* out, int rank,
                        MPI_Aint where) {
    return MPIX_RMA_rmw(op, in, count, type, out, rank, where, nullptr, &world, nullptr);
  };
  EXPECT_EQ(class_of(call(static_cast<MPIX_RMW_Op>(0), operand, 1, MPI_LONG, &result, next_, target)),
            MPI_ERR_OP);
  for (int other : {MPIX_RMW_INC - 1, MPIX_RMW_MAX + 1, int{MPIX_RMA_PUT}, int{MPIX_RMW2_COMP_SWAP_E}})
    EXPECT_EQ(class_of(call(static_cast<MPIX_RMW_Op>(other), operand, 1, MPI_LONG, &result, next_, target)),
              MPI_ERR_OP)
        << other;
  EXPECT_EQ(class_of(call(MPIX_RMW_BAND, operand, 1, MPI_DOUBLE, &result, next_, target)), MPI_ERR_OP);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, -1, MPI_LONG, &result, next_, target)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_DATATYPE_NULL, &result, next_, target)),
            MPI_ERR_TYPE);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_LONG, &result, size_, target)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, nullptr, 1, MPI_LONG, &result, next_, target)), MPI_ERR_BUFFER);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_LONG, operand, next_, target)), MPI_ERR_BUFFER);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_LONG, &result, next_, 0)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_LONG, &result, next_, target + 4)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, operand, 1, MPI_DOUBLE, &result, next_, target + 1)), MPI_ERR_ARG);
  auto const call2 = [&](MPIX_RMW2_Op op, void* in, MPI_Datatype type, void* in2, void* out) {
    return MPIX_RMA_rmw2(op, in, 1, type, in2, out, next_, target, nullptr, &world, nullptr);
  };
  for (int other : {MPIX_RMW2_MASK_SWAP - 1, MPIX_RMW2_COMP_SWAP_NE + 1, int{MPIX_RMW_SWAP}})
    EXPECT_EQ(class_of(call2(static_cast<MPIX_RMW2_Op>(other), operand, MPI_LONG, operand + 1, &result)),
              MPI_ERR_OP)
        << other;
  EXPECT_EQ(class_of(call2(MPIX_RMW2_MASK_SWAP, operand, MPI_DOUBLE, operand + 1, &result)), MPI_ERR_OP);
  EXPECT_EQ(class_of(call2(MPIX_RMW2_COMP_SWAP_LT, operand, MPI_C_DOUBLE_COMPLEX, operand + 1, &result)),
            MPI_ERR_OP);
  EXPECT_EQ(class_of(call2(MPIX_RMW2_COMP_SWAP_E, operand, MPI_LONG, nullptr, &result)), MPI_ERR_BUFFER);
  EXPECT_EQ(class_of(call2(MPIX_RMW2_COMP_SWAP_E, operand, MPI_LONG, operand + 1, operand + 1)),
            MPI_ERR_BUFFER);
  MPI_Comm none = MPI_COMM_NULL;
  EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_SUM, operand, 1, MPI_LONG, &result, next_, target, nullptr, &none,
                                  nullptr)),
            MPI_ERR_COMM);
}

TEST_F(X53, X53_10_complete_and_fence_check_their_arguments) {
  ErrorsReturn const returned(world);
  MPI_Comm none = MPI_COMM_NULL;
  for (auto* const call : {&MPIX_RMA_Complete, &MPIX_RMA_Fence}) {
    EXPECT_EQ(call(&world, 0), MPI_SUCCESS);
    EXPECT_EQ(call(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    EXPECT_EQ(call(&world, MPI_PROC_NULL), MPI_SUCCESS);
    EXPECT_EQ(class_of(call(&world, size_)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(call(&none, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(call(nullptr, 0)), MPI_ERR_COMM);
  }
}

TEST_F(X53, X53_11_displacement_is_the_address_at_the_target) {
  fill(0);
  Duplicate comm;
  long one = 1;
  long before = -1;
  MPIX_RMA_Attributes blocking = attributes(MPIX_RMA_ATTR_BLOCKING);
  MPI_Aint const mine = address_of(memory_.own(0));
  MPI_Aint right = 0;  // the address that the next rank itself has found
  MPI_Sendrecv(&mine, 1, MPI_AINT, (rank_ + size_ - 1) % size_, 0, &right, 1, MPI_AINT, next_, 0, world,
               MPI_STATUS_IGNORE);
  ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, next_, right, nullptr, &comm, &blocking),
            MPI_SUCCESS);
  EXPECT_EQ(before, 0);
  // A duplicate of the communicator means the same address.
  MPI_Comm again = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &again);
  ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, next_, right, nullptr, &again, &blocking),
            MPI_SUCCESS);
  EXPECT_EQ(before, 1);
  MPI_Comm_free(&again);
  MPI_Barrier(world);
  EXPECT_EQ(own<long>(0), 2);
}

}  // namespace
}  // namespace mpixrma::test

/// Behaviour that the document leaves open: attributes, requests and errors.
#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

int handler_calls = 0;
int handler_code = MPI_SUCCESS;
void note_error(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_code = *code;
}

TEST_F(G, G_01_dup_copies_attributes_split_and_create_do_not) {
  Duplicate original;
  ASSERT_EQ(MPI_Comm_set_attr(original.get(), MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_REPLACE)),
            MPI_SUCCESS);
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm split = MPI_COMM_NULL;
  MPI_Comm created = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_dup(original.get(), &dup);
  MPI_Comm_split(original.get(), 0, rank_, &split);
  MPI_Comm_group(original.get(), &group);
  MPI_Comm_create(original.get(), group, &created);
  MPI_Group_free(&group);
  int const expected[] = {3, 6, 6};
  MPI_Comm* const copies[] = {&dup, &split, &created};
  for (int i = 0; i < 3; ++i) {
    void* value = nullptr;
    int found = -1;
    ASSERT_EQ(MPI_Comm_get_attr(*copies[i], MPIX_RMA_KEY_ACCUMULATE_OP, &value, &found), MPI_SUCCESS);
    EXPECT_EQ(found, i == 0 ? 1 : 0);
    fill(0);
    int three = 3;
    for (int twice = 0; twice < 2; ++twice) {
      ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &three, 1, MPI_INT, next_, there(0), 1, MPI_INT,
                                  nullptr, copies[i]),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(copies[i], next_), MPI_SUCCESS);
    }
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(0), expected[i]);
    MPI_Barrier(world);
    MPI_Comm_free(copies[i]);
  }
}

TEST_F(G, G_02_attribute_is_removed_by_delete_or_null) {
  ErrorsReturn const returned(world);
  Duplicate comm;
  fill(0);
  int value = 0;
  void* base = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &base), MPI_SUCCESS);
  auto const nowhere_fails_at_once = [&] {
    // A blocking call reports the bad address itself.
    int const code = MPIX_RMA_xfer_req(MPIX_RMA_GET, &value, 1, MPI_INT, next_,
                                       reinterpret_cast<void*>(0xdead0000), 1, MPI_INT, nullptr, &comm);
    int const later = MPIX_RMA_Complete(&comm, next_);
    EXPECT_TRUE(code != MPI_SUCCESS || later != MPI_SUCCESS);
    return code != MPI_SUCCESS;
  };
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON), MPI_SUCCESS);
  EXPECT_TRUE(nowhere_fails_at_once());
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_BLOCKING, nullptr), MPI_SUCCESS);
  (void)nowhere_fails_at_once();
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON), MPI_SUCCESS);
  EXPECT_TRUE(nowhere_fails_at_once());
  ASSERT_EQ(MPI_Comm_delete_attr(comm.get(), MPIX_RMA_KEY_BLOCKING), MPI_SUCCESS);
  int found = -1;
  void* attribute = nullptr;
  ASSERT_EQ(MPI_Comm_get_attr(comm.get(), MPIX_RMA_KEY_BLOCKING, &attribute, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 0);
  // Invalid attribute values are rejected, and nothing is set.
  EXPECT_EQ(
      class_of(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_OP_NULL))),
      MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_INDEX_VALUE(4))),
            MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_SCALE, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(-1))),
            MPI_ERR_ARG);
  ASSERT_EQ(MPI_Comm_get_attr(comm.get(), MPIX_RMA_KEY_NOTIFY, &attribute, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
}

TEST_F(G, G_03_value_of_the_call_takes_precedence) {
  Duplicate comm;
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD)),
            MPI_SUCCESS);
  MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_Rma_request_set_attr(&request, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MAX)),
            MPI_SUCCESS);
  fill(0);
  int const five = 5;
  std::memcpy(memory_.own(0), &five, sizeof five);
  MPI_Barrier(world);
  int seven = 7;
  ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_ACCUMULATE, &seven, 1, MPI_INT, next_, there(0), 1, MPI_INT, &request,
                              &comm),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Rma_request_wait(&request), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 7);
  MPI_Barrier(world);
  ASSERT_EQ(
      MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &seven, 1, MPI_INT, next_, there(0), 1, MPI_INT, nullptr, &comm),
      MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 49);
  MPIX_Rma_request_free(&request);
}

TEST_F(G, G_04_without_a_request_complete_completes) {
  fill(2);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<char> got(30000, 0);
    ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_GET, got.data(), 30000, MPI_CHAR, next_, there(kind), 30000,
                                MPI_CHAR, nullptr, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    EXPECT_EQ(got, std::vector<char>(30000, 2));
  }
}

TEST_F(G, G_05_only_requests_with_attributes_persist) {
  MPIX_Rma_request passing = MPIX_RMA_REQUEST_NULL;
  MPIX_Rma_request staying = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_Rma_request_set_attr(&staying, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON), MPI_SUCCESS);
  int flag = 0;
  EXPECT_EQ(MPIX_Rma_request_test(&staying, &flag), MPI_SUCCESS);  // inactive, so complete
  EXPECT_EQ(flag, 1);
  EXPECT_NE(staying, MPIX_RMA_REQUEST_NULL);
  int value = 1;
  for (MPIX_Rma_request* const request : {&passing, &staying}) {
    ASSERT_EQ(
        MPIX_RMA_xfer_rma(MPIX_RMA_PUT, &value, 1, MPI_INT, next_, there(0), 1, MPI_INT, request, &world),
        MPI_SUCCESS);
    ASSERT_EQ(MPIX_Rma_request_wait(request), MPI_SUCCESS);
  }
  EXPECT_EQ(passing, MPIX_RMA_REQUEST_NULL);
  ASSERT_NE(staying, MPIX_RMA_REQUEST_NULL);
  EXPECT_EQ(MPIX_Rma_request_free(&staying), MPI_SUCCESS);
}

TEST_F(G, G_06_late_errors_are_reported_once_by_request_or_complete) {
  ErrorsReturn const returned(world);
  int address_class = 0;
  int transport_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class), MPI_SUCCESS);
  auto* const nowhere = reinterpret_cast<void*>(0xdead0000);
  Duplicate comm;
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  int value = 1;
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
    for (std::uint64_t const set : {std::uint64_t{0}, MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_ATTR_ORDERING}) {
      MPIX_RMA_Attributes chosen = attributes(set);
      int const now =
          MPIX_RMA_xfer(op, &value, 1, MPI_INT, next_, nowhere, 1, MPI_INT, nullptr, &comm, &chosen);
      // Not reported on the other communicator.
      EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      int const later = MPIX_RMA_Complete(&comm, next_);
      EXPECT_EQ((class_of(now) == address_class ? 1 : 0) + (class_of(later) == address_class ? 1 : 0), 1)
          << "operation " << op;
      EXPECT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
      MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
      if (MPIX_RMA_xfer_rma(op, &value, 1, MPI_INT, next_, nowhere, 1, MPI_INT, &request, &comm) ==
          MPI_SUCCESS) {
        int const code = MPIX_Rma_request_wait(&request);
        int const rest = MPIX_RMA_Complete(&comm, next_);
        EXPECT_TRUE(class_of(code) == address_class || class_of(rest) == address_class);
      }
      EXPECT_EQ(request, MPIX_RMA_REQUEST_NULL);
    }
  }
}

TEST_F(G, G_07_errors_call_the_communicators_handler_without_effects) {
  fill(4);
  Duplicate comm;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&note_error, &handler);
  MPI_Comm_set_errhandler(comm.get(), handler);
  handler_calls = 0;
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(class_of(MPIX_RMA_xfer_req(MPIX_RMA_PUT, &value, 1, MPI_INT, size_ + 3, there(0), 1, MPI_INT,
                                       &request, &comm)),
            MPI_ERR_RANK);
  EXPECT_EQ(handler_calls, 1);
  EXPECT_EQ(class_of(handler_code), MPI_ERR_RANK);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(class_of(MPIX_RMA_xfer_req(MPIX_RMA_PUT, &value, 1, MPI_INT, next_, there(0), 2, MPI_INT,
                                       &request, &comm)),
            MPI_ERR_TYPE);
  EXPECT_EQ(handler_calls, 2);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  int address_class = 0;
  int transport_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class), MPI_SUCCESS);
  MPI_Error_string(address_class, text, &length);
  EXPECT_NE(std::string(text).find("address"), std::string::npos);
  MPI_Error_string(transport_class, text, &length);
  EXPECT_NE(std::string(text).find("reached"), std::string::npos);
  EXPECT_EQ(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_TRUE(is_uniform(memory_.own(0), 100));
  MPI_Errhandler_free(&handler);
}

TEST_F(G, G_15_operations_to_proc_null_have_no_effect) {
  long value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_GET, &value, 1, MPI_LONG, MPI_PROC_NULL, nullptr, 1, MPI_LONG,
                              &request, &world),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPIX_Rma_request own_type = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_RMA_rmw_rma(MPIX_RMW_SUM, &value, 1, MPI_LONG, nullptr, MPI_PROC_NULL, 0, &own_type, &world,
                             nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_Rma_request_wait(&own_type), MPI_SUCCESS);
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_GET, MPI_LONG, MPI_PROC_NULL, MPI_LONG, world, nullptr, &plan),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Plan_issue(plan, &value, 1, nullptr, 1, nullptr), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Plan_issue(plan, &value, 1, nullptr, 1, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
  EXPECT_EQ(value, 1);
}

/// Addresses, the counter and the sizes of the sides are not checked.
TEST_F(G, G_15_arguments_that_name_no_target_are_checked_for_proc_null) {
  ErrorsReturn const returned(world);
  int const nowhere = MPI_PROC_NULL;
  long value = 5;
  long result = 6;
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
  chosen.notify_index = 77;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, nullptr, 1, MPI_LONG, nowhere, nullptr, 1, MPI_INT, nullptr, &world,
                          &chosen),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, nullptr, 1, MPI_LONG, &result, nowhere, 3, nullptr, &world, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(class_of(transfer(static_cast<MPIX_RMA_Op>(99), &value, 1, MPI_LONG, nowhere, &value)),
            MPI_ERR_OP);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, -1, MPI_LONG, nowhere, &value)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, 1, MPI_DATATYPE_NULL, nowhere, &value)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, nowhere, &value, std::uint64_t{1} << 40)),
            MPI_ERR_ARG);
  EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  EXPECT_TRUE(value == 5 && result == 6) << value << " " << result;
}

}  // namespace
}  // namespace mpixrma::test

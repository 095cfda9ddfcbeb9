/// Errors, their classes, and the use of a window after them.
#include <sys/mman.h>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Errors : public FlavourTest {
 protected:
  /// Expects operations on the window to work.
  void expect_works(Window const& window) {
    MPI_Barrier(world);
    long const number = rank_ + 7;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_, 0, window);
    EXPECT_EQ(MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock(next_, window), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(window.base<long>()[0], previous_ + 7);
  }
  long value_ = 0;
};
MPIX_ON_EACH_FLAVOUR(Errors);

TEST_P(Errors, W116_01_operations_outside_of_an_epoch_are_errors) {
  Window const window(GetParam(), 64);
  MPI_Aint const at = window.at(next_, 0);
  long result = 0;
  // The second time, the target was used before.
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(class_of(MPI_Put(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, window)), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(class_of(MPI_Get(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, window)), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(class_of(MPI_Accumulate(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, MPI_SUM, window)),
              MPI_ERR_RMA_SYNC);
    EXPECT_EQ(class_of(MPI_Fetch_and_op(&value_, &result, MPI_LONG, next_, at, MPI_SUM, window)),
              MPI_ERR_RMA_SYNC);
    EXPECT_EQ(class_of(MPI_Win_flush(next_, window)), MPI_ERR_RMA_SYNC);
    expect_works(window);
  }
}

TEST_P(Errors, W116_02_mismatched_synchronisation_is_an_error) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(class_of(MPI_Win_unlock(next_, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_unlock_all(window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_complete(window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_wait(window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_flush(next_, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_flush_local_all(window)), MPI_ERR_RMA_SYNC);
  expect_works(window);
}

TEST_P(Errors, W116_03_fence_inside_of_a_lock_is_an_error) {
  Window const window(GetParam(), 64);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(class_of(MPI_Win_fence(0, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  expect_works(window);
}

/// After a lock epoch, operations need a new fence: the epoch of the fence before the lock has ended.
TEST_P(Errors, W116_15_operations_of_a_fence_after_a_lock_are_errors) {
  Window const window(GetParam(), 64);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  EXPECT_EQ(MPI_Win_unlock(next_, window), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Get(&value_, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window)),
            MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get(&value_, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
  expect_works(window);
}

TEST_P(Errors, W116_04_lock_inside_of_a_lock_is_an_error) {
  Window const window(GetParam(), 64);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  int const again = class_of(MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window));
  EXPECT_TRUE(again == MPI_ERR_RMA_CONFLICT || again == MPI_ERR_RMA_SYNC) << again;
  EXPECT_EQ(class_of(MPI_Win_lock_all(0, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock(next_, window), MPI_SUCCESS);
  expect_works(window);
}

TEST_P(Errors, W116_05_unlocked_target_is_an_error) {
  if (size_ < 2) GTEST_SKIP() << "for two ranks";
  Window const window(GetParam(), 64);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  EXPECT_EQ(class_of(MPI_Put(&value_, 1, MPI_LONG, rank_, window.at(rank_, 0), 1, MPI_LONG, window)),
            MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock(next_, window), MPI_SUCCESS);
  expect_works(window);
}

TEST_P(Errors, W116_06_nonexistent_ranks_are_errors) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(class_of(MPI_Win_lock(MPI_LOCK_SHARED, size_, 0, window)), MPI_ERR_RANK);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(class_of(MPI_Put(&value_, 1, MPI_LONG, size_, 0, 1, MPI_LONG, window)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPI_Get(&value_, 1, MPI_LONG, -77, 0, 1, MPI_LONG, window)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPI_Win_flush(size_, window)), MPI_ERR_RANK);
  MPI_Win_unlock_all(window);
  expect_works(window);
}

TEST_P(Errors, W116_07_mismatched_operations_and_types_are_errors) {
  Window const window(GetParam(), 64);
  MPI_Aint const at = window.at(next_, 0);
  MPI_Op own = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(class_of(MPI_Accumulate(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, own, window)), MPI_ERR_OP);
  EXPECT_EQ(class_of(MPI_Accumulate(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, MPI_OP_NULL, window)),
            MPI_ERR_OP);
  EXPECT_NE(MPI_Put(&value_, 1, MPI_DATATYPE_NULL, next_, at, 1, MPI_LONG, window), MPI_SUCCESS);
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1, MPI_LONG, &uncommitted);
  EXPECT_EQ(class_of(MPI_Put(&value_, 1, MPI_LONG, next_, at, 1, uncommitted, window)), MPI_ERR_TYPE);
  MPI_Type_free(&uncommitted);
  EXPECT_EQ(class_of(MPI_Put(&value_, -1, MPI_LONG, next_, at, 1, MPI_LONG, window)), MPI_ERR_COUNT);
  MPI_Win_unlock_all(window);
  MPI_Op_free(&own);
  expect_works(window);
}

/// Not even the handler of MPI_COMM_WORLD is called, which ends the job.
TEST_P(Errors, W116_07_a_null_group_is_an_error) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(class_of(MPI_Win_post(MPI_GROUP_NULL, 0, window)), MPI_ERR_GROUP);
  EXPECT_EQ(class_of(MPI_Win_start(MPI_GROUP_NULL, 0, window)), MPI_ERR_GROUP);
  expect_works(window);
}

int handled;

extern "C" void count_handled(MPI_Win*, int* code, ...) {
  handled += class_of(*code) == MPI_ERR_RMA_SYNC ? 1 : 100;
}

TEST_P(Errors, W116_08_handler_of_the_window_is_called) {
  Window const window(GetParam(), 64);
  handled = 0;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(&count_handled, &handler);
  MPI_Win_set_errhandler(window, handler);
  MPI_Win_unlock(next_, window);
  EXPECT_EQ(handled, 1);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  expect_works(window);
}

TEST_P(Errors, W116_09_failed_call_holds_no_lock) {
  Window const window(GetParam(), 64);
  for (int round = 0; round < 5; ++round) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    EXPECT_NE(MPI_Put(&value_, 1, MPI_LONG, size_ + 3, 0, 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock(0, window), MPI_SUCCESS);
    EXPECT_NE(MPI_Win_unlock(0, window), MPI_SUCCESS);
  }
  expect_works(window);
}

TEST_F(WindowTest, W116_10_invalid_arguments_of_creation_are_errors) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  char memory[64];
  MPI_Win window = MPI_WIN_NULL;
  EXPECT_EQ(class_of(MPI_Win_create(memory, 64, 0, MPI_INFO_NULL, comm, &window)), MPI_ERR_DISP);
  EXPECT_EQ(class_of(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, comm, &window)), MPI_ERR_SIZE);
  MPI_Comm_free(&comm);
}

TEST_F(WindowTest, W116_11_invalid_window_handles_are_errors) {
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  EXPECT_EQ(class_of(MPI_Win_fence(0, MPI_WIN_NULL)), MPI_ERR_WIN);
  MPI_Win nothing = MPI_WIN_NULL;
  EXPECT_EQ(class_of(MPI_Win_free(&nothing)), MPI_ERR_WIN);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
}

TEST_F(WindowTest, W116_12_calls_of_another_window_flavour_are_errors) {
  Window const window(Flavour::allocate, 64);
  long memory[8];
  EXPECT_EQ(class_of(MPI_Win_attach(window, memory, sizeof memory)), MPI_ERR_RMA_FLAVOR);
  MPI_Win dynamic = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  EXPECT_NE(MPI_Win_detach(dynamic, memory), MPI_SUCCESS);
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  EXPECT_EQ(class_of(MPI_Win_shared_query(dynamic, 0, &size, &unit, &base)), MPI_ERR_RMA_FLAVOR);
  MPI_Win_free(&dynamic);
}

TEST_F(WindowTest, W116_13_access_beyond_the_targets_window_is_an_error) {
  Window const window(Flavour::allocate, 64);
  long value = 5;
  MPI_Win_lock_all(0, window);
  int const put = MPI_Put(&value, 1, MPI_LONG, next_, 64, 1, MPI_LONG, window);
  int const flush = MPI_Win_flush(next_, window);
  EXPECT_TRUE(class_of(put) == MPI_ERR_RMA_RANGE || class_of(flush) == MPI_ERR_RMA_RANGE);
  int const get = MPI_Get(&value, 1, MPI_LONG, next_, -8, 1, MPI_LONG, window);
  int const second = MPI_Win_flush(next_, window);
  EXPECT_TRUE(class_of(get) == MPI_ERR_DISP || class_of(get) == MPI_ERR_RMA_RANGE ||
              class_of(second) == MPI_ERR_RMA_RANGE);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(value, 5);
}

TEST_F(WindowTest, W116_14_unattached_dynamic_memory_is_an_error) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  long value = 5;
  MPI_Win_lock_all(0, window);
  int const put = MPI_Put(&value, 1, MPI_LONG, next_, 0x10, 1, MPI_LONG, window);
  int const flush = MPI_Win_flush(next_, window);
  int const unlock = MPI_Win_unlock_all(window);
  int const range = MPI_ERR_RMA_RANGE;
  EXPECT_TRUE(class_of(put) == range || class_of(flush) == range || class_of(unlock) == range);
  MPI_Barrier(world);
  MPI_Win_free(&window);
}

TEST_F(WindowTest, W1122_01_unavailable_memory_is_an_error) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // One rank asks for too much; no rank gets a window.
  MPI_Aint const bytes = rank_ == size_ - 1 ? MPI_Aint{1} << 60 : 64;
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  int const error = class_of(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &base, &window));
  EXPECT_TRUE(error == MPI_ERR_NO_MEM || error == MPI_ERR_WIN)
      << error;  // Open MPI 4.1 knows the latter only
  EXPECT_EQ(window, MPI_WIN_NULL);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

/// Fixture with an address at the next rank where no access is permitted.
class LateFailure : public WindowTest {
 protected:
  void SetUp() override {
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window_);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Aint mine = 0;
    MPI_Get_address(page, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, previous_, 0, &address_, 1, MPI_AINT, next_, 0, world,
                 MPI_STATUS_IGNORE);
    if (value_of(window_, "mpix_order").empty()) GTEST_SKIP() << "another component's window";
  }
  void TearDown() override {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  }

  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Aint address_ = 0;
};

TEST_F(LateFailure, OfFreedRequestIsReportedByFlush) {
  long value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window_);
  int const issued = MPI_Rget(&value, 1, MPI_LONG, next_, address_, 1, MPI_LONG, window_, &request);
  if (issued == MPI_SUCCESS) {
    MPI_Request_free(&request);
    int const told = MPI_Win_flush(next_, window_);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(told, text, &length);
    EXPECT_EQ(class_of(told), MPI_ERR_RMA_RANGE);
    std::string const named = "a get of 8 bytes at displacement " + std::to_string(address_) + " of rank " +
                              std::to_string(next_) + " failed";
    EXPECT_NE(std::string(text).find(named), std::string::npos) << text;
  } else {
    EXPECT_EQ(class_of(issued), MPI_ERR_RMA_RANGE);
  }
  EXPECT_EQ(MPI_Win_flush(next_, window_), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_unlock(next_, window_), MPI_SUCCESS);
}

/// The request is complete, and MPI has seen it, before it is freed.
TEST_F(LateFailure, OfRequestFreedWithoutTestIsReportedByWindow) {
  long value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window_);
  int told = MPI_Rget(&value, 1, MPI_LONG, next_, address_, 1, MPI_LONG, window_, &request);
  bool const issued = told == MPI_SUCCESS;
  if (issued) {
    EXPECT_EQ(MPI_Win_flush(next_, window_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  }
  int const unlocked = MPI_Win_unlock(next_, window_);
  int const freed = MPI_Win_free(&window_);
  for (int const code : {unlocked, freed}) told = told != MPI_SUCCESS ? told : code;
  EXPECT_EQ(class_of(told), MPI_ERR_RMA_RANGE);
  EXPECT_TRUE(unlocked == MPI_SUCCESS || freed == MPI_SUCCESS) << "told twice";
}

/// Nothing is outstanding when the request is freed.
TEST_F(LateFailure, OfRequestFreedAfterFlushIsReportedByNextFlush) {
  long value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window_);
  if (MPI_Rget(&value, 1, MPI_LONG, next_, address_, 1, MPI_LONG, window_, &request) == MPI_SUCCESS) {
    EXPECT_EQ(MPI_Win_flush(next_, window_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Win_flush(next_, window_)), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(MPI_Win_flush(next_, window_), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Win_unlock(next_, window_), MPI_SUCCESS);
}

TEST_F(LateFailure, OfTestedRequestIsReportedOnce) {
  long value = 0;
  for (bool const tests : {false, true}) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window_);
    int told = MPI_Rget(&value, 1, MPI_LONG, next_, address_, 1, MPI_LONG, window_, &request);
    for (int complete = 0; told == MPI_SUCCESS && complete == 0;) {
      told = tests ? MPI_Test(&request, &complete, MPI_STATUS_IGNORE) : MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (!tests) complete = 1;
    }
    EXPECT_EQ(class_of(told), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(MPI_Win_unlock(next_, window_), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS);
}

TEST_F(LateFailure, IsReportedByFreeOfWindow) {
  long const value = 1;
  MPI_Win_fence(0, window_);
  int const issued = MPI_Accumulate(&value, 1, MPI_LONG, next_, address_, 1, MPI_LONG, MPI_SUM, window_);
  int const freed = MPI_Win_free(&window_);
  EXPECT_EQ(class_of(issued == MPI_SUCCESS ? freed : issued), MPI_ERR_RMA_RANGE);
  // If MPI_Win_free has failed, the handle remains; the window is gone.
  if (window_ != MPI_WIN_NULL) EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS);
  EXPECT_EQ(window_, MPI_WIN_NULL);
}

}  // namespace
}  // namespace mpixrma::test

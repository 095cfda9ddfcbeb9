/// Texts of window errors: operation, displacement, rank and reason.
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

void expect(int code, int error_class, std::vector<std::string> const& words) {
  EXPECT_EQ(class_of(code), error_class);
  std::string const text = text_of(code);
  for (std::string const& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

class ErrorTexts : public FlavourTest {
 protected:
  std::string const place_ = "of rank " + std::to_string(next_);
  long value_ = 5;
};
MPIX_ON_EACH_FLAVOUR(ErrorTexts);

TEST_P(ErrorTexts, OperationOutsideEpochNamesDisplacementAndRank) {
  Window const window(GetParam(), 64, 8);
  MPI_Aint const at = window.at(next_, 16);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  std::string const where = " of 8 bytes at displacement " + std::to_string(at) + " " + place_;
  expect(MPI_Put(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, window), MPI_ERR_RMA_SYNC,
         {"MPI_Put: a put" + where, "no epoch is open"});
  expect(MPI_Accumulate(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, MPI_SUM, window), MPI_ERR_RMA_SYNC,
         {"MPI_Accumulate: an accumulate" + where});
  MPI_Request request = MPI_REQUEST_NULL;
  expect(MPI_Rget(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, window, &request), MPI_ERR_RMA_SYNC,
         {"MPI_Rget: a get" + where});
  long before = 0;
  expect(
      MPI_Get_accumulate(&value_, 1, MPI_LONG, &before, 1, MPI_LONG, next_, at, 1, MPI_LONG, MPI_SUM, window),
      MPI_ERR_RMA_SYNC, {"MPI_Get_accumulate: a read-modify-write" + where});
  expect(MPI_Fetch_and_op(&value_, &before, MPI_LONG, next_, at, MPI_SUM, window), MPI_ERR_RMA_SYNC,
         {"MPI_Fetch_and_op: a read-modify-write" + where});
  expect(MPI_Compare_and_swap(&value_, &value_, &before, MPI_LONG, next_, at, window), MPI_ERR_RMA_SYNC,
         {"MPI_Compare_and_swap: a read-modify-write" + where});
  expect(MPI_Win_unlock(next_, window), MPI_ERR_RMA_SYNC, {"MPI_Win_unlock " + place_, "no epoch is open"});
  expect(MPI_Win_flush(next_, window), MPI_ERR_RMA_SYNC, {"MPI_Win_flush " + place_});
  expect(MPI_Win_flush_local(next_, window), MPI_ERR_RMA_SYNC, {"MPI_Win_flush_local " + place_});
  MPI_Win_lock_all(0, window);
  expect(MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window), MPI_ERR_RMA_SYNC,
         {"MPI_Win_lock " + place_, "an epoch of MPI_Win_lock_all is open"});
  expect(MPI_Win_fence(0, window), MPI_ERR_RMA_SYNC,
         {"MPI_Win_fence", "an epoch of MPI_Win_lock_all is open"});
  MPI_Win_unlock_all(window);
}

TEST_P(ErrorTexts, CallInAWrongEpochNamesTheReason) {
  Window const window(GetParam(), 64, 8);
  MPI_Aint const at = window.at(next_, 0);
  MPI_Win_fence(0, window);
  MPI_Request request = MPI_REQUEST_NULL;
  expect(MPI_Rput(&value_, 1, MPI_LONG, next_, at, 1, MPI_LONG, window, &request), MPI_ERR_RMA_SYNC,
         {"MPI_Rput: a put", "an epoch of MPI_Win_fence is open", "operations with requests are not"});
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  int const other = (next_ + 1) % size_;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  std::string const locked = "and rank " + std::to_string(next_) + " is locked";
  expect(MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window), MPI_ERR_RMA_SYNC,
         {"MPI_Win_lock " + place_, locked});
  if (other != next_)
    expect(MPI_Win_flush(other, window), MPI_ERR_RMA_SYNC,
           {"MPI_Win_flush", "and rank " + std::to_string(other) + " is not locked"});
  expect(MPI_Put(&value_, 1, MPI_LONG, next_, at, 2, MPI_LONG, window), MPI_ERR_TYPE,
         {"MPI_Put: ", "the two sides differ in size"});
  float sum = 0;
  expect(MPI_Fetch_and_op(&value_, &sum, MPI_FLOAT, next_, at, MPI_BAND, window), MPI_ERR_OP,
         {"MPI_Fetch_and_op", "not defined for the datatype"});
  MPI_Win_unlock(next_, window);
}

TEST_P(ErrorTexts, TypeBeyondAllAddressesIsOutsideTheWindow) {
  if (GetParam() == Flavour::dynamic) GTEST_SKIP() << "has no size";
  Window const window(GetParam(), 64, 8);
  MPI_Datatype wide = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, MPI_Aint{1} << 62, &wide);
  MPI_Type_commit(&wide);
  int const values[5] = {};
  MPI_Win_lock_all(0, window);
  expect(MPI_Put(values, 5, MPI_INT, next_, 0, 5, wide, window), MPI_ERR_RMA_RANGE, {"MPI_Put: "});
  MPI_Win_unlock_all(window);
  MPI_Type_free(&wide);
}

TEST_P(ErrorTexts, LockOfAWindowWithoutLocksNamesTheInfoKey) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  Window const window(GetParam(), 64, 8, info);
  MPI_Info_free(&info);
  expect(MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window), MPI_ERR_RMA_SYNC, {"MPI_Win_lock", "no_locks"});
  expect(MPI_Win_lock_all(0, window), MPI_ERR_RMA_SYNC, {"MPI_Win_lock_all", "no_locks"});
}

TEST_P(ErrorTexts, OperationBeyondTheWindowNamesSizeAndUnit) {
  if (GetParam() == Flavour::dynamic) GTEST_SKIP() << "has no size";
  Window const window(GetParam(), 64, 8);
  MPI_Win_lock_all(0, window);
  expect(MPI_Put(&value_, 1, MPI_LONG, next_, 8, 1, MPI_LONG, window), MPI_ERR_RMA_RANGE,
         {"MPI_Put: a put of 8 bytes at displacement 8 " + place_,
          "rank " + std::to_string(next_) + " has 64 bytes, in units of 8"});
  expect(MPI_Get(&value_, 1, MPI_LONG, next_, 100, 1, MPI_LONG, window), MPI_ERR_RMA_RANGE,
         {"MPI_Get: a get of 8 bytes at displacement 100 " + place_});
  long sum = 0;
  expect(MPI_Fetch_and_op(&value_, &sum, MPI_LONG, next_, 9, MPI_SUM, window), MPI_ERR_RMA_RANGE,
         {"a read-modify-write of 8 bytes at displacement 9 " + place_});
  MPI_Win_unlock_all(window);
}

TEST_F(WindowTest, LateErrorOfDynamicWindowNamesTheOperation) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  long value = 5;
  MPI_Aint const nowhere = 0xdead0000;
  MPI_Win_lock_all(0, window);
  int const put = MPI_Put(&value, 1, MPI_LONG, next_, nowhere, 1, MPI_LONG, window);
  int const flush = MPI_Win_flush(next_, window);
  EXPECT_NE(put != MPI_SUCCESS, flush != MPI_SUCCESS);
  expect(put != MPI_SUCCESS ? put : flush, MPI_ERR_RMA_RANGE,
         {"a put of 8 bytes at displacement " + std::to_string(nowhere) + " of rank " + std::to_string(next_),
          "the target memory is not mapped"});
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  MPI_Win_free(&window);
}

TEST_F(WindowTest, RefusedAttachmentsNameTheMemory) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  long memory[8] = {};
  ASSERT_EQ(MPI_Win_attach(window, &memory[2], sizeof(long)), MPI_SUCCESS);
  expect(MPI_Win_attach(window, memory, sizeof memory), MPI_ERR_RMA_ATTACH,
         {"MPI_Win_attach", "the 64 bytes at", "overlap the 8 bytes at"});
  expect(MPI_Win_attach(window, &memory[2], 4), MPI_ERR_RMA_ATTACH, {"the 4 bytes at", "the 8 bytes at"});
  expect(MPI_Win_attach(window, reinterpret_cast<void*>(4096), 8), MPI_ERR_RMA_ATTACH,
         {"MPI_Win_attach", "the 8 bytes at 0x1000", "not all mapped"});
  expect(MPI_Win_attach(window, memory, -8), MPI_ERR_SIZE, {"MPI_Win_attach", "size -8 is negative"});
  expect(MPI_Win_detach(window, &memory[3]), MPI_ERR_RMA_ATTACH, {"MPI_Win_detach", "begins at"});
  EXPECT_EQ(MPI_Win_detach(window, &memory[2]), MPI_SUCCESS);
  MPI_Win_free(&window);
  void* base = nullptr;
  ASSERT_EQ(MPI_Win_allocate(8, 1, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  expect(MPI_Win_attach(window, memory, 8), MPI_ERR_RMA_FLAVOR, {"MPI_Win_attach"});
  MPI_Win_free(&window);
}

}  // namespace
}  // namespace mpixrma::test

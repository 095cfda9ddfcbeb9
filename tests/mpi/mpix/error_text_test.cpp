/// Error codes: their class, and a text that names the call, the argument and the reason.
#include <climits>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

using ::testing::Test;

class ErrorTexts : public Test {
 protected:
  /// Expects an error of this class whose text contains all of these words.
  static void expect(int code, int error_class, std::vector<std::string> const& words) {
    EXPECT_EQ(class_of(code), error_class);
    std::string const text = text_of(code);
    for (std::string const& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
  int put(int count, MPI_Datatype type, int rank, void* target) {
    return transfer(MPIX_RMA_PUT, &value_, count, type, rank, target);
  }

  ErrorsReturn returned_{MPI_COMM_WORLD};
  Memory memory_{256};
  std::string const ranks_ = std::to_string(memory_.size());
  double value_ = 1;
};

TEST_F(ErrorTexts, TransfersNameTheArgumentAndItsValue) {
  char* const target = memory_.at(0, 0);
  expect(put(1, MPI_DOUBLE, 77, target), MPI_ERR_RANK,
         {"MPIX_RMA_xfer: target_rank 77 is not in the communicator, which has " + ranks_ + " process"});
  expect(put(-3, MPI_DOUBLE, 0, target), MPI_ERR_COUNT, {"MPIX_RMA_xfer: origin_count -3"});
  expect(put(1, MPI_DATATYPE_NULL, 0, target), MPI_ERR_TYPE, {"origin_datatype is MPI_DATATYPE_NULL"});
  expect(put(2, MPI_DOUBLE, 0, nullptr), MPI_ERR_ARG,
         {"target_addr is a null pointer", "16 bytes of rank 0"});
  expect(transfer(static_cast<MPIX_RMA_Op>(9), &value_, 1, MPI_DOUBLE, 0, target), MPI_ERR_OP, {"op 9"});
  expect(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, target, std::uint64_t{1} << 40), MPI_ERR_ARG,
         {"unknown bits, 0x10000000000"});
  MPIX_RMA_Attributes notify = attributes(MPIX_RMA_ATTR_NOTIFY);
  notify.notify_index = 5;
  expect(
      MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, target, 1, MPI_DOUBLE, nullptr, &world, &notify),
      MPI_ERR_ARG, {"notify_index 5 is no counter of rank 0, which has 0 counters"});
  expect(
      MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, 0, target, 1, MPI_LONG, nullptr, &world),
      MPI_ERR_TYPE, {"MPIX_RMA_xfer_req: ", "MPI_DOUBLE", "MPI_LONG"});
  MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
  expect(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, &value_, 2, MPI_DOUBLE, 0, target, 1, MPI_DOUBLE, &request, &world),
         MPI_ERR_TYPE, {"MPIX_RMA_xfer_rma: ", "16 bytes", "8 bytes"});
  MPI_Comm none = MPI_COMM_NULL;
  expect(MPIX_RMA_Complete(&none, 0), MPI_ERR_COMM, {"MPIX_RMA_Complete: communicator is MPI_COMM_NULL"});
  expect(MPIX_RMA_Fence(&world, -7), MPI_ERR_RANK, {"MPIX_RMA_Fence: target_rank -7"});
}

TEST_F(ErrorTexts, RmwNamesOperandAndAddress) {
  long operand = 1;
  auto const address = reinterpret_cast<MPI_Aint>(memory_.at(0, 0));
  auto const call = [&](MPIX_RMW_Op op, void* in, MPI_Datatype type, MPI_Aint where) {
    return MPIX_RMA_rmw(op, in, 1, type, nullptr, 0, where, nullptr, &world, nullptr);
  };
  expect(call(static_cast<MPIX_RMW_Op>(77), &operand, MPI_LONG, address), MPI_ERR_OP,
         {"MPIX_RMA_rmw: op 77"});
  expect(call(MPIX_RMW_BAND, &operand, MPI_DOUBLE, address), MPI_ERR_OP, {"MPI_DOUBLE"});
  expect(call(MPIX_RMW_SUM, nullptr, MPI_LONG, address), MPI_ERR_BUFFER, {"operand_addr is a null"});
  char where[32];
  std::snprintf(where, sizeof where, "0x%llx of rank 0", static_cast<unsigned long long>(address + 4));
  expect(call(MPIX_RMW_SUM, &operand, MPI_LONG, address + 4), MPI_ERR_ARG, {where, "multiple of 8"});
}

TEST_F(ErrorTexts, CallsWithoutCommunicatorNameTheArgument) {
  int local = 0;
  void* base = nullptr;
  expect(rma_allocate_local(-5, MPI_INFO_NULL, &base), MPI_ERR_ARG,
         {"MPIX_RMA_Allocate_local: size -5 is negative"});
  expect(rma_register(nullptr, 8), MPI_ERR_ARG, {"MPIX_RMA_Register: base is a null"});
  expect(rma_register(memory_.own(Memory::allocated) + 248, 16), MPI_ERR_ARG,
         {"16 bytes at 0x", "beyond the end"});
  char where[32];
  std::snprintf(where, sizeof where, "base %p", static_cast<void*>(&local));
  expect(rma_deregister(&local, sizeof local), MPI_ERR_ARG, {"4 bytes at 0x", "not registered"});
  expect(rma_free_local(&local), MPI_ERR_ARG, {where, "MPIX_RMA_Free_local: "});
  MPI_Request request = MPI_REQUEST_NULL;
  expect(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_INDEX_VALUE(9)), MPI_ERR_ARG,
         {"MPIX_Req_set_attr: 0x9 is not a value of MPIX_RMA_KEY_COMMUNICATABLE"});
  expect(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(-1)), MPI_ERR_ARG,
         {"MPIX_Req_set_attr: -1 is not a value of MPIX_RMA_KEY_NOTIFY"});
  MPIX_Rma_request none = MPIX_RMA_REQUEST_NULL;
  expect(MPIX_Rma_request_free(&none), MPI_ERR_REQUEST,
         {"MPIX_Rma_request_free: request is MPIX_RMA_REQUEST_NULL"});
}

TEST_F(ErrorTexts, CollectiveCallsNameTheRankThatFailed) {
  int const last = memory_.size() - 1;
  bool const failed_here = memory_.rank() == last;
  std::vector<void*> bases(static_cast<std::size_t>(memory_.size()));
  std::string const other = "at rank " + std::to_string(last);
  expect(rma_allocate(failed_here ? -1 : 64, MPI_INFO_NULL, world, bases.data()), MPI_ERR_ARG,
         {"MPIX_RMA_Allocate: ", failed_here ? "size -1 is negative" : other});
  MPI_Aint const huge = MPI_Aint{1} << 62;
  expect(rma_allocate(failed_here ? huge : 64, MPI_INFO_NULL, world, bases.data()), MPI_ERR_NO_MEM,
         {"MPIX_RMA_Allocate: ", failed_here ? "4611686018427387904 bytes cannot be allocated" : other});
  expect(rma_set_num_notify(world, failed_here ? -2 : 0), MPI_ERR_ARG,
         {"MPIX_RMA_Set_num_notify: ", failed_here ? "num -2 is negative" : other});
  expect(
      rma_set_num_notify(world, failed_here ? INT_MAX : 0), MPI_ERR_ARG,
      {"MPIX_RMA_Set_num_notify: ",
       failed_here ? "num 2147483647 is more than the 134217728 counters that a process can have" : other});
  int local = 0;
  expect(rma_free(failed_here ? &local : nullptr, world), MPI_ERR_ARG,
         {"MPIX_RMA_Free: ", failed_here ? "was not allocated" : other});
}

TEST_F(ErrorTexts, FailedOperationsNameRankAndAddress) {
  int address_class = 0;
  int transport_class = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
  MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class);
  EXPECT_NE(address_class, transport_class);
  int const next = (memory_.rank() + 1) % memory_.size();
  auto* const nowhere = reinterpret_cast<void*>(0xdead0000);
  std::string const place = "address 0xdead0000 of rank " + std::to_string(next) + ", 8 bytes";
  expect(transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next, nowhere, MPIX_RMA_ATTR_BLOCKING), address_class,
         {"MPIX_RMA_xfer: ", place});
  MPI_Request native = MPI_REQUEST_NULL;
  int code = transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next, nowhere, 0, &native);
  if (code == MPI_SUCCESS) code = MPI_Wait(&native, MPI_STATUS_IGNORE);
  expect(code, address_class, {"MPIX_RMA_xfer: ", place});
  MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
  code = MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next, nowhere, 1, MPI_DOUBLE, &own, &world);
  if (code == MPI_SUCCESS) code = MPIX_Rma_request_wait(&own);
  expect(code, address_class, {"MPIX_RMA_xfer_rma: ", place});
  code = transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next, nowhere);
  if (code == MPI_SUCCESS) code = MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
  expect(code, address_class, {"rank " + std::to_string(next)});
}

TEST_F(ErrorTexts, NumberOfErrorCodesIsBounded) {
  std::set<int> codes;
  for (int rank = 1000; rank < 1200; ++rank) {
    int const code = put(1, MPI_DOUBLE, rank, memory_.at(0, 0));
    expect(code, MPI_ERR_RANK, {"target_rank " + std::to_string(rank)});
    EXPECT_EQ(put(1, MPI_DOUBLE, rank, memory_.at(0, 0)), code);  // the same text
    codes.insert(code);
  }
  EXPECT_LE(codes.size(), 16U);
}

/// Returns the text of the error of the call or of MPIX_RMA_Complete.
std::string late_text(int code, int rank) {
  int const later = MPIX_RMA_Complete(&world, rank);
  EXPECT_NE(code != MPI_SUCCESS, later != MPI_SUCCESS);
  return text_of(code != MPI_SUCCESS ? code : later);
}

TEST_F(ErrorTexts, OfOverrunCountsBytesInsideTheAllocation) {
  int const last = memory_.size() - 1;
  std::vector<char> data(104);
  char* const target = memory_.at(last, Memory::allocated, 256 - 100);
  std::string const numbers = "only 100 of 104 bytes lie inside the allocation at 0x";
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET}) {
    int const code = transfer(op, data.data(), 104, MPI_CHAR, last, target);
    std::string const text = late_text(code, last);
    EXPECT_NE(text.find(numbers), std::string::npos) << text;
    EXPECT_NE(text.find("of rank " + std::to_string(last)), std::string::npos) << text;
  }
}

TEST_F(ErrorTexts, OfLayoutThatBeginsBelowTheAllocationDoesNotBlameItsAddress) {
  int const last = memory_.size() - 1;
  MPI_Datatype below = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(2, 1, -(MPI_Aint{1} << 45), MPI_INT, &below);
  MPI_Type_commit(&below);
  int data[2] = {};
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET}) {
    int const code = MPIX_RMA_xfer(op, data, 2, MPI_INT, last, memory_.at(last, Memory::allocated, 0), 1,
                                   below, nullptr, &world, nullptr);
    std::string const text = late_text(code, last);
    EXPECT_TRUE(text.find("a part of the target layout is not mapped") != std::string::npos ||
                text.find("the target layout reaches beyond the allocation") != std::string::npos)
        << text;
  }
  MPI_Type_free(&below);
}

TEST_F(ErrorTexts, OfLateErrorNamesTheOperation) {
  int const last = memory_.size() - 1;
  auto* const nowhere = reinterpret_cast<void*>(0xdead0000);
  struct Named {
    MPIX_RMA_Op op;
    char const* late;
  };
  for (Named const& named : {Named{MPIX_RMA_PUT, "a put of 8 bytes at address 0xdead0000"},
                             Named{MPIX_RMA_ACCUMULATE, "an accumulate of 8 bytes at address 0xdead0000"}}) {
    int const code = transfer(named.op, &value_, 1, MPI_DOUBLE, last, nowhere);
    std::string const text = late_text(code, last);
    EXPECT_NE(text.find("the target memory is not mapped"), std::string::npos) << text;
    EXPECT_NE(text.find(code == MPI_SUCCESS ? named.late : "address 0xdead0000"), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(last)), std::string::npos) << text;
  }
  long summand = 1;
  int const code = MPIX_RMA_rmw(MPIX_RMW_SUM, &summand, 1, MPI_LONG, nullptr, last, MPI_Aint{0xdead0000},
                                nullptr, &world, nullptr);
  std::string const text = late_text(code, last);
  EXPECT_NE(text.find("of rank " + std::to_string(last)), std::string::npos) << text;
  if (code == MPI_SUCCESS)
    EXPECT_NE(text.find("a read-modify-write of 8 bytes at address 0xdead0000"), std::string::npos) << text;
}

TEST_F(ErrorTexts, NamesReadOnlyTarget) {
  static double const constant = 3;
  auto where = reinterpret_cast<std::intptr_t>(&constant);
  int const last = memory_.size() - 1;
  MPI_Bcast(&where, sizeof where, MPI_BYTE, last, world);
  int const code = transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, last, reinterpret_cast<void*>(where));
  std::string const text = late_text(code, last);
  EXPECT_NE(text.find("not writable"), std::string::npos) << text;
  MPI_Barrier(world);
  double const found = *static_cast<double const volatile*>(&constant);  // read from memory
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace mpixrma::test

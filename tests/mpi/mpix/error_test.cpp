/// Invalid arguments: the right error class through the error handler, and no side effects.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

int handler_calls = 0;
int handler_code = 0;
void note_error(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_code = *code;
}

class Errors : public ::testing::Test {
 protected:
  ErrorsReturn returned_{MPI_COMM_WORLD};
  Memory memory_{256};
  double value_ = 1;

  int put(int count, MPI_Datatype type, int rank, void* target) {
    return transfer(MPIX_RMA_PUT, &value_, count, type, rank, target);
  }
};

TEST_F(Errors, ArgumentsGiveTheirClasses) {
  char* const target = memory_.at(0, 0);
  EXPECT_EQ(class_of(put(-1, MPI_DOUBLE, 0, target)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(put(1, MPI_DATATYPE_NULL, 0, target)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(put(1, MPI_Datatype{}, 0, target)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, memory_.size(), target)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, -7, target)), MPI_ERR_RANK);
  EXPECT_EQ(put(1, MPI_DOUBLE, MPI_PROC_NULL, target), MPI_SUCCESS);
  EXPECT_EQ(put(0, MPI_DOUBLE, 0, target), MPI_SUCCESS);
  EXPECT_EQ(class_of(put(1, MPI_DOUBLE, 0, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, nullptr, 1, MPI_DOUBLE, 0, target)), MPI_ERR_BUFFER);
  EXPECT_EQ(class_of(transfer(static_cast<MPIX_RMA_Op>(99), &value_, 1, MPI_DOUBLE, 0, target)), MPI_ERR_OP);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, target, std::uint64_t{1} << 60)),
            MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_RMA_Complete(&world, memory_.size())), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPIX_RMA_Fence(&world, -7)), MPI_ERR_RANK);
}

/// A program that was compiled with fewer fields passes a shorter structure, here one at the end of a page.
TEST_F(Errors, AttributesAreReadUpToTheFieldsThatAreSet) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(pages + page, page), 0);
  auto const ending_after = [&](std::size_t bytes, MPIX_RMA_Attributes const& whole) {
    std::memcpy(pages + page - bytes, &whole, bytes);
    return reinterpret_cast<MPIX_RMA_Attributes const*>(pages + page - bytes);
  };
  long word = 3;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    char* const target = memory_.at(0, kind);
    MPIX_RMA_Attributes whole = attributes(MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ORDERING);
    auto const* given = ending_after(offsetof(MPIX_RMA_Attributes, accumulate_op), whole);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(
          MPIX_RMA_xfer(MPIX_RMA_PUT, &word, 1, MPI_LONG, 0, target, 1, MPI_LONG, nullptr, &world, given),
          MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &word, 1, MPI_LONG, nullptr, 0, reinterpret_cast<MPI_Aint>(target),
                             nullptr, &world, given),
                MPI_SUCCESS);
    }
    MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
    ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, 0, MPI_LONG, world, given, &plan), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Plan_issue(plan, &word, 1, target, 1, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
    whole.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
    whole.accumulate_op = MPI_SUM;
    given = ending_after(offsetof(MPIX_RMA_Attributes, accumulate_scale), whole);
    EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &word, 1, MPI_LONG, 0, target, 1, MPI_LONG, nullptr, &world,
                            given),
              MPI_SUCCESS);
  }
  EXPECT_EQ(munmap(pages, page), 0);
}

TEST_F(Errors, RefusesBitMasksInsteadOfAttributes) {
  long word = 1;
  char* const target = memory_.at(0, 0);
  // A call after a valid one uses the state that the valid one has cached, and must check the argument, too.
  for (std::uintptr_t const mask :
       {std::uintptr_t{1}, std::uintptr_t{MPIX_RMA_ATTR_BLOCKING}, std::uintptr_t{4095}}) {
    auto* const attributes = reinterpret_cast<MPIX_RMA_Attributes const*>(mask);
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
      for (int i = 0; i < 2; ++i) {
        int const code =
            MPIX_RMA_xfer(op, &word, 1, MPI_LONG, 0, target, 1, MPI_LONG, nullptr, &world, attributes);
        EXPECT_EQ(class_of(code), MPI_ERR_ARG) << mask;
        EXPECT_TRUE(says(code, "MPIX_RMA_Attributes")) << text_of(code);
        EXPECT_EQ(transfer(op, &word, 1, MPI_LONG, 0, target), MPI_SUCCESS);
        EXPECT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
      }
    }
    for (int const count : {1, 1, 0}) {
      EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_SUM, &word, count, MPI_LONG, nullptr, 0,
                                      reinterpret_cast<MPI_Aint>(target), nullptr, &world, attributes)),
                MPI_ERR_ARG);
      EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &word, count, MPI_LONG, nullptr, 0,
                             reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr),
                MPI_SUCCESS);
    }
    EXPECT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
    MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
    EXPECT_EQ(class_of(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, 0, MPI_LONG, world, attributes, &plan)),
              MPI_ERR_ARG);
  }
}

TEST_F(Errors, RefusesMismatchedSides) {
  float narrow = 0;
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_INT,
                                   nullptr, &world, nullptr)),
            MPI_ERR_TYPE);
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1,
                                   MPI_LONG, nullptr, &world, nullptr)),
            MPI_ERR_TYPE);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_ACCUMULATE, &narrow, 1, MPI_BYTE, 0, memory_.at(0, 0))), MPI_ERR_OP);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP);
  chosen.accumulate_op = MPI_BAND;
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1,
                                   MPI_DOUBLE, nullptr, &world, &chosen)),
            MPI_ERR_OP);
  chosen.accumulate_op = MPI_OP_NULL;
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1,
                                   MPI_DOUBLE, nullptr, &world, &chosen)),
            MPI_ERR_OP);
}

TEST_F(Errors, UncommittedDatatypeIsRefused) {
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
  EXPECT_EQ(class_of(put(1, vector, 0, memory_.at(0, 0))), MPI_ERR_TYPE);
  MPI_Type_free(&vector);
}

TEST_F(Errors, FreedAndNullCommunicatorsAreRefused) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(world, &copy);
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE, nullptr,
                          &copy, nullptr),
            MPI_SUCCESS);
  MPI_Comm dangling = copy;
  MPI_Comm_free(&copy);
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                   nullptr, &dangling, nullptr)),
            MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                   nullptr, &copy, nullptr)),
            MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                   nullptr, nullptr, nullptr)),
            MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Complete(&dangling, 0)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Fence(nullptr, 0)), MPI_ERR_COMM);
}

TEST_F(Errors, HandlesOfOtherKindsAreRefused) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Datatype datatype = MPI_DOUBLE;
  void* base = nullptr;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, static_cast<void*>(&base), &window);
  MPI_Comm_group(world, &group);
  std::vector<void*> wrong_ones{&window, &group, &datatype};
  // A communicator in the place of its address, where handles are addresses.
  if (sizeof world == sizeof(void*)) {
    void* place = nullptr;
    std::memcpy(&place, &world, sizeof world);
    wrong_ones.push_back(place);
  }
  for (void* const wrong : wrong_ones) {
    auto* const communicator = static_cast<MPI_Comm*>(wrong);
    EXPECT_EQ(class_of(MPIX_RMA_Complete(communicator, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Complete_local(communicator, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Fence(communicator, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                     nullptr, communicator, nullptr)),
              MPI_ERR_COMM);
  }
  auto const other = reinterpret_cast<MPI_Datatype>(window);
  EXPECT_EQ(class_of(put(1, other, 0, memory_.at(0, 0))), MPI_ERR_TYPE);
  MPI_Group_free(&group);
  MPI_Win_free(&window);
}

TEST_F(Errors, UnmappedAddressGivesAddressClass) {
  int address_class = 0;
  int transport_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class), MPI_SUCCESS);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(address_class, text, &length);
  EXPECT_NE(std::string(text).find("target address"), std::string::npos);
  int const last = memory_.size() - 1;
  auto* const nowhere = reinterpret_cast<void*>(0xdead0000);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, last, nowhere,
                              MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION)),
            address_class);
  EXPECT_EQ(class_of(transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, last, nowhere, MPIX_RMA_ATTR_BLOCKING)),
            address_class);
  EXPECT_EQ(
      class_of(transfer(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, last, nowhere,
                        MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_ATOMICITY)),
      address_class);
  // Without a request the error is reported once, by the call or by Complete.
  int const now = transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, last, nowhere);
  int const later = MPIX_RMA_Complete(&world, last);
  EXPECT_TRUE((class_of(now) == address_class && later == MPI_SUCCESS) ||
              (now == MPI_SUCCESS && class_of(later) == address_class))
      << now << " " << later;
  EXPECT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
  // With a request the error is reported by the call or by the completion of the request.
  MPI_Request request = MPI_REQUEST_NULL;
  int const with_request = transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, last, nowhere, 0, &request);
  if (with_request == MPI_SUCCESS) {
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), address_class);
  } else {
    EXPECT_EQ(class_of(with_request), address_class);
  }
  EXPECT_EQ(put(1, MPI_DOUBLE, last, memory_.at(last, 0)), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
}

TEST_F(Errors, TextNamesTheUndefinedOperation) {
  int const code = MPIX_RMA_rmw(MPIX_RMW_BAND, &value_, 1, MPI_DOUBLE, nullptr, 0,
                                reinterpret_cast<MPI_Aint>(memory_.at(0, 0)), nullptr, &world, nullptr);
  EXPECT_EQ(class_of(code), MPI_ERR_OP);
  EXPECT_TRUE(says(code, "MPIX_RMW_BAND is not defined for datatype (MPI_DOUBLE)")) << text_of(code);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ACCUMULATE_OP);
  chosen.accumulate_op = MPI_BAND;
  int const accumulated = MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1,
                                        MPI_DOUBLE, nullptr, &world, &chosen);
  EXPECT_TRUE(says(accumulated, "MPI_BAND is not defined")) << text_of(accumulated);
}

TEST_F(Errors, UserHandlerReceivesTheCode) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(world, &copy);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&note_error, &handler);
  MPI_Comm_set_errhandler(copy, handler);
  handler_calls = 0;
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, -3, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                   nullptr, &copy, nullptr)),
            MPI_ERR_COUNT);
  EXPECT_EQ(handler_calls, 1);
  EXPECT_EQ(class_of(handler_code), MPI_ERR_COUNT);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&copy);
}

TEST_F(Errors, RmwArgumentsGiveTheirClasses) {
  long operand = 1;
  MPI_Aint const address = reinterpret_cast<MPI_Aint>(memory_.at(0, 0));
  auto const call = [&](MPIX_RMW_Op op, void* in, int count, MPI_Datatype type, int rank, MPI_Aint where) {
    return MPIX_RMA_rmw(op, in, count, type, nullptr, rank, where, nullptr, &world, nullptr);
  };
  EXPECT_EQ(class_of(call(static_cast<MPIX_RMW_Op>(77), &operand, 1, MPI_LONG, 0, address)), MPI_ERR_OP);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, &operand, -1, MPI_LONG, 0, address)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, &operand, 1, MPI_DATATYPE_NULL, 0, address)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, &operand, 1, MPI_Datatype{}, 0, address)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(call(MPIX_RMW_BAND, &operand, 1, MPI_DOUBLE, 0, address)), MPI_ERR_OP);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, &operand, 1, MPI_LONG, 99, address)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, nullptr, 1, MPI_LONG, 0, address)), MPI_ERR_BUFFER);
  EXPECT_EQ(class_of(call(MPIX_RMW_SUM, &operand, 1, MPI_LONG, 0, 0)), MPI_ERR_ARG);
}

TEST_F(Errors, MemoryCallsRefuseForeignMemory) {
  int local = 0;
  void* base = nullptr;
  EXPECT_EQ(class_of(rma_free_local(&local)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_deregister(&local, sizeof local)), MPI_ERR_ARG);
  EXPECT_EQ(rma_register(&local, sizeof local), MPI_SUCCESS);
  EXPECT_EQ(class_of(rma_deregister(&local, sizeof local - 1)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_deregister(&local, 0)), MPI_ERR_ARG);
  EXPECT_EQ(rma_deregister(&local, sizeof local), MPI_SUCCESS);
  EXPECT_EQ(class_of(rma_allocate_local(0, MPI_INFO_NULL, &base)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_allocate_local(-5, MPI_INFO_NULL, &base)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_register(nullptr, 8)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_register(memory_.own(Memory::allocated) + 248, 16)), MPI_ERR_ARG);
  std::vector<void*> bases(static_cast<std::size_t>(memory_.size()));
  // An invalid size at one rank fails the call at all ranks.
  EXPECT_EQ(class_of(rma_allocate(memory_.rank() == 0 ? -1 : 64, MPI_INFO_NULL, world, bases.data())),
            MPI_ERR_ARG);
}

/// A handle of another kind in the place of a communicator.
template <typename Handle>
MPI_Comm disguised(Handle handle) {
  static_assert(sizeof(MPI_Comm) == sizeof(Handle));
  MPI_Comm comm = MPI_COMM_NULL;
  std::memcpy(&comm, &handle, sizeof comm);
  return comm;
}

TEST_F(Errors, HandlesOfOtherKindsAreNoCommunicators) {
  MPI_Win window = MPI_WIN_NULL;
  long* base = nullptr;
  MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, world, &base, &window);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(world, &group);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(base, 1, MPI_LONG, 0, 0, world, &request);
  for (MPI_Comm comm :
       {disguised(window), disguised(group), disguised(info), disguised(request), disguised(MPI_LONG),
        disguised(MPI_SUM), disguised(MPI_ERRORS_RETURN), disguised(MPI_WIN_NULL)}) {
    void* mine = nullptr;
    int count = 0;
    EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, 0, memory_.at(0, 0), 1, MPI_DOUBLE,
                                     nullptr, &comm, nullptr)),
              MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Complete(&comm, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Fence(&comm, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(rma_allocate(8, MPI_INFO_NULL, comm, &mine, nullptr)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(rma_get_num_notify(comm, &count)), MPI_ERR_COMM);
  }
  MPI_Request_free(&request);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Win_free(&window);
}

}  // namespace
}  // namespace mpixrma::test

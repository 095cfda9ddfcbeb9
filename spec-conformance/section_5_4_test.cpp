/// Section 5.4: memory.
#include <cstdlib>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X54 : public Clause {};

long static_memory[4];

TEST_F(X54, X54_01_query_returns_the_segment_of_an_address) {
  ErrorsReturn const returned(world);
  for (int target = 0; target < size_; ++target) {
    for (int kind = 0; kind < Memory::plain; ++kind) {
      int flag = -1;
      void* base = nullptr;
      MPI_Aint size = 0;
      ASSERT_EQ(rma_query(world, target, memory_.at(target, kind, 1000), &flag, &base, &size), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
      EXPECT_EQ(base, memory_.at(target, kind));
      EXPECT_EQ(size, bytes);
      ASSERT_EQ(rma_query(world, target, memory_.at(target, kind, bytes - 1), &flag, nullptr, nullptr),
                MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
    }
    int flag = -1;
    ASSERT_EQ(rma_query(world, target, memory_.at(target, Memory::plain), &flag, nullptr, nullptr),
              MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    ASSERT_EQ(
        rma_query(world, target, memory_.at(target, Memory::registered, bytes), &flag, nullptr, nullptr),
        MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
  }
  EXPECT_EQ(class_of(rma_query(world, size_, nullptr, nullptr, nullptr, nullptr)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(rma_query(world, 0, nullptr, nullptr, nullptr, nullptr)), MPI_ERR_ARG);
}

TEST_F(X54, X54_02_memory_is_allocated_alone_or_together_and_registered) {
  ErrorsReturn const returned(world);
  // Collective, with different sizes, none at some ranks.
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  MPI_Aint const mine = rank_ % 2 == 0 ? 1000 * (rank_ + 1) : 0;
  ASSERT_EQ(rma_allocate(mine, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
  for (int r = 0; r < size_; ++r) EXPECT_EQ(bases[static_cast<std::size_t>(r)] == nullptr, r % 2 == 1);
  ASSERT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
  // Local; the program itself distributes the address.
  void* local = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &local), MPI_SUCCESS);
  std::memset(local, 0, 64);
  std::vector<void*> all(static_cast<std::size_t>(size_));
  MPI_Allgather(&local, sizeof local, MPI_BYTE, all.data(), sizeof local, MPI_BYTE, world);
  long const value = 7 + rank_;
  ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, next_,
                     all[static_cast<std::size_t>(next_)], blocking_remote),
            MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(*static_cast<long*>(local), 7 + previous_);
  ASSERT_EQ(rma_free_local(local), MPI_SUCCESS);
  EXPECT_EQ(class_of(rma_free_local(local)), MPI_ERR_ARG);
  // Existing memory.
  std::vector<char> heap(100);
  ASSERT_EQ(rma_register(heap.data(), 100), MPI_SUCCESS);
  ASSERT_EQ(rma_register(heap.data() + 50, 10), MPI_SUCCESS);
  auto const is_known = [&](char* address) {
    int flag = 0;
    MPI_Comm comm = world;
    EXPECT_EQ(rma_query(comm, rank_, address, &flag, nullptr, nullptr), MPI_SUCCESS);
    return flag == 1;
  };
  ASSERT_EQ(rma_deregister(heap.data(), 100), MPI_SUCCESS);
  EXPECT_TRUE(is_known(heap.data() + 55));
  EXPECT_FALSE(is_known(heap.data() + 60));
  ASSERT_EQ(rma_deregister(heap.data() + 50, 10), MPI_SUCCESS);
  EXPECT_FALSE(is_known(heap.data() + 55));
  EXPECT_EQ(class_of(rma_deregister(heap.data(), 100)), MPI_ERR_ARG);
}

TEST_F(X54, X54_03_any_virtual_memory_can_be_communicated_from_and_to) {
  long on_stack[4] = {};
  std::vector<long> on_heap(4);
  std::memset(static_memory, 0, sizeof static_memory);
  for (long* const memory : {on_stack, on_heap.data(), static_memory}) {
    std::vector<long*> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&memory, sizeof memory, MPI_BYTE, all.data(), sizeof memory, MPI_BYTE, world);
    long* const target = all[static_cast<std::size_t>(next_)];
    long value = 5 + rank_;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next_, target, blocking_remote), MPI_SUCCESS);
    ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, next_, target, blocking_remote),
              MPI_SUCCESS);
    ASSERT_EQ(transfer(MPIX_RMA_GET, &value, 1, MPI_LONG, next_, target, MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    EXPECT_EQ(value, 2 * (5 + rank_));
    MPI_Barrier(world);
    EXPECT_EQ(memory[0], 2 * (5 + previous_));
    MPI_Barrier(world);
  }
}

/// With osc_mpix_check, each buffer that an update of `word` uses must be communicatable. `allocated` is an
/// array of 8.
void expect_checked_buffers(int target, void* word, long* allocated) {
  long on_stack[3] = {1, 1, 1};
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_BLOCKING);
  auto const address = reinterpret_cast<MPI_Aint>(word);
  auto const update = [&](MPIX_RMW_Op op, void const* operand, void* result) {
    return class_of(
        MPIX_RMA_rmw(op, operand, 1, MPI_LONG, result, target, address, nullptr, &world, &chosen));
  };
  auto const swap = [&](void const* operand, void const* operand2, void* result) {
    return class_of(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, operand, 1, MPI_LONG, operand2, result, target,
                                  address, nullptr, &world, &chosen));
  };
  EXPECT_EQ(update(MPIX_RMW_SUM, &allocated[1], &allocated[2]), MPI_SUCCESS);
  EXPECT_EQ(update(MPIX_RMW_INC, &on_stack[0], &allocated[2]), MPI_SUCCESS);  // ignores the operand
  EXPECT_EQ(update(MPIX_RMW_SUM, &on_stack[0], &allocated[2]), MPI_ERR_BUFFER);
  EXPECT_EQ(update(MPIX_RMW_SUM, &allocated[1], &on_stack[0]), MPI_ERR_BUFFER);
  EXPECT_EQ(swap(&allocated[1], &allocated[3], &allocated[2]), MPI_SUCCESS);
  EXPECT_EQ(swap(&on_stack[0], &allocated[3], &allocated[2]), MPI_ERR_BUFFER);
  EXPECT_EQ(swap(&allocated[1], &on_stack[1], &allocated[2]), MPI_ERR_BUFFER);
  EXPECT_EQ(swap(&allocated[1], &allocated[3], &on_stack[2]), MPI_ERR_BUFFER);
}

TEST_F(X54, X54_04_communicatable_memory_is_asserted_per_side) {
  ErrorsReturn const returned(world);
  fill(0);
  char const* const checking = std::getenv("OMPI_MCA_osc_mpix_check");
  bool const checked = checking != nullptr && std::string(checking) == "1";
  void* base = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &base), MPI_SUCCESS);
  long* const allocated = static_cast<long*>(base);
  *allocated = 9;
  std::uint64_t const both = MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  for (int kind = 0; kind < Memory::plain; ++kind) {
    ASSERT_EQ(transfer(MPIX_RMA_PUT, allocated, 1, MPI_LONG, next_, there(kind), both | blocking_remote),
              MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<long>(kind), 9);
  }
  if (checked) {
    int address_class = 0;
    int transport_class = 0;
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class);
    long on_stack = 8;
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &on_stack, 1, MPI_LONG, next_, there(0), both)),
              MPI_ERR_BUFFER);
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, allocated, 1, MPI_LONG, next_, there(Memory::plain), both)),
              address_class);
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, allocated, 1, MPI_LONG, next_,
                                there(Memory::registered, bytes - 4), both)),
              address_class);
    // Two registrations that touch are two segments.
    long halves[2] = {7, 7};
    for (long& half : halves) ASSERT_EQ(rma_register(&half, sizeof half), MPI_SUCCESS);
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, halves, 2, MPI_LONG, next_, there(0), both)), MPI_ERR_BUFFER);
    for (long& half : halves) ASSERT_EQ(rma_deregister(&half, sizeof half), MPI_SUCCESS);
    expect_checked_buffers(next_, there(0, 8), allocated);
    EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<long>(0), 9);
    EXPECT_EQ(own<long>(Memory::plain), 0);
  }
  ASSERT_EQ(rma_free_local(base), MPI_SUCCESS);
}

TEST_F(X54, X54_05_communicatable_on_communicator_and_request) {
  fill(0);
  Duplicate comm;
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_TARGET), MPI_SUCCESS);
  void* value = nullptr;
  int found = 0;
  ASSERT_EQ(MPI_Comm_get_attr(comm.get(), MPIX_RMA_KEY_COMMUNICATABLE, &value, &found), MPI_SUCCESS);
  EXPECT_TRUE(found == 1 && value == MPIX_RMA_TARGET);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_BOTH), MPI_SUCCESS);
  void* base = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &base), MPI_SUCCESS);
  *static_cast<int*>(base) = 77;
  for (int kind = 0; kind < Memory::plain; ++kind) {
    ASSERT_EQ(
        MPIX_RMA_xfer_req(MPIX_RMA_PUT, base, 1, MPI_INT, next_, there(kind), 1, MPI_INT, &request, &comm),
        MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind), 77);
  }
  MPI_Request_free(&request);
  ASSERT_EQ(rma_free_local(base), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test

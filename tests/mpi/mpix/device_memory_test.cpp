/// Every call rejects origins in device memory, and the program continues.
#include <array>
#include <numeric>

#include "tests/support/device_memory.hpp"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

constexpr int count = 64;
using Values = std::array<long, count>;

struct DeviceOrigin : testing::Test {
  DeviceOrigin() {
    int transport = 0;
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void SetUp() override { ASSERT_TRUE(device.there()); }

  void expect_refused(int code) const {
    EXPECT_EQ(class_of(code), address_class);
    EXPECT_NE(text_of(code).find("device"), std::string::npos) << text_of(code);
  }

  /// A part of the target's memory that only this process uses.
  char* place(int rank, int kind) const {
    return memory.at(rank, kind, memory.rank() * std::ptrdiff_t{sizeof(Values)});
  }

  /// Expects a put and a get with the attributes of the rejected calls to succeed for host memory.
  void expect_host_works(int rank, char* target, long first, std::uint64_t set = 0) {
    Values out;
    Values in{};
    std::iota(out.begin(), out.end(), first);
    EXPECT_EQ(transfer(MPIX_RMA_PUT, out.data(), count, MPI_LONG, rank, target, set), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
    EXPECT_EQ(transfer(MPIX_RMA_GET, in.data(), count, MPI_LONG, rank, target, set), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
    EXPECT_EQ(in, out);
  }

  ErrorsReturn returned{MPI_COMM_WORLD};
  DevicePages device;
  Memory memory{16 * sizeof(Values)};
  int address_class = MPI_SUCCESS;
};

TEST_F(DeviceOrigin, IsRefusedByEveryTransfer) {
  for (int const rank : {memory.rank(), (memory.rank() + 1) % memory.size()}) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      char* const target = place(rank, kind);
      for (std::uint64_t const set : {std::uint64_t{0}, MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_ATTR_BLOCKING}) {
        expect_host_works(rank, target, 10 * kind, set);
        for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
          expect_refused(transfer(op, device.at(), count, MPI_LONG, rank, target, set));
          MPI_Request request = MPI_REQUEST_NULL;
          expect_refused(transfer(op, device.at(8), count, MPI_LONG, rank, target, set, &request));
          EXPECT_EQ(request, MPI_REQUEST_NULL);
        }
        // Nothing was transferred, and nothing is outstanding.
        Values in{};
        EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
        EXPECT_EQ(transfer(MPIX_RMA_GET, in.data(), count, MPI_LONG, rank, target), MPI_SUCCESS);
        EXPECT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
        EXPECT_EQ(in.front(), 10 * kind);
        EXPECT_EQ(in.back(), 10 * kind + count - 1);
      }
    }
  }
}

TEST_F(DeviceOrigin, IsRefusedIfOnePieceOfDatatypeIsOnDevice) {
  int const rank = (memory.rank() + 1) % memory.size();
  long here[2] = {5, 6};
  int const lengths[] = {2, 1};
  MPI_Aint const addresses[] = {reinterpret_cast<MPI_Aint>(here), reinterpret_cast<MPI_Aint>(device.at(64))};
  MPI_Datatype pieces = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(2, lengths, addresses, MPI_LONG, &pieces);
  MPI_Type_commit(&pieces);
  char* const target = place(rank, Memory::allocated);
  for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE})
    expect_refused(
        MPIX_RMA_xfer(op, MPI_BOTTOM, 1, pieces, rank, target, 3, MPI_LONG, nullptr, &world, nullptr));
  MPI_Type_free(&pieces);
  EXPECT_EQ(here[0], 5);
  EXPECT_EQ(here[1], 6);
  expect_host_works(rank, target, 3);
}

TEST_F(DeviceOrigin, IsRefusedByPlans) {
  for (int const rank : {memory.rank(), (memory.rank() + 1) % memory.size()}) {
    char* const target = place(rank, Memory::allocated);
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
      MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
      ASSERT_EQ(MPIX_RMA_Plan_create(op, MPI_LONG, rank, MPI_LONG, world, nullptr, &plan), MPI_SUCCESS);
      for (long round = 0; round < 3; ++round) {
        long value = 0;
        EXPECT_EQ(MPIX_RMA_Plan_issue(plan, &value, 1, target, 1, nullptr), MPI_SUCCESS);
        expect_refused(MPIX_RMA_Plan_issue(plan, device.at(), 1, target, 1, nullptr));
        EXPECT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
      }
      EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
    }
    expect_host_works(rank, target, 8);
  }
}

TEST_F(DeviceOrigin, IsRefusedByReadModifyWrites) {
  long one = 1;
  long before = -1;
  for (int const rank : {memory.rank(), (memory.rank() + 1) % memory.size()}) {
    char* const target = place(rank, Memory::allocated);
    auto const displacement = reinterpret_cast<MPI_Aint>(target);
    auto const add = [&](void* operand, void* result) {
      return MPIX_RMA_rmw(MPIX_RMW_SUM, operand, 1, MPI_LONG, result, rank, displacement, nullptr, &world,
                          nullptr);
    };
    auto const swap = [&](void* operand, void* operand2, void* result) {
      return MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, operand, 1, MPI_LONG, operand2, result, rank, displacement,
                           nullptr, &world, nullptr);
    };
    expect_host_works(rank, target, 40);
    for (long round = 0; round < 3; ++round) {
      EXPECT_EQ(add(&one, &before), MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_Complete(&world, rank), MPI_SUCCESS);
      EXPECT_EQ(before, 40 + round);
      expect_refused(add(device.at(), &before));
      expect_refused(add(&one, device.at()));
      expect_refused(swap(device.at(), &one, &before));
      expect_refused(swap(&one, device.at(), &before));
      expect_refused(swap(&one, &before, device.at()));
    }
  }
}

TEST_F(DeviceOrigin, CannotBeRegistered) {
  expect_refused(rma_register(device.at(), DevicePages::bytes));
  int flag = 1;
  EXPECT_EQ(rma_query(world, memory.rank(), device.at(), &flag, nullptr, nullptr), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  std::array<long, 8> host{};
  EXPECT_EQ(rma_register(host.data(), sizeof host), MPI_SUCCESS);
  EXPECT_EQ(rma_deregister(host.data(), sizeof host), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test

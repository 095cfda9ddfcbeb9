/// Hostile arguments of transfers, updates, registrations, allocations and other calls.
#include <sys/mman.h>

#include <climits>
#include <functional>
#include <random>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {

namespace {

class ArgumentAttacks : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Barrier(world);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class_);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class_);
  }
  int right() const { return (memory_.rank() + 1) % memory_.size(); }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  Memory memory_{4096};
  int address_class_ = 0;
  int transport_class_ = 0;
};

TEST_F(ArgumentAttacks, OverlappingLocalMemoryIsCopiedLikeMemmove) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    char* const own = memory_.own(kind);
    for (std::ptrdiff_t shift : {0, 1, 8, 63, 64, 100, 1000, -1, -8, -100, -1000}) {
      for (int bytes : {1, 7, 8, 64, 300, 1500}) {
        for (MPIX_RMA_Op op : {MPIX_RMA_PUT, MPIX_RMA_GET}) {
          std::vector<char> model(4096);
          for (std::size_t i = 0; i < model.size(); ++i)
            model[i] = own[i] = static_cast<char>(i * 7 + i / 256);
          char* const a = own + 1500;
          char* const b = a + shift;
          std::memmove(model.data() + 1500 + shift, model.data() + 1500, static_cast<std::size_t>(bytes));
          char* const origin = op == MPIX_RMA_PUT ? a : b;
          char* const target = op == MPIX_RMA_PUT ? b : a;
          EXPECT_EQ(transfer(op, origin, bytes, MPI_BYTE, memory_.rank(), target), MPI_SUCCESS);
          EXPECT_EQ(MPIX_RMA_Complete(&world, memory_.rank()), MPI_SUCCESS);
          // By cross-memory the kernel copies forwards: overlapping transfers have an undefined result.
          char const* const path = std::getenv("OMPI_MCA_osc_mpix_path");
          if (path != nullptr && std::strcmp(path, "cross_memory") == 0)
            std::memcpy(model.data() + (b - own), b, static_cast<std::size_t>(bytes));
          EXPECT_EQ(std::memcmp(own, model.data(), 4096), 0)
              << "kind " << kind << " shift " << shift << " bytes " << bytes << " op " << op;
        }
      }
    }
  }
}

TEST_F(ArgumentAttacks, ZeroElementsNeedNoMemory) {
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  for (MPIX_RMA_Op op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
    for (std::uint64_t set = 0; set < 16; ++set) {
      MPIX_RMA_Attributes chosen = attributes(set);
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(
          MPIX_RMA_xfer(op, nullptr, 0, MPI_INT, right(), nullptr, 0, MPI_INT, &request, &world, &chosen),
          MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_xfer(op, nullptr, INT_MAX, empty, right(), nullptr, INT_MAX, empty, nullptr, &world,
                              &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_xfer_c(op, nullptr, MPI_Count{1} << 40, empty, right(), nullptr, MPI_Count{1} << 40,
                                empty, nullptr, &world, &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_xfer(op, nullptr, 0, MPI_INT, right(), nullptr, 5, empty, nullptr, &world, &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_xfer(op, nullptr, 0, MPI_INT, MPI_PROC_NULL, nullptr, 0, MPI_INT, &request, &world,
                              &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
  }
  EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, nullptr, 0, MPI_INT, nullptr, right(), 0, nullptr, &world, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, nullptr, 0, MPI_INT, nullptr, nullptr, right(), 0, nullptr,
                          &world, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Type_free(&empty);
}

TEST_F(ArgumentAttacks, CountsBeyondMemoryAreRefusedOrFail) {
  long value = 0;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    char* const there = memory_.at(right(), kind);
    for (MPIX_RMA_Op op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
      for (MPI_Count count : {MPI_Count{1} << 60, MPI_Count{1} << 61, MPI_Count{LLONG_MAX},
                              MPI_Count{LLONG_MIN}, MPI_Count{-1}}) {
        int const code = MPIX_RMA_xfer_c(op, &value, count, MPI_LONG, right(), there, count, MPI_LONG,
                                         nullptr, &world, nullptr);
        EXPECT_NE(code, MPI_SUCCESS) << count;
      }
    }
    for (MPI_Count count : {MPI_Count{1} << 60, MPI_Count{1} << 61, MPI_Count{LLONG_MAX}, MPI_Count{-1}})
      EXPECT_NE(MPIX_RMA_rmw_c(MPIX_RMW_SUM, &value, count, MPI_LONG, nullptr, right(),
                               reinterpret_cast<MPI_Aint>(there), nullptr, &world, nullptr),
                MPI_SUCCESS)
          << count;
  }
  (void)MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
  // Such counts again, after a transfer that opens the fast path for known memory.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), memory_.at(right(), 0)), MPI_SUCCESS);
    EXPECT_NE(MPIX_RMA_xfer_c(MPIX_RMA_PUT, &value, MPI_Count{1} << 61, MPI_LONG, right(),
                              memory_.at(right(), 0), MPI_Count{1} << 61, MPI_LONG, nullptr, &world, nullptr),
              MPI_SUCCESS);
    EXPECT_NE(
        MPIX_RMA_xfer_c(MPIX_RMA_PUT, &value, (MPI_Count{1} << 61) + 1, MPI_LONG, right(),
                        memory_.at(right(), 0), (MPI_Count{1} << 61) + 1, MPI_LONG, nullptr, &world, nullptr),
        MPI_SUCCESS);
  }
  EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
}

TEST_F(ArgumentAttacks, AddressesAtTheEndsOfTheAddressSpaceAreErrors) {
  std::vector<char> value(65536);
  for (std::uintptr_t address :
       {std::uintptr_t{1}, std::uintptr_t{4096}, ~std::uintptr_t{0}, ~std::uintptr_t{7},
        std::uintptr_t{1} << 47, (std::uintptr_t{1} << 47) - 4096, (std::uintptr_t{1} << 63),
        std::uintptr_t{0xffffffffff600000}}) {
    for (int bytes : {1, 8, 4096, 65536}) {
      for (MPIX_RMA_Op op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
        int code = transfer(op, value.data(), bytes, MPI_UINT8_T, right(), reinterpret_cast<void*>(address));
        int const late = MPIX_RMA_Complete(&world, right());
        if (code == MPI_SUCCESS) code = late;
        EXPECT_EQ(class_of(code), address_class_)
            << std::hex << address << " " << bytes << " " << op << text_of(code);
      }
    }
    long one = 1;
    long before = 0;
    int code = MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, right(),
                            static_cast<MPI_Aint>(address & ~std::uintptr_t{7}), nullptr, &world, nullptr);
    int const late = MPIX_RMA_Complete(&world, right());
    if (code == MPI_SUCCESS) code = late;
    if (address >= 8) {
      EXPECT_EQ(class_of(code), address_class_) << std::hex << address << text_of(code);
    }
  }
}

TEST_F(ArgumentAttacks, RegistrationOfUnusualRangesIsRefusedOrWorks) {
  auto const wild = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_NE(rma_register(wild(4096), 4096), MPI_SUCCESS);
  EXPECT_NE(rma_register(wild(~std::uintptr_t{0} - 10), 4096), MPI_SUCCESS);
  EXPECT_NE(rma_register(wild(std::uintptr_t{1} << 63), 4096), MPI_SUCCESS);
  EXPECT_NE(rma_register(memory_.own(2), LLONG_MAX), MPI_SUCCESS);
  EXPECT_NE(rma_register(memory_.own(2), MPI_Aint{1} << 62), MPI_SUCCESS);
  EXPECT_NE(rma_register(memory_.own(2), LLONG_MIN), MPI_SUCCESS);
  EXPECT_NE(rma_register(memory_.own(0), MPI_Aint{1} << 40), MPI_SUCCESS);
  EXPECT_NE(rma_deregister(nullptr, 8), MPI_SUCCESS);
  EXPECT_NE(rma_deregister(memory_.own(2) + 1, 8), MPI_SUCCESS);
  EXPECT_NE(rma_free_local(nullptr), MPI_SUCCESS);
  EXPECT_NE(rma_free_local(memory_.own(2)), MPI_SUCCESS);
  EXPECT_NE(rma_free_local(memory_.own(0) + 8), MPI_SUCCESS);
  void* base = nullptr;
  for (MPI_Aint size : {MPI_Aint{LLONG_MAX}, MPI_Aint{LLONG_MAX} - 4096, MPI_Aint{1} << 62, MPI_Aint{1} << 50,
                        MPI_Aint{LLONG_MIN}, MPI_Aint{-1}})
    EXPECT_NE(rma_allocate_local(size, MPI_INFO_NULL, &base), MPI_SUCCESS) << size;
  std::vector<void*> bases(static_cast<std::size_t>(memory_.size()));
  for (MPI_Aint size : {MPI_Aint{LLONG_MAX}, MPI_Aint{1} << 62, MPI_Aint{-1}})
    EXPECT_NE(rma_allocate(memory_.rank() == 0 ? size : 64, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
  for (char const* alignment : {"0", "3", "-8", "99999999999999999999", "", "x", "8x", " 64", "2147483648"}) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (*alignment != 0)
      MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
    else
      MPI_Info_set(info, "mpi_minimum_memory_alignment", " ");
    int const code = rma_allocate_local(100, info, &base);
    if (code == MPI_SUCCESS) {
      EXPECT_STREQ(alignment, " 64");
      EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
    }
    MPI_Info_free(&info);
  }
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "1073741824");
  int const code = rma_allocate_local(100, info, &base);
  if (code == MPI_SUCCESS) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % (1u << 30), 0u);
    EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
  }
  MPI_Info_free(&info);
  MPI_Barrier(world);
}

TEST_F(ArgumentAttacks, InvalidHandlesGiveErrors) {
  long value = 0;
  void* const there = memory_.at(right(), 0);
  for (std::uintptr_t garbage : {std::uintptr_t{1}, std::uintptr_t{64}, ~std::uintptr_t{0},
                                 reinterpret_cast<std::uintptr_t>(&value)}) {
    auto comm = reinterpret_cast<MPI_Comm>(garbage);
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), there)), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), there, 1, MPI_LONG, nullptr,
                                     &comm, nullptr)),
              MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Complete(&comm, 0)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_RMA_Fence(&comm, 0)), MPI_ERR_COMM);
    int flag = 0;
    EXPECT_EQ(class_of(rma_query(comm, 0, there, &flag, nullptr, nullptr)), MPI_ERR_COMM);
    MPI_Count bytes = 0;
    EXPECT_EQ(class_of(MPIX_RMA_Statistics(comm, 0, MPIX_RMA_STATISTIC_BYTES, MPIX_RMA_PROTOCOL_ALL, &bytes)),
              MPI_ERR_COMM);
    MPI_Request request = reinterpret_cast<MPI_Request>(garbage);
    EXPECT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), there, 0, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    request = reinterpret_cast<MPI_Request>(garbage);
    EXPECT_EQ(class_of(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON)), MPI_ERR_REQUEST);
    void* found = nullptr;
    EXPECT_EQ(MPIX_Req_get_attr(&request, MPIX_RMA_KEY_ORDERING, &found, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
  }
}

TEST_F(ArgumentAttacks, InvalidRanksGiveErrors) {
  long value = 0;
  void* const there = memory_.at(right(), 0);
  for (int rank : {-1, -2, -100, -101, -102, memory_.size(), INT_MAX, INT_MIN}) {
    int const expected = rank == MPI_PROC_NULL ? MPI_SUCCESS : MPI_ERR_RANK;
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, rank, there)), expected) << rank;
    int flag = 0;
    EXPECT_EQ(class_of(rma_query(world, rank, there, &flag, nullptr, nullptr)), MPI_ERR_RANK) << rank;
    MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
    EXPECT_EQ(class_of(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, rank, MPI_LONG, world, nullptr, &plan)),
              expected)
        << rank;
    if (expected == MPI_SUCCESS) EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
  }
}

TEST_F(ArgumentAttacks, UndefinedOperationsAndAttributesGiveErrors) {
  long value = 0;
  void* const there = memory_.at(right(), 0);
  for (int op : {0, 4, -1, INT_MAX, INT_MIN}) {
    EXPECT_EQ(class_of(transfer(static_cast<MPIX_RMA_Op>(op), &value, 1, MPI_LONG, right(), there)),
              MPI_ERR_OP);
    EXPECT_EQ(
        class_of(MPIX_RMA_rmw(static_cast<MPIX_RMW_Op>(op <= 0 ? op : op + 1000), &value, 1, MPI_LONG,
                              nullptr, right(), reinterpret_cast<MPI_Aint>(there), nullptr, &world, nullptr)),
        MPI_ERR_OP);
    EXPECT_EQ(class_of(MPIX_RMA_rmw2(static_cast<MPIX_RMW2_Op>(op <= 0 ? op : op + 1000), &value, 1, MPI_LONG,
                                     &value, nullptr, right(), reinterpret_cast<MPI_Aint>(there), nullptr,
                                     &world, nullptr)),
              MPI_ERR_OP);
  }
  EXPECT_EQ(MPIX_RMA_Keyval(nullptr), MPI_KEYVAL_INVALID);
  EXPECT_EQ(MPIX_RMA_Keyval("MPIX_RMA_ATTR_ORDERING"), MPI_KEYVAL_INVALID);
  for (std::uint64_t set :
       {std::uint64_t{1} << 40, std::uint64_t{1} << 63, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right(), there, set)), MPI_ERR_ARG) << set;
    MPIX_RMA_Attributes chosen = attributes(set);
    EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_INC, nullptr, 1, MPI_LONG, nullptr, right(),
                                    reinterpret_cast<MPI_Aint>(there), nullptr, &world, &chosen)),
              MPI_ERR_ARG)
        << set;
  }
}

TEST_F(ArgumentAttacks, DatatypesMayBeFreedRightAfterTheCall) {
  std::mt19937_64 random(seed());
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < 200; ++round) {
      // A reused handle refers to another type: no state of the previous one may be used.
      int const stride = 1 + static_cast<int>(random() % 3);
      MPI_Datatype type = MPI_DATATYPE_NULL;
      if (random() % 2 == 0) {
        MPI_Type_vector(4, 1, stride, MPI_LONG, &type);
      } else {
        MPI_Type_contiguous(4, MPI_LONG, &type);
      }
      bool const contiguous = [&] {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        return extent == 32;
      }();
      MPI_Type_commit(&type);
      long values[16];
      long back[16] = {};
      for (int i = 0; i < 16; ++i) values[i] = static_cast<long>(random());
      auto* const there = memory_.at(right(), kind, 512);
      MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
      bool const binds = random() % 2 == 0;
      if (binds) {
        ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, type, right(), type, world, nullptr, &plan),
                  MPI_SUCCESS);
        MPI_Type_free(&type);
        ASSERT_EQ(MPIX_RMA_Plan_issue(plan, values, 1, there, 1, nullptr), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
      } else {
        ASSERT_EQ(
            MPIX_RMA_xfer(MPIX_RMA_PUT, values, 1, type, right(), there, 1, type, nullptr, &world, nullptr),
            MPI_SUCCESS);
        MPI_Type_free(&type);
      }
      ASSERT_EQ(MPIX_RMA_Complete(&world, right()), MPI_SUCCESS);
      ASSERT_EQ(transfer(MPIX_RMA_GET, back, 16, MPI_LONG, right(), there, MPIX_RMA_ATTR_BLOCKING),
                MPI_SUCCESS);
      for (int i = 0; i < 4; ++i) {
        int const at = contiguous ? i : i * stride;
        ASSERT_EQ(back[at], values[at]);
      }
    }
  }
}

}  // namespace
}  // namespace mpixrma::test

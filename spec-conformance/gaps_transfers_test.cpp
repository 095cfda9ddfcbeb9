/// Behaviour that the document leaves open: communicators, sizes, memory, notification.
#include <unistd.h>

#include "spec-conformance/support.hpp"
#include "tests/support/full_length.hpp"

namespace mpixrma::test {
namespace {

TEST_F(G, G_08_complete_covers_its_communicator_only) {
  fill(0);
  Duplicate busy;
  Duplicate idle;
  std::vector<char> values(bytes, 3);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, values.data(), bytes, MPI_CHAR, next_, there(Memory::plain),
                              bytes, MPI_CHAR, &request, &busy),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&idle, MPIX_ALL_RANKS), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Fence(&idle, MPIX_ALL_RANKS), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&busy, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(memory_.own(Memory::plain)[0], 3);
  EXPECT_TRUE(is_uniform(memory_.own(Memory::plain), bytes));
}

TEST_F(G, G_09_intercommunicator_addresses_its_remote_group) {
  if (size_ == 1) GTEST_SKIP() << "needs two ranks";
  fill(0);
  int const half = size_ / 2;
  int const side = rank_ < half ? 0 : 1;
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_split(world, side, rank_, &local);
  MPI_Intercomm_create(local, 0, world, side == 0 ? half : 0, 3, &inter);
  int remote = 0;
  int mine = 0;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &mine);
  ASSERT_EQ(rma_set_num_notify(inter, 1), MPI_SUCCESS);
  int const target = mine % remote;
  int const in_world = side == 0 ? half + target : target;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int value = 500 + rank_;
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
    chosen.notify_index = 0;
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, target, memory_.at(in_world, kind, 8 * mine), 1,
                            MPI_INT, nullptr, &inter, &chosen),
              MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&inter, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  int const origins = side == 0 ? size_ - half : half;
  int expected = 0;
  for (int origin = 0; origin < origins; ++origin) {
    int const targets = side == 0 ? half : size_ - half;
    if (origin % targets != mine) continue;
    ++expected;
    for (int kind = 0; kind < Memory::kinds; ++kind)
      EXPECT_EQ(own<int>(kind, 8 * origin), 500 + (side == 0 ? half + origin : origin)) << "kind " << kind;
  }
  MPI_Count count = -1;
  EXPECT_EQ(rma_get_notify_value(inter, 0, &count), MPI_SUCCESS);
  EXPECT_EQ(count, expected * Memory::kinds);
  long one = 1;
  MPIX_RMA_Attributes blocking = attributes(blocking_remote);
  ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, nullptr, target,
                         address_of(memory_.at(in_world, 0, 4096)), nullptr, &inter, &blocking),
            MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<long>(0, 4096), expected);
  MPI_Barrier(world);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

/// More than 2^32 bytes in a small buffer: the datatype's elements overlap.
TEST_F(G, G_10_totals_beyond_32_bits) {
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Datatype folded = MPI_DATATYPE_NULL;
  constexpr int block_bytes = 32768;
  MPI_Type_contiguous(block_bytes, MPI_CHAR, &block);
  MPI_Type_create_resized(block, 0, 0, &folded);
  MPI_Type_commit(&folded);
  constexpr int count = (1 << 16) * 2 + 3;  // 4 GiB and a little
  if (rank_ == 0) {
    std::vector<char> values(block_bytes);
    std::iota(values.begin(), values.end(), char{1});
    // A short run tests one kind of memory; runs with other numbers of ranks test the others.
    int const stride = shortened(Memory::kinds);
    for (int kind = size_ % stride; kind < Memory::kinds; kind += stride) {
      ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, values.data(), count, folded, next_, there(kind), count,
                                  folded, nullptr, &world),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
      std::vector<char> got(block_bytes);
      ASSERT_EQ(transfer(MPIX_RMA_GET, got.data(), block_bytes, MPI_CHAR, next_, there(kind),
                         MPIX_RMA_ATTR_BLOCKING),
                MPI_SUCCESS);
      EXPECT_EQ(got, values) << "kind " << kind;
    }
  }
  MPI_Barrier(world);
  MPI_Type_free(&folded);
  MPI_Type_free(&block);
}

TEST_F(G, G_11_accumulate_wants_one_predefined_type_on_both_sides) {
  ErrorsReturn const returned(world);
  fill(0);
  MPI_Datatype mixed = MPI_DATATYPE_NULL;
  int const lengths[] = {1, 1};
  MPI_Aint const places[] = {0, 8};
  MPI_Datatype const types[] = {MPI_DOUBLE, MPI_LONG};
  MPI_Type_create_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&mixed);
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  double values[] = {1.5, 2.5};
  auto const accumulate = [&](MPI_Datatype here, int count, MPI_Datatype at_target, int target_count) {
    return MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, values, count, here, next_, there(0), target_count,
                             at_target, nullptr, &world);
  };
  EXPECT_EQ(class_of(accumulate(mixed, 1, mixed, 1)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(accumulate(MPI_DOUBLE, 2, MPI_LONG, 2)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(accumulate(MPI_DOUBLE, 2, MPI_DOUBLE, 1)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(accumulate(MPI_LONG, 1, MPI_UNSIGNED_LONG, 1)), MPI_ERR_TYPE);
  // Two names of one representation.
  long three = 3;
  EXPECT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &three, 1, MPI_LONG, next_, there(0, 64), 1, MPI_INT64_T,
                              nullptr, &world),
            MPI_SUCCESS);
  EXPECT_EQ(accumulate(MPI_DOUBLE, 2, strided, 1), MPI_SUCCESS);
  EXPECT_EQ(accumulate(MPI_DOUBLE, 2, strided, 1), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<double>(0, 0), 3.0);
  EXPECT_EQ(own<double>(0, 24), 5.0);
  EXPECT_EQ(own<long>(0, 64), 3);
  MPI_Type_free(&mixed);
  MPI_Type_free(&strided);
}

TEST_F(G, G_12_freed_memory_is_inaccessible_to_every_origin) {
  ErrorsReturn const returned(world);
  int address_class = 0;
  int transport_class = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
  MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class);
  for (int round = 0; round < 5; ++round) {
    std::vector<void*> bases(static_cast<std::size_t>(size_));
    ASSERT_EQ(rma_allocate(1 << 20, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
    void* const target = bases[static_cast<std::size_t>(next_)];
    long value = 1;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next_, target, blocking_remote), MPI_SUCCESS);
    ASSERT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE})
      EXPECT_EQ(class_of(transfer(op, &value, 1, MPI_LONG, next_, target, blocking_remote)), address_class)
          << "operation " << op;
    MPI_Barrier(world);
  }
}

TEST_F(G, G_13_notifications_count_operations_after_data_arrival) {
  ErrorsReturn const returned(world);
  Duplicate comm;
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  int num = -1;
  EXPECT_EQ(rma_get_num_notify(comm, &num), MPI_SUCCESS);
  EXPECT_EQ(num, 0);
  ASSERT_EQ(rma_set_num_notify(comm, 3), MPI_SUCCESS);
  EXPECT_EQ(rma_get_num_notify(comm, &num), MPI_SUCCESS);
  EXPECT_EQ(num, 3);
  MPI_Count value = -1;
  constexpr int rounds = 20;
  for (int round = 1; round <= rounds; ++round) {
    fill(0);
    MPI_Request arrived = MPI_REQUEST_NULL;
    MPI_Count before = 0;
    ASSERT_EQ(rma_get_notify_value(comm, 1, &before), MPI_SUCCESS);
    ASSERT_EQ(rma_wait_notify_value(comm, 1, before + 2 * Memory::kinds, &arrived), MPI_SUCCESS);
    MPI_Barrier(world);
    std::vector<char> values(round % 2 == 0 ? 50000 : 100, static_cast<char>(round));
    auto const count = static_cast<int>(values.size());
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      MPIX_RMA_Attributes chosen =
          attributes(MPIX_RMA_ATTR_NOTIFY | (round % 3 == 0 ? MPIX_RMA_ATTR_ATOMICITY : 0));
      chosen.notify_index = 1;
      for (int part = 0; part < 2; ++part) {
        ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, values.data(), count / 2, MPI_CHAR, next_,
                                there(kind, part * count / 2), count / 2, MPI_CHAR, nullptr, &comm, &chosen),
                  MPI_SUCCESS);
      }
    }
    ASSERT_EQ(MPI_Wait(&arrived, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      ASSERT_EQ(memory_.own(kind)[count - 1], round) << "kind " << kind;
      ASSERT_TRUE(is_uniform(memory_.own(kind), static_cast<std::size_t>(count))) << "kind " << kind;
    }
    ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  EXPECT_EQ(rma_get_notify_value(comm, 0, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(rma_reset_notify_value(comm, 1, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 2 * Memory::kinds * rounds);
  EXPECT_EQ(rma_get_notify_value(comm, 1, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 0);
  MPI_Barrier(world);
}

/// By the communicator's attribute, for get and rmw too. A counter that does not exist is refused.
TEST_F(G, G_13_communicators_attribute_notifies_and_counters_exist) {
  ErrorsReturn const returned(world);
  Duplicate comm;
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  ASSERT_EQ(rma_set_num_notify(comm, 3), MPI_SUCCESS);
  fill(0);
  MPI_Barrier(world);
  MPI_Count value = -1;
  ASSERT_EQ(MPI_Comm_set_attr(comm.get(), MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(2)), MPI_SUCCESS);
  long got[Memory::kinds];
  long one = 1;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    ASSERT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_GET, &got[kind], 1, MPI_LONG, next_, there(kind), 1, MPI_LONG,
                                nullptr, &comm),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_rmw_req(MPIX_RMW_SUM, &one, 1, MPI_LONG, nullptr, next_, address_of(there(kind)),
                               nullptr, &comm),
              MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(rma_get_notify_value(comm, 2, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 2 * Memory::kinds);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
  chosen.notify_index = 3;
  long number = 1;
  EXPECT_EQ(class_of(MPIX_RMA_xfer(MPIX_RMA_PUT, &number, 1, MPI_LONG, next_, there(0), 1, MPI_LONG, nullptr,
                                   &comm, &chosen)),
            MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_get_notify_value(comm, 3, &value)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_set_num_notify(comm, rank_ == 0 ? -1 : 2)), MPI_ERR_ARG);
}

/// Returns the machine's memory in bytes.
MPI_Aint machine_bytes() {
  return static_cast<MPI_Aint>(::sysconf(_SC_PHYS_PAGES)) * static_cast<MPI_Aint>(::sysconf(_SC_PAGESIZE));
}

TEST_F(G, G_19_unavailable_memory_is_refused_at_all_ranks) {
  ErrorsReturn const returned(world);
  ErrorsReturn const returned_self(MPI_COMM_SELF);
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  for (MPI_Aint const bytes : {MPI_Aint{100} << 40, machine_bytes() * 4})
    EXPECT_EQ(class_of(rma_allocate(bytes, MPI_INFO_NULL, world, bases.data())), MPI_ERR_NO_MEM);
  // One rank requests too much.
  MPI_Aint const uneven = rank_ == size_ - 1 ? machine_bytes() * 4 : MPI_Aint{1} << 20;
  EXPECT_EQ(class_of(rma_allocate(uneven, MPI_INFO_NULL, world, bases.data())), MPI_ERR_NO_MEM);
  // The program continues.
  fill(0);
  std::vector<char> values(bytes, 5);
  EXPECT_EQ(transfer(MPIX_RMA_PUT, values.data(), bytes, MPI_CHAR, next_, there(Memory::allocated),
                     blocking_remote),
            MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(memory_.own(Memory::allocated)[0], 5);
  EXPECT_TRUE(is_uniform(memory_.own(Memory::allocated), bytes));
  // Untouched address space needs no memory.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpix_lazy_memory", "true");
  ASSERT_EQ(rma_allocate(machine_bytes() * 2, info, world, bases.data()), MPI_SUCCESS);
  ASSERT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
  MPI_Info_free(&info);
}

TEST_F(G, G_17_allocation_follows_info_keys) {
  ErrorsReturn const returned(world);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (char const* const alignment : {"128", "4096", "2097152"}) {
    MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
    std::vector<void*> bases(static_cast<std::size_t>(size_));
    ASSERT_EQ(rma_allocate(5000, info, world, bases.data()), MPI_SUCCESS);
    for (void* const base : bases)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % std::strtoul(alignment, nullptr, 10), 0u)
          << alignment;
    std::vector<char> values(5000, static_cast<char>(rank_));
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 5000, MPI_CHAR, next_,
                       bases[static_cast<std::size_t>(next_)], blocking_remote),
              MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(static_cast<char*>(bases[static_cast<std::size_t>(rank_)])[4999], static_cast<char>(previous_));
    ASSERT_EQ(rma_free(bases[static_cast<std::size_t>(rank_)], world), MPI_SUCCESS);
  }
  MPI_Info_set(info, "mpix_huge_pages", "true");
  void* base = nullptr;
  ASSERT_EQ(rma_allocate_local(3 << 20, info, &base), MPI_SUCCESS);
  std::memset(base, 1, 3 << 20);
  ASSERT_EQ(rma_free_local(base), MPI_SUCCESS);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "100");
  EXPECT_EQ(class_of(rma_allocate_local(64, info, &base)), MPI_ERR_INFO_VALUE);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "64");
  MPI_Info_set(info, "mpix_same_address", "true");
  std::vector<void*> same(static_cast<std::size_t>(size_));
  ASSERT_EQ(rma_allocate(64, info, world, same.data()), MPI_SUCCESS);
  EXPECT_EQ(std::ranges::count(same, same[0]), size_);
  ASSERT_EQ(rma_free(same[0], world), MPI_SUCCESS);
  MPI_Info_set(info, "mpix_same_address", "false");
  for (char const* const key : {"mpix_huge_pages", "mpix_lazy_memory"}) {
    MPI_Info_set(info, key, "maybe");
    EXPECT_EQ(class_of(rma_allocate_local(64, info, &base)), MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, key, "false");
  }
  MPI_Info_free(&info);
}

}  // namespace
}  // namespace mpixrma::test

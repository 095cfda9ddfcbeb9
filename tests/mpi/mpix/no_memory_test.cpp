/// Calls without enough memory: they return an error code, throw no exception, and leave the state valid.
#include <cstdlib>
#include <new>

#include "tests/support/mpix_fixture.hpp"

namespace {
std::size_t refuse_from = SIZE_MAX;  ///< allocations of at least so many bytes fail
}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = bytes < refuse_from ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mpixrma::test {
namespace {

class Refusal {
 public:
  explicit Refusal(std::size_t from) { refuse_from = from; }
  ~Refusal() { refuse_from = SIZE_MAX; }
  Refusal(Refusal const&) = delete;
  Refusal& operator=(Refusal const&) = delete;
};

/// Returns a type of blocks at irregular distances: its layout is a list.
MPI_Datatype irregular(int blocks) {
  std::vector<int> places(static_cast<std::size_t>(blocks));
  for (int i = 0; i < blocks; ++i) places[static_cast<std::size_t>(i)] = 3 * i + (i % 3 == 0 ? 1 : 0);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(blocks, 1, places.data(), MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

TEST(NoMemory, RefusesDatatypeUntilItCanBeFlattened) {
  ErrorsReturn const returned(world);
  constexpr int blocks = 5000;
  MPI_Datatype type = irregular(blocks);
  std::vector<int> values(3 * blocks + 3, 7);
  Memory memory(static_cast<MPI_Aint>(sizeof(int) * values.size()));
  int const next = (memory.rank() + 1) % memory.size();
  char* const target = memory.at(next, Memory::allocated);
  {
    Refusal const refusal(blocks);
    EXPECT_EQ(class_of(transfer(MPIX_RMA_PUT, values.data(), 1, type, next, target)), MPI_ERR_NO_MEM);
    EXPECT_EQ(class_of(MPIX_RMA_xfer_rma(MPIX_RMA_GET, values.data(), 1, type, next, target, 1, type, nullptr,
                                         &world)),
              MPI_ERR_NO_MEM);
    MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
    EXPECT_EQ(class_of(MPIX_RMA_Plan_create(MPIX_RMA_PUT, type, next, type, world, nullptr, &plan)),
              MPI_ERR_NO_MEM);
    EXPECT_EQ(plan, MPIX_RMA_PLAN_NULL);
    long one = 1;
    EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, type, nullptr, next,
                                    reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr)),
              MPI_ERR_NO_MEM);
  }
  EXPECT_EQ(transfer(MPIX_RMA_PUT, values.data(), 1, type, next, target), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
  MPI_Barrier(world);
  auto const* const own = reinterpret_cast<int const*>(memory.own(Memory::allocated));
  EXPECT_EQ(own[1], 7);
  EXPECT_EQ(own[0], 0);
  EXPECT_EQ(own[3 * (blocks - 1)], 0 == (blocks - 1) % 3 ? 0 : 7);
  MPI_Type_free(&type);
}

TEST(NoMemory, RefusesCommunicatorUntilItCanBeRecorded) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  {
    Refusal const refusal(64);
    EXPECT_EQ(class_of(MPIX_RMA_Complete(&comm, 0)), MPI_ERR_NO_MEM);
  }
  EXPECT_EQ(MPIX_RMA_Complete(&comm, 0), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace mpixrma::test

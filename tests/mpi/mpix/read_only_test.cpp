/// MPIX_RMW_NO_OP, an atomic read, on memory that its owner cannot write.
#include <sys/mman.h>

#include <complex>
#include <memory>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

/// Whether peers know the memory of ReadOnly.
enum class Known { registered, unknown };

/// Memory at every rank that no process can write, and its addresses at the other ranks. It holds a sequence
/// of elements that depends on the rank.
class ReadOnly {
 public:
  static constexpr std::size_t bytes = 1 << 19;

  explicit ReadOnly(Known known) : known_(known) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    base_ =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto const mine = reinterpret_cast<std::intptr_t>(base_);
    bases_.resize(static_cast<std::size_t>(size_));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, bases_.data(), sizeof mine, MPI_BYTE, world);
  }
  ~ReadOnly() {
    MPI_Barrier(world);
    deregister();
    munmap(base_, bytes);
  }
  ReadOnly(ReadOnly const&) = delete;
  ReadOnly& operator=(ReadOnly const&) = delete;

  template <typename T>
  static T element(int rank, std::size_t index) {
    return T(static_cast<T>(static_cast<int>((index * 7 + static_cast<std::size_t>(rank)) % 100)));
  }

  /// Writes the elements, and then makes the memory read-only. Collective.
  template <typename T>
  void fill() {
    MPI_Barrier(world);
    deregister();
    mprotect(base_, bytes, PROT_READ | PROT_WRITE);
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i)
      std::construct_at(reinterpret_cast<T*>(base_) + i, element<T>(rank_, i));
    mprotect(base_, bytes, PROT_READ);
    if (known_ == Known::registered) enroll();
    MPI_Barrier(world);
  }

  int next() const { return (rank_ + 1) % size_; }
  MPI_Aint at(int rank, std::size_t offset) const {
    return bases_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset);
  }

 private:
  void enroll() {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_access", "read");
    EXPECT_EQ(rma_register(base_, bytes, info), MPI_SUCCESS);
    MPI_Info_free(&info);
    registered_ = true;
  }
  void deregister() {
    if (registered_) {
      EXPECT_EQ(rma_deregister(base_, bytes), MPI_SUCCESS);
    }
    registered_ = false;
  }

  Known known_;
  bool registered_ = false;
  int rank_ = 0;
  int size_ = 0;
  char* base_ = nullptr;
  std::vector<std::intptr_t> bases_;
};

/// One NO_OP, completed by a request or by Complete.
int read_atomically(void* result, int count, MPI_Datatype type, int rank, MPI_Aint address,
                    std::uint64_t set) {
  MPIX_RMA_Attributes const chosen = attributes(set);
  if ((set & MPIX_RMA_ATTR_ORDERING) != 0) {
    int const code =
        MPIX_RMA_rmw(MPIX_RMW_NO_OP, nullptr, count, type, result, rank, address, nullptr, &world, &chosen);
    return code != MPI_SUCCESS ? code : MPIX_RMA_Complete(&world, rank);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  int const code = MPIX_RMA_rmw(MPIX_RMW_NO_OP, nullptr, count, type, result, rank, address, &request, &world,
                                set != 0 ? &chosen : nullptr);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

constexpr std::uint64_t attribute_sets[] = {0, MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_ATTR_ORDERING,
                                            MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION,
                                            MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ORDERING};

class ReadOnlyMemory : public ::testing::TestWithParam<Known> {
 protected:
  template <typename T>
  void expect_reads(MPI_Datatype type) {
    memory_.fill<T>();
    for (std::uint64_t const set : attribute_sets) {
      for (std::size_t const count : {std::size_t{1}, std::size_t{5}, std::size_t{600}, 120000 / sizeof(T)}) {
        std::size_t const first = 3;
        std::vector<T> got(count, T(111));
        EXPECT_EQ(read_atomically(got.data(), static_cast<int>(count), type, memory_.next(),
                                  memory_.at(memory_.next(), first * sizeof(T)), set),
                  MPI_SUCCESS)
            << count << " elements of " << sizeof(T) << " bytes, attributes " << set;
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_TRUE(got[i] == ReadOnly::element<T>(memory_.next(), first + i)) << i << " of " << count;
        EXPECT_EQ(read_atomically(nullptr, static_cast<int>(count), type, memory_.next(),
                                  memory_.at(memory_.next(), first * sizeof(T)), set),
                  MPI_SUCCESS);
      }
    }
  }

  ErrorsReturn returned_{world};
  ReadOnly memory_{GetParam()};
};

TEST_P(ReadOnlyMemory, NoOpReturnsIntegers) {
  expect_reads<std::int8_t>(MPI_INT8_T);
  expect_reads<std::uint16_t>(MPI_UINT16_T);
  expect_reads<int>(MPI_INT);
  expect_reads<long>(MPI_LONG);
}

TEST_P(ReadOnlyMemory, NoOpReturnsFloatingPointNumbers) {
  expect_reads<float>(MPI_FLOAT);
  expect_reads<double>(MPI_DOUBLE);
  expect_reads<long double>(MPI_LONG_DOUBLE);
  expect_reads<std::complex<float>>(MPI_C_FLOAT_COMPLEX);
  expect_reads<std::complex<double>>(MPI_C_DOUBLE_COMPLEX);
}

TEST_P(ReadOnlyMemory, AccumulateWithNoOpSucceeds) {
  memory_.fill<double>();
  std::vector<double> values(5000, 1);
  for (std::uint64_t const set : attribute_sets) {
    MPIX_RMA_Attributes chosen = attributes(set | MPIX_RMA_ATTR_ACCUMULATE_OP);
    chosen.accumulate_op = MPI_NO_OP;
    for (int const count : {1, 100, 5000}) {
      EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, values.data(), count, MPI_DOUBLE, memory_.next(),
                              reinterpret_cast<void*>(memory_.at(memory_.next(), 64)), count, MPI_DOUBLE,
                              nullptr, &world, &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_Complete(&world, memory_.next()), MPI_SUCCESS);
    }
  }
}

TEST_P(ReadOnlyMemory, OtherOperationsFail) {
  memory_.fill<long>();
  long const one = 1;
  for (MPIX_RMW_Op const op : {MPIX_RMW_SUM, MPIX_RMW_SWAP, MPIX_RMW_BOR}) {
    long before = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPIX_RMA_rmw(op, &one, 1, MPI_LONG, &before, memory_.next(), memory_.at(memory_.next(), 8),
                            &request, &world, nullptr);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_NE(code, MPI_SUCCESS) << "operation " << op;
  }
  long got = -1;
  EXPECT_EQ(read_atomically(&got, 1, MPI_LONG, memory_.next(), memory_.at(memory_.next(), 8), 0),
            MPI_SUCCESS);
  EXPECT_EQ(got, ReadOnly::element<long>(memory_.next(), 1));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReadOnlyMemory, ::testing::Values(Known::registered, Known::unknown),
                         [](auto const& kind) {
                           return kind.param == Known::registered ? "registered" : "unknown";
                         });

}  // namespace
}  // namespace mpixrma::test

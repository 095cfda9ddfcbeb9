/// Allocation, registration and release while others operate.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {

namespace {

class MemoryAttacks : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Barrier(world);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class_);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class_);
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
  }
  bool is_permitted(int code) const {
    int const error_class = class_of(code);
    return error_class == MPI_SUCCESS || error_class == address_class_;
  }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  int address_class_ = 0;
  int transport_class_ = 0;
  int rank_ = 0;
  int size_ = 0;
};

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

MPI_Aint bytes_of(Range range) { return static_cast<MPI_Aint>(range.end - range.begin); }

/// Returns the part of the union of overlapping ranges that contains `address`, or an empty range.
Range segment_of(std::vector<Range> ranges, std::uintptr_t address) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  Range now{0, 0};
  for (Range const& range : ranges) {
    if (range.begin < now.end) {
      now.end = std::max(now.end, range.end);
    } else {
      if (address >= now.begin && address < now.end) return now;
      now = range;
    }
  }
  return address >= now.begin && address < now.end ? now : Range{0, 0};
}

TEST_F(MemoryAttacks, OverlappingRegistrationsMatchModel) {
  std::mt19937_64 random(seed());
  constexpr std::size_t bytes = 1 << 16;
  std::vector<char> arena(bytes);
  auto const base = reinterpret_cast<std::uintptr_t>(arena.data());
  std::vector<Range> registered;
  for (int round = 0; round < 400; ++round) {
    if (registered.size() < 20 && random() % 3 != 0) {
      std::size_t const begin = random() % (bytes - 8) & ~std::size_t{random() % 2 == 0 ? 7u : 0u};
      std::size_t const length =
          1 + random() % std::min<std::size_t>(bytes - begin, random() % 2 == 0 ? 100 : 20000);
      ASSERT_EQ(rma_register(arena.data() + begin, static_cast<MPI_Aint>(length)), MPI_SUCCESS);
      registered.push_back({base + begin, base + begin + length});
    } else if (!registered.empty()) {
      auto const chosen = registered.begin() + static_cast<std::ptrdiff_t>(random() % registered.size());
      ASSERT_EQ(rma_deregister(reinterpret_cast<void*>(chosen->begin), bytes_of(*chosen)), MPI_SUCCESS);
      registered.erase(chosen);
    }
    for (int i = 0; i < 10; ++i) {
      std::uintptr_t const address = base + random() % bytes;
      int flag = -1;
      void* found = nullptr;
      MPI_Aint size = 0;
      ASSERT_EQ(rma_query(world, rank_, reinterpret_cast<void*>(address), &flag, &found, &size), MPI_SUCCESS);
      Range const expected = segment_of(registered, address);
      ASSERT_EQ(flag, expected.end != 0 ? 1 : 0) << round;
      if (flag != 0) {
        EXPECT_LE(reinterpret_cast<std::uintptr_t>(found), expected.begin);
        EXPECT_GE(reinterpret_cast<std::uintptr_t>(found) + static_cast<std::uintptr_t>(size), expected.end);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(found), expected.begin);
        ASSERT_EQ(static_cast<std::uintptr_t>(size), expected.end - expected.begin);
      }
    }
  }
  for (Range const& range : registered)
    EXPECT_EQ(rma_deregister(reinterpret_cast<void*>(range.begin), bytes_of(range)), MPI_SUCCESS);
}

TEST_F(MemoryAttacks, MemoryOfWindowsIsNotFreed) {
  long* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(8192, 1, MPI_INFO_NULL, world, &base, &window);
  EXPECT_EQ(class_of(rma_free_local(base)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_free(base, world)), MPI_ERR_ARG);
  long const value = rank_;
  int const right = (rank_ + 1) % size_;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(base[0], (rank_ + size_ - 1) % size_);
  MPI_Win_free(&window);
  void* from_mpi = nullptr;
  MPI_Alloc_mem(8192, MPI_INFO_NULL, &from_mpi);
  EXPECT_EQ(class_of(rma_free_local(from_mpi)), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Free_mem(from_mpi), MPI_SUCCESS);
}

TEST_F(MemoryAttacks, ConcurrentFreeSucceedsForOneThread) {
  for (int round = 0; round < 200; ++round) {
    void* base = nullptr;
    ASSERT_EQ(rma_allocate_local(5000, MPI_INFO_NULL, &base), MPI_SUCCESS);
    std::atomic<int> freed{0};
    auto const release = [&] { freed += rma_free_local(base) == MPI_SUCCESS ? 1 : 0; };
    std::thread other(release);
    release();
    other.join();
    EXPECT_EQ(freed.load(), 1);
  }
}

/// An address range that only the program's own mappings use: unmapped parts stay reserved.
class ReservedAddresses {
 public:
  explicit ReservedAddresses(std::size_t bytes)
      : bytes_(bytes),
        base_(static_cast<char*>(
            mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~ReservedAddresses() { munmap(base_, bytes_); }
  ReservedAddresses(ReservedAddresses const&) = delete;
  ReservedAddresses& operator=(ReservedAddresses const&) = delete;

  void* map(std::size_t offset, std::size_t bytes) {
    return mmap(base_ + offset, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0);
  }
  static void unmap(void* base, std::size_t bytes) {
    mmap(base, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }

 private:
  std::size_t bytes_;
  char* base_;
};

/// Blocks of rank 0 that it allocates, registers or only maps, and gives up again, in random order.
class ChangingBlocks {
 public:
  static constexpr int count = 8;
  static constexpr std::size_t bytes = 8192;

  explicit ChangingBlocks(std::mt19937_64& random) : random_(random) {}

  /// Gives up the block if it exists, or makes it anew and stores its address. Returns an error code.
  int change(int block, std::uint64_t* address) {
    if (blocks_[block].base != nullptr) return release(block);
    int const code = make(block, static_cast<Kind>(random_() % 3));
    __atomic_store_n(address, reinterpret_cast<std::uint64_t>(blocks_[block].base), __ATOMIC_RELEASE);
    return code;
  }
  int release(int block) {
    Block const old = std::exchange(blocks_[block], {});
    if (old.base == nullptr) return MPI_SUCCESS;
    if (old.kind == Kind::allocated) return rma_free_local(old.base);
    int const code = old.kind == Kind::registered ? rma_deregister(old.base, bytes) : MPI_SUCCESS;
    ReservedAddresses::unmap(old.base, bytes);
    return code;
  }

 private:
  enum class Kind : std::uint8_t { allocated, registered, mapped };
  struct Block {
    void* base = nullptr;
    Kind kind = Kind::mapped;
  };

  int make(int block, Kind kind) {
    void* base = nullptr;
    int code = MPI_SUCCESS;
    if (kind == Kind::allocated) {
      code = rma_allocate_local(bytes, MPI_INFO_NULL, &base);
    } else {
      base = reserved_.map(2 * static_cast<std::size_t>(block) * bytes, bytes);
      if (kind == Kind::registered) code = rma_register(base, bytes);
    }
    blocks_[block] = {base, kind};
    return code;
  }

  std::mt19937_64& random_;
  ReservedAddresses reserved_{2 * count * bytes};
  Block blocks_[count];
};

/// A random operation of any kind on a part of the block at `address` of rank 0, complete at the origin.
/// Returns its error code.
int operate_within(std::uint64_t address, std::vector<long>& values, std::mt19937_64& random) {
  auto* const there = reinterpret_cast<char*>(address) + 8 * (random() % 512);
  int const count = 1 + static_cast<int>(random() % 500);
  std::uint64_t const set = random() % 16;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Request* const asked = random() % 2 == 0 ? &request : nullptr;
  int code = MPI_SUCCESS;
  if (auto const kind = random() % 4; kind < 3) {
    constexpr MPIX_RMA_Op kinds[] = {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE};
    code = transfer(kinds[kind], values.data(), count, MPI_LONG, 0, there, set, asked);
  } else {
    long one = 1;
    code = MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, values.data(), 0, reinterpret_cast<MPI_Aint>(there),
                        asked, &world, nullptr);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    int const late = MPIX_RMA_Complete(&world, 0);  // `one` is in use until then
    if (code == MPI_SUCCESS) code = late;
  }
  int const waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : waited;
}

/// Rank 0 allocates and frees; the other ranks use addresses that may be stale.
TEST_F(MemoryAttacks, StaleAddressesFailOrAccessPresentMemory) {
  std::mt19937_64 random(seed() + static_cast<unsigned>(rank_));
  constexpr int blocks = ChangingBlocks::count;
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  ASSERT_EQ(rma_allocate(blocks * 8 + 64, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
  // The addresses of the blocks, and a word that ends the test.
  auto* const table = static_cast<std::uint64_t*>(bases[static_cast<std::size_t>(rank_)]);
  std::fill_n(table, blocks + 8, 0);
  MPI_Barrier(world);
  if (rank_ == 0) {
    ChangingBlocks changing(random);
    for (int round = 0; round < 3000; ++round) {
      auto const block = static_cast<int>(random() % blocks);
      ASSERT_EQ(changing.change(block, &table[block]), MPI_SUCCESS);
    }
    __atomic_store_n(&table[blocks], 1, __ATOMIC_RELEASE);
    MPI_Barrier(world);
    for (int block = 0; block < blocks; ++block) EXPECT_EQ(changing.release(block), MPI_SUCCESS);
  } else {
    std::vector<long> values(1024);
    long operations = 0;
    long failures = 0;
    for (std::uint64_t addresses[blocks + 1] = {}; addresses[blocks] == 0 || operations < 100;) {
      ASSERT_EQ(
          transfer(MPIX_RMA_GET, addresses, blocks + 1, MPI_UINT64_T, 0, bases[0], MPIX_RMA_ATTR_BLOCKING),
          MPI_SUCCESS);
      for (std::uint64_t const address : addresses) {
        if (address <= 1) continue;
        int const code = operate_within(address, values, random);
        ASSERT_TRUE(is_permitted(code)) << text_of(code);
        failures += code != MPI_SUCCESS;
        ++operations;
      }
      int const late = MPIX_RMA_Complete(&world, 0);
      ASSERT_TRUE(is_permitted(late)) << text_of(late);
    }
    if (rank_ == 1) std::printf("%ld of %ld operations failed\n", failures, operations);
    MPI_Barrier(world);
  }
  EXPECT_EQ(rma_free(table, world), MPI_SUCCESS);
}

/// Memory whose protection changes while others put, get and accumulate.
TEST_F(MemoryAttacks, ProtectionsMayChangeDuringOperations) {
  std::mt19937_64 random(seed() + static_cast<unsigned>(rank_));
  constexpr std::size_t bytes = 1 << 16;
  void* const mine = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool const registers = rank_ % 2 == 0;
  if (registers) {
    ASSERT_EQ(rma_register(mine, bytes), MPI_SUCCESS);
  }
  std::vector<std::intptr_t> all(static_cast<std::size_t>(size_));
  auto const own = reinterpret_cast<std::intptr_t>(mine);
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, world);
  std::vector<char> values(bytes);
  int const right = (rank_ + 1) % size_;
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    int const protections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
    for (int i = 0; !stop.load(); ++i) {
      mprotect(static_cast<char*>(mine) + 4096 * (i % 4), bytes / 2, protections[i % 3]);
      std::this_thread::yield();
    }
    mprotect(mine, bytes, PROT_READ | PROT_WRITE);
  });
  for (int round = 0; round < 600; ++round) {
    auto const offset = static_cast<std::ptrdiff_t>(random() % (bytes / 2)) & ~std::ptrdiff_t{7};
    auto* const there = reinterpret_cast<char*>(all[static_cast<std::size_t>(right)]) + offset;
    int const count = static_cast<int>(8 + random() % (random() % 2 == 0 ? 64 : bytes / 2 - 8));
    std::uint64_t const set = random() % 16;
    int const op = 1 + static_cast<int>(random() % 3);
    int const code =
        transfer(static_cast<MPIX_RMA_Op>(op), values.data(), count, MPI_UINT8_T, right, there, set);
    int const late = MPIX_RMA_Complete(&world, right);
    ASSERT_TRUE(is_permitted(code)) << text_of(code);
    ASSERT_TRUE(is_permitted(late)) << text_of(late);
  }
  MPI_Barrier(world);
  stop.store(true);
  changes.join();
  MPI_Barrier(world);
  // Afterwards transfers succeed again.
  long value = 4711 + rank_;
  long back = 0;
  auto* const there = reinterpret_cast<char*>(all[static_cast<std::size_t>(right)]);
  EXPECT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right, there), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, right), MPI_SUCCESS);
  EXPECT_EQ(transfer(MPIX_RMA_GET, &back, 1, MPI_LONG, right, there, MPIX_RMA_ATTR_BLOCKING), MPI_SUCCESS);
  EXPECT_EQ(back, value);
  MPI_Barrier(world);
  if (registers) {
    EXPECT_EQ(rma_deregister(mine, bytes), MPI_SUCCESS);
  }
  munmap(mine, bytes);
}

}  // namespace
}  // namespace mpixrma::test

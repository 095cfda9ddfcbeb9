/// Put and get of blocks from buffers as programs have them: from malloc, and at several offsets in a page,
/// to an allocated window. The same copies by plain memcpy with `memcpy`.
///
/// usage: bench_copies [memcpy]    (2 ranks)
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most = 16u << 20;
constexpr int target = 1;

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

/// A buffer of the origin.
class Buffer {
 public:
  /// `offset` in a page; -1: where malloc returns it.
  Buffer(int offset, std::size_t bytes)
      : memory_(offset < 0 ? std::malloc(bytes) : std::aligned_alloc(page, bytes + 2 * page)),
        begin_(static_cast<char*>(memory_.get()) + std::max(offset, 0)) {
    if (memory_ == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    for (std::size_t i = 0; i < bytes; ++i) begin_[i] = static_cast<char>(i * 7 + i / 4096);
  }
  char* get() const noexcept { return begin_; }

 private:
  std::unique_ptr<void, Free> memory_;
  char* begin_;
};

/// Window operations with a flush.
class WindowCopies {
 public:
  WindowCopies() {
    char* mine = nullptr;
    MPI_Win_allocate(most, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window_);
    MPI_Win_lock_all(0, window_);
  }
  ~WindowCopies() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  WindowCopies(WindowCopies const&) = delete;
  WindowCopies& operator=(WindowCopies const&) = delete;

  void put(char const* from, int bytes) const {
    MPI_Put(from, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
  }
  void get(char* to, int bytes) const {
    MPI_Get(to, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

/// memcpy to and from the memory of the other process.
class PlainCopies {
 public:
  PlainCopies() {
    char* mine = nullptr;
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_allocate_shared(most + page, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window_);
    MPI_Win_shared_query(window_, target, &size, &unit, &memory_);
    memory_ += -reinterpret_cast<std::uintptr_t>(memory_) % page;
  }
  ~PlainCopies() { MPI_Win_free(&window_); }
  PlainCopies(PlainCopies const&) = delete;
  PlainCopies& operator=(PlainCopies const&) = delete;

  void put(char const* from, int bytes) const { std::memcpy(memory_, from, static_cast<std::size_t>(bytes)); }
  void get(char* to, int bytes) const { std::memcpy(to, memory_, static_cast<std::size_t>(bytes)); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  char* memory_ = nullptr;
};

template <typename Copies>
void measure_buffer(Copies const& copies, std::string const& label, int offset) {
  std::string const name = offset < 0 ? "malloc" : "offset" + std::to_string(offset);
  for (std::size_t const size : {4096u, 16384u, 65536u, 262144u, 1u << 20, 2u << 20, 16u << 20}) {
    Buffer const buffer(offset, size);
    std::vector<char> const expected(buffer.get(), buffer.get() + size);
    auto const bytes = static_cast<int>(size);
    bench::Case const put{"copies", label, "put", name, 1, size};
    bench::Case const get{"copies", label, "get", name, 1, size};
    bench::measure(put, [&] { copies.put(buffer.get(), bytes); });
    if (bench::rank() == 0) {
      copies.put(buffer.get(), bytes);
      std::memset(buffer.get(), 0, size);
    }
    bench::measure(get, [&] { copies.get(buffer.get(), bytes); });
    if (bench::rank() == 0) {
      copies.get(buffer.get(), bytes);
      bench::require(std::memcmp(buffer.get(), expected.data(), size) == 0, get);
    }
  }
}

template <typename Copies>
void measure_all(std::string const& label) {
  Copies const copies;
  for (int const offset : {-1, 0, 16, 64, 1040, 4080}) measure_buffer(copies, label, offset);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_copies [memcpy]");
  if (bench::has_argument(argc, argv, "memcpy"))
    measure_all<PlainCopies>("memcpy");
  else
    measure_all<WindowCopies>(bench::label_or("window"));
  MPI_Finalize();
  return 0;
}

/// Operations on sparse memory allocate no more of it than they access.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <vector>

#include "engine/runtime/engine.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/resident.hpp"

namespace mpixrma::engine {
namespace {

class SparseMemoryPaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, SparseMemoryPaths, every_path(), path_name);

constexpr std::size_t sparse_bytes = std::size_t{1} << 30;
constexpr std::size_t rows = 16;
constexpr std::size_t row = 64;

TEST_P(SparseMemoryPaths, DistantRowsAllocateNoPagesBetweenThem) {
  run_job(2, configure, [](Rank& rank) {
    void* memory = nullptr;
    if (rank.rank() == 1) {
      memory = ::mmap(nullptr, sparse_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      ASSERT_NE(memory, MAP_FAILED);
      (void)::madvise(memory, sparse_bytes, MADV_NOHUGEPAGE);  // kernels without huge pages do not support it
      rank.publish(0, memory);
    }
    rank.barrier();
    if (rank.rank() == 0) {
      Dimension const apart[] = {{rows, sparse_bytes / rows}};
      std::vector<std::int64_t> out(rows * row / sizeof(std::int64_t));
      std::iota(out.begin(), out.end(), 3);
      auto const move = [&](OpKind direction, std::vector<std::int64_t>& data) {
        RmaOp transfer;
        transfer.kind = direction;
        transfer.origin = reinterpret_cast<std::byte*>(data.data());
        transfer.origin_layout = Layout::contiguous(rows * row);
        transfer.target = rank.published(1, 0);
        transfer.target_layout = {row, apart, {}};
        return run(rank.engine(), rank.peer(1), transfer);
      };
      EXPECT_EQ(move(OpKind::put, out), Status::ok);
      std::vector<std::int64_t> in(out.size());
      EXPECT_EQ(move(OpKind::get, in), Status::ok);
      EXPECT_EQ(in, out);
      RmaOp sum = contiguous(ReduceOp::sum, ElementType::int64, out.data(), rank.published(1, 0), rows * row);
      sum.target_layout = {row, apart, {}};
      EXPECT_EQ(run(rank.engine(), rank.peer(1), sum), Status::ok);
      EXPECT_EQ(move(OpKind::get, in), Status::ok);
      for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], 2 * out[i]) << i;
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_LE(test::resident_pages(memory, sparse_bytes), 2 * rows);
      EXPECT_EQ(::munmap(memory, sparse_bytes), 0);
    }
  });
}

}  // namespace
}  // namespace mpixrma::engine

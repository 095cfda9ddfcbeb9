/// Batched small operations mixed with others, by several origins; a model predicts the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "tests/engine/net/batching.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine {
namespace {

class BatchingAtRandom : public Batching {};
INSTANTIATE_TEST_SUITE_P(Sizes, BatchingAtRandom, batch_cases, name_of_case);

/// Operations of one process on all: ordered puts and gets of cells that only it writes, and sums on counters
/// that all processes share.
class Mixture {
 public:
  static constexpr std::size_t cells = 64;
  static constexpr std::size_t counters = 8;
  static constexpr std::size_t cell_bytes = 64;
  static constexpr std::size_t large_bytes = 20000;
  static constexpr std::size_t own_bytes = cells * cell_bytes + large_bytes;
  static constexpr std::size_t shared_bytes = counters * 8 * 2;

  Mixture(Rank& rank, std::uint64_t seed) : rank_(rank), random_(seed + static_cast<unsigned>(rank.rank())) {
    std::size_t const bytes = shared_bytes + own_bytes * static_cast<std::size_t>(rank.size());
    EXPECT_EQ(rank.engine().memory.allocate(bytes, &memory_), Status::ok);
    std::memset(memory_, 0, bytes);
    rank.publish(memory_slot, memory_);
    rank.barrier();
    models_.resize(static_cast<std::size_t>(rank.size()), std::vector<unsigned char>(own_bytes));
    sums_.resize(static_cast<std::size_t>(rank.size()) * counters);
  }

  void step() {
    int const to = static_cast<int>(below(static_cast<std::size_t>(rank_.size())));
    switch (below(10)) {
      case 0: return large(to);
      case 1: return fetch(to);
      case 2: return get(to);
      case 3: return add_atomically(to);
      case 4:
        return below(4) == 0 ? rank_.engine().order.fence(rank_.peer(to), UINT64_MAX)
                             : rank_.engine().order.complete(rank_.peer(to), UINT64_MAX);
      case 5:
      case 6: return add(to);
      default: return put(to);
    }
  }

  void finish() {
    for (int to = 0; to < rank_.size(); ++to) rank_.engine().order.complete(rank_.peer(to), UINT64_MAX);
    check_gets();
    for (int to = 0; to < rank_.size(); ++to) {
      for (std::size_t i = 0; i < counters; ++i)
        rank_.publish(2 + static_cast<int>(i), static_cast<std::uint64_t>(sums_[index(to, i)]));
      rank_.barrier();
      if (to == rank_.rank()) check_sums();
      rank_.barrier();
    }
    for (int to = 0; to < rank_.size(); ++to) {
      std::vector<unsigned char> back(own_bytes);
      EXPECT_EQ(
          run(rank_.engine(), rank_.peer(to), contiguous(OpKind::get, back.data(), own(to, 0), own_bytes)),
          Status::ok);
      EXPECT_EQ(back, models_[static_cast<std::size_t>(to)]) << "at " << to << " of " << rank_.rank();
    }
    rank_.barrier();
  }

 private:
  struct Got {
    std::vector<unsigned char> bytes;
    std::vector<unsigned char> expected;
  };

  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::size_t index(int to, std::size_t counter) const {
    return static_cast<std::size_t>(to) * counters + counter;
  }
  RemoteAddress counter(int to, std::size_t which) const {
    return rank_.published(to, memory_slot) + which * 8;
  }
  /// Returns the address of byte `offset` of the memory at rank `to` that only this process writes.
  RemoteAddress own(int to, std::size_t offset) const {
    return rank_.published(to, memory_slot) + shared_bytes +
           own_bytes * static_cast<std::size_t>(rank_.rank()) + offset;
  }
  void issue(int to, auto const& operation) {
    EXPECT_EQ(rank_.engine().issue(rank_.peer(to), operation).status, Status::ok);
  }

  /// Puts some rows of a cell.
  void put(int to) {
    std::size_t const cell = below(cells) * cell_bytes;
    unsigned char data[cell_bytes];
    for (unsigned char& value : data) value = static_cast<unsigned char>(random_());
    std::size_t const rows = 1 + below(4);
    Dimension const there[] = {{rows, 16}};
    RmaOp put = contiguous(OpKind::put, keep(data), own(to, cell), 8 * rows);
    put.target_layout = {8, there, {}};
    put.flags = OpFlags::ordered;
    issue(to, put);
    for (std::size_t row = 0; row < rows; ++row) std::memcpy(model(to) + cell + 16 * row, data + 8 * row, 8);
  }
  void large(int to) {
    std::vector<unsigned char> data(1 + below(large_bytes), static_cast<unsigned char>(random_()));
    RmaOp put = contiguous(OpKind::put, data.data(), own(to, cells * cell_bytes), data.size());
    put.flags = OpFlags::ordered;
    issue(to, put);
    rank_.engine().order.complete_local(rank_.peer(to), UINT64_MAX);
    std::copy(data.begin(), data.end(), model(to) + cells * cell_bytes);
  }
  void get(int to) {
    std::size_t const cell = below(cells) * cell_bytes;
    unsigned char const* const now = model(to) + cell;
    Got& got = gets_.emplace_back(Got{std::vector<unsigned char>(cell_bytes), {now, now + cell_bytes}});
    RmaOp get = contiguous(OpKind::get, got.bytes.data(), own(to, cell), cell_bytes);
    get.flags = OpFlags::ordered;
    issue(to, get);
    if (gets_.size() < 100) return;
    for (int rank = 0; rank < rank_.size(); ++rank)
      rank_.engine().order.complete(rank_.peer(rank), UINT64_MAX);
    check_gets();
  }
  void check_gets() {
    for (Got const& got : gets_) EXPECT_EQ(got.bytes, got.expected);
    gets_.clear();
    kept_.clear();
  }
  /// Returns a copy, which lives until all operations are complete.
  std::byte* keep(auto const& data) {
    static_assert(sizeof data == cell_bytes);
    return static_cast<std::byte*>(std::memcpy(kept_.emplace_back().data(), &data, sizeof data));
  }
  /// Adds to the counters as one array.
  void add(int to) {
    std::int64_t addends[counters];
    for (std::size_t i = 0; i < counters; ++i)
      sums_[index(to, i)] += addends[i] = static_cast<std::int64_t>(below(100));
    issue(to, contiguous(ReduceOp::sum, ElementType::int64, keep(addends), counter(to, 0), sizeof addends));
  }
  void add_atomically(int to) {
    std::size_t const which = below(counters);
    std::int64_t const addend = 1;
    RmaOp add = contiguous(ReduceOp::sum, ElementType::int64, &addend, counter(to, which), 8);
    add.flags = OpFlags::atomic;
    Waiter waiter;
    add.completion = &waiter;
    Issued const issued = rank_.engine().issue(rank_.peer(to), add);
    EXPECT_EQ(issued.status, Status::ok);
    if (!issued.complete) rank_.engine().waits.until(rank_.peer(to), [&] { return waiter.complete.load(); });
    sums_[index(to, which)] += addend;
  }
  void fetch(int to) {
    std::size_t const which = below(counters);
    std::int64_t const addend = 1 + static_cast<std::int64_t>(below(5));
    std::int64_t before = -1;
    RmaOp const add = contiguous(ReduceOp::sum, ElementType::int64, &addend, counter(to, which), 8, &before);
    EXPECT_EQ(run(rank_.engine(), rank_.peer(to), add), Status::ok);
    EXPECT_GE(before, least_[index(to, which)]) << "it only grows";
    least_[index(to, which)] = before + addend;
    sums_[index(to, which)] += addend;
  }
  void check_sums() {
    for (std::size_t i = 0; i < counters; ++i) {
      std::int64_t expected = 0;
      for (int rank = 0; rank < rank_.size(); ++rank)
        expected += static_cast<std::int64_t>(rank_.published(rank, 2 + static_cast<int>(i)));
      EXPECT_EQ(static_cast<std::int64_t*>(memory_)[i], expected) << "counter " << i;
    }
  }
  unsigned char* model(int to) { return models_[static_cast<std::size_t>(to)].data(); }

  Rank& rank_;
  std::mt19937_64 random_;
  void* memory_ = nullptr;
  std::vector<std::vector<unsigned char>> models_;
  std::vector<std::int64_t> sums_;
  std::array<std::int64_t, test::max_ranks * counters> least_{};
  std::deque<Got> gets_;
  std::deque<std::array<std::byte, cell_bytes>> kept_;
};

TEST_P(BatchingAtRandom, RandomOperationsOfSeveralOriginsMatchModel) {
  std::uint64_t const seed = test::seed();
  run_job(3, messages, [seed](Rank& rank) {
    Mixture mixture(rank, seed);
    int const steps = 20000 / (test::slowness * test::shortened(2));
    for (int i = 0; i < steps; ++i) mixture.step();
    mixture.finish();
    std::uint64_t const in_batches = rank.engine().traffic.statistics().requests_in_batches;
    EXPECT_EQ(in_batches != 0, batches());
  });
}

}  // namespace
}  // namespace mpixrma::engine

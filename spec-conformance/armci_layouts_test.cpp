/// ARMCI 1.1 (A): the formats of non-contiguous data, in shapes that the document names.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "spec-conformance/armci_support.hpp"

namespace conformance {
namespace {

/// The upper triangle of an 8 x 8 block of A[10][12], which goes to B[16][20]: rows of 8, 7, ... 1 elements,
/// each a set of its own, in one operation.
class Triangle {
 public:
  static constexpr int rows = 8;
  static constexpr std::ptrdiff_t from(int i, int j) { return (1 + i) * 12 + 2 + j; }
  static constexpr std::ptrdiff_t to(int i, int j) { return ((5 + i) * 20 + 7 + j) * 8; }

  enum class Way { put, get };
  Triangle(double* a, char* b, Way way) {
    for (int i = 0; i < rows; ++i) {
      auto const row = static_cast<std::size_t>(i);
      here_[row] = a + from(i, i);
      there_[row] = b + to(i, i);
      bool const puts = way == Way::put;
      sets_[row] = {puts ? &here_[row] : &there_[row], puts ? &there_[row] : &here_[row], 8 * (rows - i), 1};
    }
  }
  armci_giov_t* sets() { return sets_; }

 private:
  void* here_[rows];
  void* there_[rows];
  armci_giov_t sets_[rows];
};

TEST_F(Armci, A_05_triangular_section_moves_in_one_operation) {
  std::vector<double> a(10 * 12);
  std::iota(a.begin(), a.end(), 1 + 1000.0 * me_);
  Triangle put(a.data(), at(next_), Triangle::Way::put);
  double half = 0.5;
  EXPECT_EQ(ARMCI_PutV(put.sets(), Triangle::rows, next_), 0);
  EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_DBL, &half, put.sets(), Triangle::rows, next_), 0);
  ARMCI_Barrier();
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 20; ++x) {
      int const i = y - 5;
      int const j = x - 7;
      bool const inside = i >= 0 && j >= i && j < Triangle::rows;
      double const value = inside ? 1 + 1000.0 * before_ + static_cast<double>(Triangle::from(i, j)) : 0;
      EXPECT_EQ(own<double>((y * 20 + x) * 8), 1.5 * value) << y << " " << x;
    }
  }
  std::vector<double> back(a.size(), -1);
  Triangle get(back.data(), at(next_), Triangle::Way::get);
  EXPECT_EQ(ARMCI_GetV(get.sets(), Triangle::rows, next_), 0);
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 12; ++j) {
      bool const inside = i >= 1 && j - 2 >= i - 1 && j < 2 + Triangle::rows && i - 1 < Triangle::rows;
      auto const index = static_cast<std::size_t>(i * 12 + j);
      EXPECT_EQ(back[index], inside ? 1.5 * a[index] : -1) << i << " " << j;
    }
  }
}

/// One side of a strided transfer, with the place of its first byte.
struct Side {
  std::vector<int> strides;
  std::ptrdiff_t first = 0;

  /// Returns the offset of a block, in the numbering of Algorithm 1 of ARMCI over MPI (P).
  std::ptrdiff_t place(std::vector<int> const& count, int block) const {
    std::ptrdiff_t offset = first;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      offset += block % count[i + 1] * std::ptrdiff_t{strides[i]};
      block /= count[i + 1];
    }
    return offset;
  }
};

class ArmciStrided : public Armci {
 protected:
  static constexpr std::size_t local_bytes = 1 << 14;

  static std::vector<char> values_of(int process) {
    std::vector<char> values(local_bytes);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<char>(i * 7 + i / 256 + 31u * static_cast<unsigned>(process) + 1);
    return values;
  }

  void copies(char* to, Side const& to_side, char const* from, Side const& from_side) const {
    int const blocks = std::accumulate(count_.begin() + 1, count_.end(), 1, std::multiplies<>());
    for (int block = 0; block < blocks; ++block)
      std::memcpy(to + to_side.place(count_, block), from + from_side.place(count_, block),
                  static_cast<std::size_t>(count_[0]));
  }

  /// Puts a section of local memory to the next process, and checks all of this process's memory, to which
  /// the previous process has put, and what a get brings back.
  void expect_moves(std::vector<int> const& count, Side local, Side remote) {
    count_ = count;
    int const levels = static_cast<int>(local.strides.size());
    std::vector<char> source = values_of(me_);
    EXPECT_EQ(ARMCI_PutS(&source[static_cast<std::size_t>(local.first)], local.strides.data(),
                         at(next_, remote.first), remote.strides.data(), count_.data(), levels, next_),
              0);
    ARMCI_Barrier();
    std::vector<char> expected(bytes);
    copies(expected.data(), remote, values_of(before_).data(), local);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mine())) << levels << " levels";
    std::vector<char> back(local_bytes);
    std::vector<char> wanted(local_bytes);
    EXPECT_EQ(ARMCI_GetS(at(next_, remote.first), remote.strides.data(),
                         &back[static_cast<std::size_t>(local.first)], local.strides.data(), count_.data(),
                         levels, next_),
              0);
    copies(wanted.data(), local, source.data(), local);
    EXPECT_EQ(back, wanted) << levels << " levels";
    ARMCI_Barrier();
    std::memset(mine(), 0, bytes);
    ARMCI_Barrier();
  }

  std::vector<int> count_;
};

TEST_F(ArmciStrided, A_06_sections_have_up_to_eight_levels) {
  for (std::size_t levels = 1; levels <= 8; ++levels) {
    std::vector<int> count(levels + 1, 2);
    count[0] = 16;
    count[1] = 3;
    Side local{std::vector<int>(levels, 24), 40};
    Side remote{std::vector<int>(levels, 24), 8};
    for (std::size_t i = 1; i < levels; ++i) {
      local.strides[i] = local.strides[i - 1] * count[i];
      remote.strides[i] = remote.strides[i - 1] * (count[i] + 1);
    }
    expect_moves(count, local, remote);
  }
}

TEST_F(ArmciStrided, A_06_strides_may_be_negative) {
  expect_moves({8, 5}, {{-32}, 1024}, {{16}, 64});
  expect_moves({8, 5}, {{16}, 64}, {{-32}, 1024});
  expect_moves({8, 5}, {{-16}, 1024}, {{-8}, 1024});
  expect_moves({16, 3, 4}, {{24, -200}, 2000}, {{-32, 160}, 500});
  expect_moves({16, 3, 2, 3}, {{-24, 100, -1000}, 8000}, {{32, -128, 4096}, 2048});
}

TEST_F(ArmciStrided, A_06_stride_of_zero_at_the_source_repeats_a_row) {
  double row[] = {1.0 + me_, 2.0 + me_, 3.0 + me_};
  int zero = 0;
  int stride = 40;
  int count[] = {24, 6};
  double two = 2;
  EXPECT_EQ(ARMCI_PutS(row, &zero, at(next_), &stride, count, 1, next_), 0);
  EXPECT_EQ(ARMCI_AccS(ARMCI_ACC_DBL, &two, row, &zero, at(next_), &stride, count, 1, next_), 0);
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  EXPECT_EQ(ARMCI_NbPutS(row, &zero, at(next_, 4096), &stride, count, 1, next_, &handle), 0);
  EXPECT_EQ(ARMCI_Wait(&handle), 0);
  ARMCI_Barrier();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(own<double>(i * 40 + j * 8), j < 3 ? 3 * (1.0 + j + before_) : 0) << i << " " << j;
      EXPECT_EQ(own<double>(4096 + i * 40 + j * 8), j < 3 ? 1.0 + j + before_ : 0) << i << " " << j;
    }
  }
  // A row of remote memory, and rows that repeat as a whole.
  std::vector<double> rows(18, -1);
  int packed = 24;
  EXPECT_EQ(ARMCI_GetS(at(next_), &zero, rows.data(), &packed, count, 1, next_), 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i], 3 * (1.0 + static_cast<double>(i % 3) + me_));
  int repeated[] = {40, 0};
  int both[] = {24, 72};
  int three[] = {24, 3, 2};
  std::fill(rows.begin(), rows.end(), -1);
  EXPECT_EQ(ARMCI_GetS(at(next_), repeated, rows.data(), both, three, 2, next_), 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i], 3 * (1.0 + static_cast<double>(i % 3) + me_));
  // A destination that repeats has no defined contents.
  EXPECT_NE(ARMCI_PutS(row, &packed, at(next_), &zero, count, 1, next_), 0);
  EXPECT_NE(ARMCI_GetS(at(next_), &stride, rows.data(), &zero, count, 1, next_), 0);
}

TEST_F(Armci, A_02_read_modify_writes_are_ordered_with_the_other_operations) {
  // The last word of a large put arrives last.
  constexpr int longs = 15000;
  char* const place = at(next_, 8 * (longs - 1));
  long one = 1;
  for (long round = 1; round <= 200; ++round) {
    std::vector<long> values(round % 4 == 0 ? longs : 1, 10 * round);
    long fetched = -1;
    long got = -1;
    int const size = static_cast<int>(8 * values.size());
    ASSERT_EQ(ARMCI_Put(values.data(), at(next_, 8 * longs - size), size, next_), 0);
    ASSERT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, place, 2, next_), 0);
    ASSERT_EQ(fetched, 10 * round);
    ASSERT_EQ(ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, place, 8, next_), 0);
    fetched = 7;  // the new value of the swap
    ASSERT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &fetched, place, 0, next_), 0);
    ASSERT_EQ(fetched, 10 * round + 3);
    ASSERT_EQ(ARMCI_Get(place, &got, 8, next_), 0);
    ASSERT_EQ(got, 7);
  }
}

TEST_F(Armci, A_09_handles_may_be_the_ints_of_the_text) {
  constexpr int guard = 0x5a5a5a5a;
  struct {
    int before = guard;
    int request[2] = {0, 0};
    int after = guard;
  } handles;
  std::vector<long> values(3000);
  std::vector<long> got(3000, -1);
  std::iota(values.begin(), values.end(), 1000L * me_);
  void* here = values.data();
  void* there = at(next_);
  armci_giov_t set = {&here, &there, 24000, 1};
  EXPECT_EQ(ARMCI_NbPutV(&set, 1, next_, &handles.request[0]), 0);
  EXPECT_EQ(ARMCI_NbPut(values.data(), at(next_, 24000), 24000, next_, &handles.request[1]), 0);
  EXPECT_EQ(ARMCI_Wait(&handles.request[0]), 0);
  while (ARMCI_Test(&handles.request[1]) != 0) {
  }
  ARMCI_SET_AGGREGATE_HANDLE(&handles.request[1]);
  EXPECT_EQ(ARMCI_NbGet(at(next_), got.data(), 8000, next_, &handles.request[1]), 0);
  EXPECT_EQ(ARMCI_NbGet(at(next_, 24000 + 8000), &got[1000], 16000, next_, &handles.request[1]), 0);
  ARMCI_UNSET_AGGREGATE_HANDLE(&handles.request[1]);
  EXPECT_EQ(ARMCI_Wait(&handles.request[1]), 0);
  EXPECT_EQ(got, values);
  ARMCI_INIT_HANDLE(&handles.request[1]);
  EXPECT_TRUE(handles.before == guard && handles.after == guard);
  // Only the first int of an armci_hdl_t is used.
  armci_hdl_t handle;
  handle.aggregate = guard;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  EXPECT_EQ(ARMCI_NbGet(at(next_), got.data(), 24000, next_, &handle), 0);
  EXPECT_EQ(ARMCI_Wait(&handle), 0);
  EXPECT_EQ(handle.aggregate, guard);
}

}  // namespace
}  // namespace conformance

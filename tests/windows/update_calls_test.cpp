/// Effects of accumulates and fetching accumulates, on windows of every flavour.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/windows/calls.hpp"

namespace mpixrma::test {
namespace {

template <typename T>
T combined(MPI_Op op, T a, T b) {
  if (op == MPI_SUM) return static_cast<T>(a + b);
  if (op == MPI_PROD) return static_cast<T>(a * b);
  if (op == MPI_MIN) return std::min(a, b);
  if (op == MPI_MAX) return std::max(a, b);
  if (op == MPI_REPLACE) return b;
  if (op == MPI_NO_OP) return a;
  if constexpr (std::is_integral_v<T>) {
    if (op == MPI_BAND) return static_cast<T>(a & b);
    if (op == MPI_BOR) return static_cast<T>(a | b);
    if (op == MPI_BXOR) return static_cast<T>(a ^ b);
    if (op == MPI_LAND) return static_cast<T>(a != 0 && b != 0);
    if (op == MPI_LOR) return static_cast<T>(a != 0 || b != 0);
    if (op == MPI_LXOR) return static_cast<T>((a != 0) != (b != 0));
  }
  return a;
}

/// The only origin of a target sees its own updates: an accumulate, then a fetch with the same operation.
template <typename T>
void expect_operations(MPI_Win window, MPI_Aint at, int target, MPI_Datatype type) {
  std::vector<MPI_Op> ops = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_REPLACE};
  if (std::is_integral_v<T>)
    ops.insert(ops.end(), {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR});
  for (MPI_Op const op : ops) {
    for (int const count : {1, 9, 300}) {
      auto const n = static_cast<std::size_t>(count);
      std::vector<T> start(n), operand(n), result(n), after(n);
      for (std::size_t i = 0; i < n; ++i) {
        start[i] = static_cast<T>(i % 11 + 2);
        operand[i] = static_cast<T>(i % 5 + 1);
      }
      MPI_Put(start.data(), count, type, target, at, count, type, window);
      MPI_Win_flush(target, window);
      EXPECT_EQ(MPI_Accumulate(operand.data(), count, type, target, at, count, type, op, window),
                MPI_SUCCESS);
      MPI_Win_flush(target, window);
      EXPECT_EQ(MPI_Get_accumulate(operand.data(), count, type, result.data(), count, type, target, at, count,
                                   type, op, window),
                MPI_SUCCESS);
      MPI_Win_flush(target, window);
      MPI_Get(after.data(), count, type, target, at, count, type, window);
      MPI_Win_flush(target, window);
      for (std::size_t i = 0; i < n; ++i) {
        T const once = combined(op, start[i], operand[i]);
        EXPECT_EQ(result[i], once) << i << " of " << count;
        EXPECT_EQ(after[i], combined(op, once, operand[i])) << i << " of " << count;
      }
    }
  }
}

TEST_P(Calls, W1134_01_all_operations_on_all_kinds_of_numbers) {
  expect_operations<int>(win(), at(64), next_, MPI_INT);
  expect_operations<long>(win(), at(64), next_, MPI_LONG);
  expect_operations<std::int16_t>(win(), at(64), next_, MPI_INT16_T);
  expect_operations<std::int8_t>(win(), at(64), next_, MPI_INT8_T);
  expect_operations<std::uint8_t>(win(), at(64), next_, MPI_UINT8_T);
  expect_operations<unsigned>(win(), at(64), next_, MPI_UNSIGNED);
  expect_operations<double>(win(), at(64), next_, MPI_DOUBLE);
  expect_operations<float>(win(), at(64), next_, MPI_FLOAT);
  expect_operations<long double>(win(), at(64), next_, MPI_LONG_DOUBLE);
}

TEST_P(Calls, W1134_02_complex_numbers_and_pairs) {
  std::complex<double> const operand[2] = {{1, 2}, {rank_ + 0.0, -1}};
  EXPECT_EQ(
      MPI_Accumulate(operand, 2, MPI_C_DOUBLE_COMPLEX, next_, at(0), 2, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win()),
      MPI_SUCCESS);
  struct {
    double value;
    int index;
  } const pair{-4.5, 17};
  EXPECT_EQ(MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, next_, at(64), 1, MPI_DOUBLE_INT, MPI_MINLOC, win()),
            MPI_SUCCESS);
  complete();
  EXPECT_EQ(mine<std::complex<double>>()[0], std::complex<double>(1, 2));
  EXPECT_EQ(mine<std::complex<double>>()[1], std::complex<double>(previous_, -1));
  EXPECT_EQ(mine<double>()[8], -4.5);
  EXPECT_EQ(mine<int>()[18], 17);
}

TEST_P(Calls, W1134_03_accumulates_with_a_derived_type) {
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(500, 2, 5, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  std::vector<double> const ones(1000, 1.5);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(MPI_Accumulate(ones.data(), 1000, MPI_DOUBLE, next_, at(0), 1, strided, MPI_SUM, win()),
              MPI_SUCCESS);
  complete();
  for (int i = 0; i < 2495; ++i) ASSERT_EQ(mine<double>()[i], i % 5 < 2 ? 4.5 : 0.0) << i;
  MPI_Type_free(&strided);
}

TEST_P(Calls, W11342_01_no_op_fetches) {
  for (int i = 0; i < 64; ++i) mine<double>()[i] = rank_ + 0.25 * i;
  complete();
  std::vector<double> result(64, -1);
  EXPECT_EQ(MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, result.data(), 64, MPI_DOUBLE, next_, at(0), 64,
                               MPI_DOUBLE, MPI_NO_OP, win()),
            MPI_SUCCESS);
  double one = -1;
  EXPECT_EQ(MPI_Fetch_and_op(nullptr, &one, MPI_DOUBLE, next_, at(8), MPI_NO_OP, win()), MPI_SUCCESS);
  MPI_Win_flush(next_, win());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], next_ + 0.25 * i);
  EXPECT_EQ(one, next_ + 0.25);
}

TEST_P(Calls, W11342_02_results_of_another_layout) {
  for (int i = 0; i < 30; ++i) mine<long>()[i] = i + 100 * rank_;
  complete();
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(10, 1, 2, MPI_LONG, &strided);
  MPI_Type_commit(&strided);
  std::vector<long> result(20, -1);
  std::vector<long> const operand(10, 1000);
  EXPECT_EQ(MPI_Get_accumulate(operand.data(), 10, MPI_LONG, result.data(), 1, strided, next_, at(0), 10,
                               MPI_LONG, MPI_SUM, win()),
            MPI_SUCCESS);
  complete();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(result[static_cast<std::size_t>(2 * i)], i + 100 * next_);
    EXPECT_EQ(mine<long>()[i], i + 100 * rank_ + 1000);
  }
  EXPECT_EQ(result[1], -1);
  MPI_Type_free(&strided);
}

template <typename T>
void expect_fetches(MPI_Win window, MPI_Aint at, int target, MPI_Datatype type) {
  T const start = 40;
  T const operand = 2;
  T result = 0;
  MPI_Put(&start, 1, type, target, at, 1, type, window);
  MPI_Win_flush(target, window);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(MPI_Fetch_and_op(&operand, &result, type, target, at, MPI_SUM, window), MPI_SUCCESS);
    MPI_Win_flush(target, window);
    EXPECT_EQ(result, static_cast<T>(40 + 2 * i));
  }
  EXPECT_EQ(MPI_Fetch_and_op(&start, &result, type, target, at, MPI_REPLACE, window), MPI_SUCCESS);
  MPI_Win_flush(target, window);
  EXPECT_EQ(result, static_cast<T>(46));
  EXPECT_EQ(MPI_Fetch_and_op(&operand, &result, type, target, at, MPI_MAX, window), MPI_SUCCESS);
  MPI_Win_flush(target, window);
  EXPECT_EQ(result, start);
}

TEST_P(Calls, W11343_01_fetch_and_op_on_all_kinds_of_numbers) {
  expect_fetches<int>(win(), at(0), next_, MPI_INT);
  expect_fetches<long>(win(), at(0), next_, MPI_LONG);
  expect_fetches<std::uint64_t>(win(), at(0), next_, MPI_UINT64_T);
  expect_fetches<std::int16_t>(win(), at(2), next_, MPI_INT16_T);
  expect_fetches<signed char>(win(), at(1), next_, MPI_SIGNED_CHAR);
  expect_fetches<char>(win(), at(1), next_, MPI_CHAR);  // as MPI libraries have it
  expect_fetches<float>(win(), at(4), next_, MPI_FLOAT);
  expect_fetches<double>(win(), at(8), next_, MPI_DOUBLE);
  expect_fetches<long double>(win(), at(16), next_, MPI_LONG_DOUBLE);
}

TEST_P(Calls, W11343_01_fetch_and_op_moves_wide_characters) {
  MPI_Win_set_errhandler(win(), MPI_ERRORS_RETURN);
  wchar_t const start = 0x1122;
  wchar_t const other = 0x3344;
  wchar_t result = 0;
  MPI_Put(&start, 1, MPI_WCHAR, next_, at(4), 1, MPI_WCHAR, win());
  MPI_Win_flush(next_, win());
  for (wchar_t const expected : {start, other}) {
    EXPECT_EQ(MPI_Fetch_and_op(&other, &result, MPI_WCHAR, next_, at(4), MPI_REPLACE, win()), MPI_SUCCESS);
    MPI_Win_flush(next_, win());
    EXPECT_EQ(result, expected);
    EXPECT_EQ(MPI_Fetch_and_op(nullptr, &result, MPI_WCHAR, next_, at(4), MPI_NO_OP, win()), MPI_SUCCESS);
    MPI_Win_flush(next_, win());
    EXPECT_EQ(result, other);
    for (MPI_Op const op : {MPI_SUM, MPI_BOR, MPI_MAX}) {
      EXPECT_EQ(class_of(MPI_Fetch_and_op(&other, &result, MPI_WCHAR, next_, at(4), op, win())), MPI_ERR_OP);
    }
  }
}

template <typename T>
void expect_swaps(MPI_Win window, MPI_Aint at, int target, MPI_Datatype type) {
  T const start = 40;
  T const other = 41;
  T const wanted = 99;
  T result = 0;
  MPI_Put(&start, 1, type, target, at, 1, type, window);
  MPI_Win_flush(target, window);
  EXPECT_EQ(MPI_Compare_and_swap(&wanted, &other, &result, type, target, at, window), MPI_SUCCESS);
  MPI_Win_flush(target, window);
  EXPECT_EQ(result, start);
  EXPECT_EQ(MPI_Compare_and_swap(&wanted, &start, &result, type, target, at, window), MPI_SUCCESS);
  MPI_Win_flush(target, window);
  EXPECT_EQ(result, start);
  MPI_Get(&result, 1, type, target, at, 1, type, window);
  MPI_Win_flush(target, window);
  EXPECT_EQ(result, wanted);
}

TEST_P(Calls, W11344_01_compare_and_swap) {
  expect_swaps<int>(win(), at(4), next_, MPI_INT);
  expect_swaps<long>(win(), at(8), next_, MPI_LONG);
  expect_swaps<std::int16_t>(win(), at(2), next_, MPI_INT16_T);
  expect_swaps<unsigned char>(win(), at(1), next_, MPI_BYTE);
  expect_swaps<int>(win(), at(4), next_, MPI_LOGICAL);
}

TEST_P(Calls, W11344_03_compare_and_swap_refuses_other_datatypes) {
  MPI_Win_set_errhandler(win(), MPI_ERRORS_RETURN);
  char const wanted[16] = {};
  char result[16] = {};
  MPI_Datatype words[2];
  MPI_Type_contiguous(2, MPI_INT, &words[0]);
  MPI_Type_contiguous(4, MPI_BYTE, &words[1]);
  for (MPI_Datatype& type : words) MPI_Type_commit(&type);
  for (MPI_Datatype const type :
       {words[0], words[1], MPI_DOUBLE, MPI_FLOAT, MPI_2INT, MPI_LONG_DOUBLE, MPI_WCHAR}) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_EQ(class_of(MPI_Compare_and_swap(wanted, wanted, result, type, next_, at(0), win())),
                MPI_ERR_TYPE);
    }
  }
  for (MPI_Datatype& type : words) MPI_Type_free(&type);
}

TEST_P(Calls, W1172_01_accumulates_are_ordered) {
  // 100 replacements, the last one stays; each fetch sees what was before it.
  std::vector<long> values(100);
  std::vector<long> results(100, -1);
  std::iota(values.begin(), values.end(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    MPI_Accumulate(&values[i], 1, MPI_LONG, next_, at(0), 1, MPI_LONG, MPI_REPLACE, win());
    MPI_Get_accumulate(nullptr, 0, MPI_LONG, &results[i], 1, MPI_LONG, next_, at(0), 1, MPI_LONG, MPI_NO_OP,
                       win());
  }
  complete();
  EXPECT_EQ(results, values);
  EXPECT_EQ(mine<long>()[0], 100);
}

TEST_P(Calls, AdditionSeesEarlierReplacement) {
  for (int round = 0; round < 100; ++round) {
    double const start = round;
    double const operand = 0.5;
    double result = -1;
    MPI_Accumulate(&start, 1, MPI_DOUBLE, next_, at(0), 1, MPI_DOUBLE, MPI_REPLACE, win());
    MPI_Get_accumulate(&operand, 1, MPI_DOUBLE, &result, 1, MPI_DOUBLE, next_, at(0), 1, MPI_DOUBLE, MPI_SUM,
                       win());
    MPI_Win_flush(next_, win());
    EXPECT_EQ(result, round);
  }
  complete();
  EXPECT_EQ(mine<double>()[0], 99.5);
}

TEST_P(Calls, W1171_01_accumulates_of_many_origins_are_atomic_by_element) {
  constexpr int rounds = 500;
  long const ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  double const halves[8] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  MPI_Aint const first = window_->at(0, 0);
  MPI_Aint const second = window_->at(0, 64);
  for (int i = 0; i < rounds; ++i) {
    MPI_Accumulate(ones, 8, MPI_LONG, 0, first, 8, MPI_LONG, MPI_SUM, win());
    MPI_Accumulate(halves, 8, MPI_DOUBLE, 0, second, 8, MPI_DOUBLE, MPI_SUM, win());
    if (i % 7 == 0) {
      long result = 0;
      MPI_Fetch_and_op(ones, &result, MPI_LONG, 0, first, MPI_SUM, win());
      MPI_Win_flush(0, win());
    }
  }
  complete();
  if (rank_ == 0) {
    int const fetched = (rounds + 6) / 7;
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(mine<long>()[i], size_ * (rounds + (i == 0 ? fetched : 0)));
      EXPECT_EQ(mine<double>()[8 + i], 0.5 * rounds * size_);
    }
  }
}

/// The first call on a window addresses its elements by an offset, later calls by an address. Origins that
/// have not mapped the memory send the address in messages.
TEST_F(WindowTest, W1171_01_single_elements_and_arrays_of_one_window_after_another) {
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    for (int count = 1; count <= 64; count *= 4) {
      Window const window(Flavour::create, count * static_cast<MPI_Aint>(sizeof(int)));
      std::vector<int> const ones(static_cast<std::size_t>(count), 1);
      MPI_Win_fence(0, window);
      MPI_Accumulate(ones.data(), count, MPI_INT, 0, window.at(0, 0), count, MPI_INT, MPI_SUM, window);
      MPI_Win_fence(0, window);
      if (rank_ != 0) continue;
      std::vector<int> const found(window.base<int>(), window.base<int>() + count);
      ASSERT_EQ(found, std::vector<int>(ones.size(), size_)) << "round " << round;
    }
  }
}

TEST_P(Calls, W11344_02_every_number_is_handed_out_once) {
  constexpr int rounds = 300;
  std::vector<int> mine_drawn(rounds);
  int const one = 1;
  MPI_Aint const counter = window_->at(0, 0);
  for (int& drawn : mine_drawn) {
    int seen = 0;
    int const guess = 0;
    MPI_Compare_and_swap(&guess, &guess, &seen, MPI_INT, 0, counter, win());
    MPI_Win_flush(0, win());
    for (int expected = seen;; expected = seen) {
      int const wanted = expected + one;
      MPI_Compare_and_swap(&wanted, &expected, &seen, MPI_INT, 0, counter, win());
      MPI_Win_flush(0, win());
      if (seen == expected) break;
    }
    drawn = seen;
  }
  std::vector<int> all(static_cast<std::size_t>(rounds * size_));
  MPI_Allgather(mine_drawn.data(), rounds, MPI_INT, all.data(), rounds, MPI_INT, world);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i));
}

}  // namespace
}  // namespace mpixrma::test

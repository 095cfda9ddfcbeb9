/// Order without completion, and flushes beyond MPI's own.
#include <algorithm>

#include "include/mpix_rma.h"
#include "tests/windows/put_longs.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Order : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Order);
class Flush : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Flush);

TEST_P(Order, E_01_puts_of_all_sizes_take_effect_one_after_the_other) {
  constexpr int rounds = 24;
  int const counts[] = {1, longs, 3, 700, 1, longs / 2};
  Window const window(GetParam(), bytes_of_longs);
  std::vector<std::vector<long>> sources;  // in use until the puts are complete
  std::vector<long> expected(longs, 0);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < rounds; ++round) {
    int const count = counts[round % 6];
    sources.emplace_back(count, 1000L * rank_ + round);
    std::fill_n(expected.begin(), count, 1000L * previous_ + round);
    ASSERT_EQ(put(sources.back().data(), count, next_, window.at(next_, 0), window), MPI_SUCCESS);
    ASSERT_EQ(round % 2 == 0 ? MPIX_Win_order(next_, window) : MPIX_Win_order_all(window), MPI_SUCCESS);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), window.base<long>()));
}

TEST_P(Order, E_02_get_reads_earlier_and_not_later_puts) {
  constexpr int rounds = 20;
  Window const window(GetParam(), bytes_of_longs);
  std::vector<long> const values = [] {
    std::vector<long> made(2 * rounds);
    std::iota(made.begin(), made.end(), 1);
    return made;
  }();
  std::vector<long> read(rounds, -1);
  std::vector<long> before(rounds, -1);
  long const ten = 10;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  for (std::size_t i = 0; i < rounds; ++i) {
    MPI_Aint const at = window.at(next_, static_cast<MPI_Aint>(sizeof(long)) * rank_);
    put(&values[2 * i], 1, next_, at, window);
    MPIX_Win_order(next_, window);
    MPI_Get(&read[i], 1, MPI_LONG, next_, at, 1, MPI_LONG, window);
    MPIX_Win_order(next_, window);
    put(&values[2 * i + 1], 1, next_, at, window);
    MPIX_Win_order(next_, window);
    MPI_Fetch_and_op(&ten, &before[i], MPI_LONG, next_, at, MPI_SUM, window);
    MPIX_Win_order(next_, window);
  }
  MPI_Win_unlock(next_, window);
  for (std::size_t i = 0; i < rounds; ++i) {
    EXPECT_EQ(read[i], values[2 * i]);
    EXPECT_EQ(before[i], values[2 * i + 1]);
  }
}

/// A notified operation uses another protocol than others if a rank's own memory is not allocated by the
/// library.
TEST_P(Order, NotifiedOperationsOnOwnMemoryKeepTheirOrder) {
  Window const window(GetParam(), bytes_of_longs);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  MPI_Win_lock_all(0, window);
  int wrong = 0;
  std::vector<long> values(longs);
  for (long round = 1; round <= 200; ++round) {
    int const count = round % 8 == 0 ? longs : 3;
    std::fill_n(values.begin(), count, round);
    MPI_Aint const at = window.at(rank_, 0);
    if (round % 2 == 0) {
      MPIX_Put_notify(values.data(), count, MPI_LONG, rank_, at, count, MPI_LONG, 0, window);
    } else {
      MPIX_Accumulate_notify(values.data(), count, MPI_LONG, rank_, at, count, MPI_LONG, MPI_REPLACE, 0,
                             window);
    }
    long read = -1;
    MPI_Get(&read, 1, MPI_LONG, rank_, window.at(rank_, 8 * (count - 1)), 1, MPI_LONG, window);
    MPI_Win_flush_local(rank_, window);
    wrong += read == round ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
  MPI_Win_unlock_all(window);
}

/// A process that sees the flag also sees the data that were put before it, with no flush between the two.
TEST_P(Order, E_03_flag_follows_the_data) {
  constexpr int rounds = 6;
  Window const window(GetParam(), bytes_of_longs + 64);
  MPI_Win_lock_all(0, window);
  std::vector<long> data(longs);
  for (long round = 1; round <= rounds; ++round) {
    std::fill(data.begin(), data.end(), 100 * round + rank_);
    put(data.data(), longs, next_, window.at(next_, 0), window);
    MPIX_Win_order(next_, window);
    MPI_Accumulate(&round, 1, MPI_LONG, next_, window.at(next_, bytes_of_longs), 1, MPI_LONG, MPI_REPLACE,
                   window);
    long const* const flag = window.base<long>() + longs;
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != round) {
      MPI_Win_flush_local(next_, window);
      std::this_thread::yield();
    }
    EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 100 * round + previous_), longs);
    MPI_Win_flush(next_, window);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(Order, E_04_notified_operations_are_ordered_with_others) {
  Window const window(GetParam(), bytes_of_longs);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  std::vector<long> const old(longs, 1);
  std::vector<long> const fresh(longs, 2 + rank_);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(
        MPIX_Put_notify(old.data(), longs, MPI_LONG, next_, window.at(next_, 0), longs, MPI_LONG, 0, window),
        MPI_SUCCESS);
    MPIX_Win_order(next_, window);
    put(fresh.data(), longs, next_, window.at(next_, 0), window);
    MPIX_Win_order(next_, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 2 + previous_), longs);
}

TEST_P(Flush, E_20_of_several_windows_completes_all) {
  Window const first(GetParam(), bytes_of_longs);
  Window const second(GetParam(), 64);
  std::vector<long> values(longs, 7 + rank_);
  long read = -1;
  MPI_Win_lock_all(0, first);
  MPI_Win_lock_all(0, second);
  MPI_Win const windows[] = {first, second, first};
  for (int target = 0; target < size_; ++target)
    put(values.data() + target, 1, target, second.at(target, static_cast<MPI_Aint>(sizeof(long)) * rank_),
        second);
  put(values.data(), longs, next_, first.at(next_, 0), first);
  EXPECT_EQ(MPIX_Win_flush_windows(3, windows), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(std::count(first.base<long>(), first.base<long>() + longs, 7 + previous_), longs);
  for (int origin = 0; origin < size_; ++origin) EXPECT_EQ(second.base<long>()[origin], 7 + origin);
  MPI_Get(&read, 1, MPI_LONG, next_, first.at(next_, 0), 1, MPI_LONG, first);
  EXPECT_EQ(MPIX_Win_flush_windows(1, windows), MPI_SUCCESS);
  EXPECT_EQ(read, 7 + rank_);
  EXPECT_EQ(MPIX_Win_flush_windows(0, nullptr), MPI_SUCCESS);
  MPI_Win_unlock_all(second);
  MPI_Win_unlock_all(first);
}

TEST_P(Flush, E_22_of_a_thread_completes_its_operations) {
  constexpr int rounds = 20;
  Window const window(GetParam(), 64);
  MPI_Win_lock_all(0, window);
  on_threads([&](int thread) {
    MPI_Aint const at = window.at(next_, static_cast<MPI_Aint>(sizeof(long)) * thread);
    for (long round = 1; round <= rounds; ++round) {
      long read = -1;
      put(&round, 1, next_, at, window);
      EXPECT_EQ(MPIX_Win_flush_thread(next_, window), MPI_SUCCESS);
      MPI_Get(&read, 1, MPI_LONG, next_, at, 1, MPI_LONG, window);
      EXPECT_EQ(MPIX_Win_flush_thread_all(window), MPI_SUCCESS);
      EXPECT_EQ(read, round);
    }
  });
  MPI_Win_unlock_all(window);
}

TEST_P(Flush, E_05_errors_are_those_of_MPI_Win_flush) {
  Window const window(GetParam(), 64);
  MPI_Win const windows[] = {window, window};
  EXPECT_EQ(class_of(MPIX_Win_order(next_, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPIX_Win_order_all(window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPIX_Win_flush_thread(next_, window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPIX_Win_flush_thread_all(window)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPIX_Win_flush_windows(2, windows)), MPI_ERR_RMA_SYNC);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  if (size_ > 1) EXPECT_EQ(class_of(MPIX_Win_order(rank_, window)), MPI_ERR_RMA_SYNC);
  for (int const rank : {-1, size_}) {
    EXPECT_EQ(class_of(MPIX_Win_order(rank, window)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPIX_Win_flush_thread(rank, window)), MPI_ERR_RANK);
  }
  EXPECT_EQ(MPIX_Win_order(MPI_PROC_NULL, window), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Win_flush_thread(MPI_PROC_NULL, window), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Win_order(next_, window), MPI_SUCCESS);
  long const value = 5;
  put(&value, 1, next_, window.at(next_, 0), window);
  MPI_Win_unlock(next_, window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 5);
}

TEST_F(WindowTest, E_20_of_several_windows_is_named_by_late_failures) {
  Window const window(Flavour::dynamic, 64);
  MPI_Win const windows[] = {window};
  long const value = 5;
  MPI_Win_lock_all(0, window);
  int code = MPI_Put(&value, 1, MPI_LONG, next_, 0x10, 1, MPI_LONG, window);
  bool const is_late = code == MPI_SUCCESS;
  if (is_late) code = MPIX_Win_flush_windows(1, windows);
  EXPECT_EQ(class_of(code), MPI_ERR_RMA_RANGE);
  EXPECT_TRUE(text_of(code).starts_with(is_late ? "MPIX_Win_flush_windows: " : "MPI_Put: ")) << text_of(code);
  MPI_Win_unlock_all(window);
}

TEST_F(WindowTest, E_21_flushes_refuse_invalid_arrays_of_windows) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(world, &handler);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Win const none = MPI_WIN_NULL;
  EXPECT_EQ(class_of(MPIX_Win_flush_windows(-1, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Win_flush_windows(1, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Win_flush_windows(1, &none)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Win_order(0, MPI_WIN_NULL)), MPI_ERR_WIN);
  MPI_Comm_set_errhandler(world, handler);
  MPI_Errhandler_free(&handler);
}

/// Expects an error whose text begins with `call` and contains `reason`.
void expect_text(int code, std::string const& call, std::string const& reason) {
  std::string const text = text_of(code);
  EXPECT_EQ(text.rfind(call, 0), 0U) << text;
  EXPECT_NE(text.find(reason), std::string::npos) << reason << " in: " << text;
}

TEST_P(Flush, ErrorTextsNameTheCallAndItsArguments) {
  Window const window(GetParam(), bytes_of_longs);
  std::string const closed = "no epoch is open";
  expect_text(MPIX_Win_flush_thread(next_, window), "MPIX_Win_flush_thread of rank ", closed);
  expect_text(MPIX_Win_flush_thread_all(window), "MPIX_Win_flush_thread_all is not ", closed);
  MPI_Count value = 0;
  expect_text(MPIX_Win_get_notify_value(window, 0, &value),
              "MPIX_Win_get_notify_value: ", "no notification counter 0: it has none");
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 3), MPI_SUCCESS);
  MPI_Win_lock_all(0, window);
  std::string const rank = "the window has no rank " + std::to_string(size_);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_text(MPIX_Win_order(size_, window), "MPIX_Win_order: ", rank);
  expect_text(MPIX_Win_iflush(size_, window, &request), "MPIX_Win_iflush: ", rank);
  int num = 0;
  expect_text(MPIX_Win_get_num_notify(window, size_, &num), "MPIX_Win_get_num_notify: ", rank);
  expect_text(MPIX_Win_get_notify_value(window, 7, &value), "MPIX_Win_get_notify_value: ",
              "this process has no notification counter 7: it has counters 0 to 2");
  long word = 0;
  auto const put = [&](int count, MPI_Datatype type, int index) {
    return MPIX_Put_notify(&word, count, MPI_LONG, next_, window.at(next_, 0), 1, type, index, window);
  };
  expect_text(put(1, MPI_LONG, 3), "MPIX_Put_notify: ",
              "rank " + std::to_string(next_) + " has no notification counter 3: it has counters 0 to 2");
  expect_text(put(-5, MPI_LONG, 0), "MPIX_Put_notify: ", "origin_count -5 or target_count 1");
  expect_text(put(1, MPI_INT, 0), "MPIX_Put_notify: ", "datatype");
  expect_text(MPIX_Accumulate_notify(&word, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, MPI_MAXLOC,
                                     0, window),
              "MPIX_Accumulate_notify: ", "op is not");
  MPI_Win_unlock_all(window);
}

}  // namespace
}  // namespace mpixrma::test

/// Each of the notified operations alone, in every call and kind of epoch.
#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>

#include "tests/windows/notify_support.hpp"

namespace mpixrma::test {
namespace {

/// Makes every notified operation, on one double at a displacement.
class EachNotification : public NotificationTest {
 protected:
  using Call = std::function<int(int rank, MPI_Aint at, int count, int index)>;
  struct Operation {
    Call call;
    bool has_request;
  };
  static constexpr int operations = 8;

  std::vector<Operation> all_on(MPI_Win window) {
    double* const origin = &origin_;
    double* const result = &result_;
    MPI_Request* const request = &request_;
    MPI_Datatype const type = MPI_DOUBLE;
    return {
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Put_notify(origin, count, type, rank, at, count, type, index, window);
         },
         false},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Get_notify(result, count, type, rank, at, count, type, index, window);
         },
         false},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Accumulate_notify(origin, count, type, rank, at, count, type, MPI_SUM, index, window);
         },
         false},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Get_accumulate_notify(origin, count, type, result, count, type, rank, at, count, type,
                                             MPI_SUM, index, window);
         },
         false},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Rput_notify(origin, count, type, rank, at, count, type, index, window, request);
         },
         true},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Rget_notify(result, count, type, rank, at, count, type, index, window, request);
         },
         true},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Raccumulate_notify(origin, count, type, rank, at, count, type, MPI_SUM, index, window,
                                          request);
         },
         true},
        {[=](int rank, MPI_Aint at, int count, int index) {
           return MPIX_Rget_accumulate_notify(origin, count, type, result, count, type, rank, at, count, type,
                                              MPI_SUM, index, window, request);
         },
         true},
    };
  }

  double origin_ = 1;
  double result_ = -1;
  MPI_Request request_ = MPI_REQUEST_NULL;
};
MPIX_ON_EACH_FLAVOUR(EachNotification);

TEST_P(EachNotification, W126_07_get_notifies_after_the_memory_has_been_read) {
  constexpr int longs = 16384;
  Window const window(GetParam(), longs * static_cast<MPI_Aint>(sizeof(long)));
  set_counters(window, 1);
  std::vector<long> read(longs, -1);
  MPI_Win_lock_all(0, window);
  for (int round = 1; round <= 5; ++round) {
    std::fill_n(window.base<long>(), longs, 10L * round + rank_);
    MPI_Win_sync(window);
    MPI_Barrier(world);
    EXPECT_EQ(
        MPIX_Get_notify(read.data(), longs, MPI_LONG, next_, window.at(next_, 0), longs, MPI_LONG, 0, window),
        MPI_SUCCESS);
    wait_for(window, 0, round);
    std::fill_n(window.base<long>(), longs, -1);  // read, so it may be written
    MPI_Win_flush(next_, window);
    EXPECT_EQ(std::count(read.begin(), read.end(), 10L * round + next_), longs);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(EachNotification, W126_09_one_counter_is_incremented_by_one) {
  Window const window(GetParam(), 64);
  set_counters(window, 3);
  MPI_Win_lock_all(0, window);
  int expected = 0;
  for (Operation const& operation : all_on(window)) {
    EXPECT_EQ(operation.call(next_, window.at(next_, 8), 1, 1), MPI_SUCCESS);
    if (operation.has_request) EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Win_flush(next_, window);
    MPI_Barrier(world);
    EXPECT_EQ(counted(window, 0), 0);
    EXPECT_EQ(counted(window, 1), ++expected);
    EXPECT_EQ(counted(window, 2), 0);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(EachNotification, W126_10_requests_are_complete_when_the_origin_may_be_reused) {
  constexpr int rounds = 50;
  Window const window(GetParam(), rounds * 8);
  set_counters(window, 1);
  std::vector<double> values(rounds);
  std::vector<double> read(rounds, -1);
  std::vector<MPI_Request> requests(rounds, MPI_REQUEST_NULL);
  std::iota(values.begin(), values.end(), 100 * rank_);
  MPI_Win_lock_all(0, window);
  for (std::size_t i = 0; i < rounds; ++i)
    EXPECT_EQ(
        MPIX_Rput_notify(&values[i], 1, MPI_DOUBLE, next_, window.at(next_, static_cast<MPI_Aint>(8 * i)), 1,
                         MPI_DOUBLE, 0, window, &requests[i]),
        MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(rounds, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  std::fill(values.begin(), values.end(), -1);
  MPI_Win_flush(next_, window);
  for (std::size_t i = 0; i < rounds; ++i)
    MPIX_Rget_notify(&read[i], 1, MPI_DOUBLE, next_, window.at(next_, static_cast<MPI_Aint>(8 * i)), 1,
                     MPI_DOUBLE, 0, window, &requests[i]);
  EXPECT_EQ(MPI_Waitall(rounds, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (std::size_t i = 0; i < rounds; ++i) EXPECT_EQ(read[i], 100 * rank_ + static_cast<int>(i));
  wait_for(window, 0, 2 * rounds);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), 2 * rounds);
  EXPECT_EQ(window.base<double>()[rounds - 1], 100 * previous_ + rounds - 1);
}

TEST_P(EachNotification, W126_11_missing_counters_of_the_target_are_errors) {
  Window const window(GetParam(), 64);
  set_counters(window, next_ + 1 == size_ ? 2 : 1);
  for (Operation const& operation : all_on(window))
    EXPECT_EQ(class_of(operation.call(next_, window.at(next_, 0), 1, 0)), MPI_ERR_RMA_SYNC);
  MPI_Win_lock_all(0, window);
  int const beyond = counters_of(window, next_);
  for (Operation const& operation : all_on(window)) {
    for (int const index : {-1, beyond, INT_MAX, INT_MIN})
      EXPECT_EQ(class_of(operation.call(next_, window.at(next_, 0), 1, index)), no_such_counter());
    EXPECT_EQ(class_of(operation.call(size_, 0, 1, 0)), MPI_ERR_RANK);
    EXPECT_EQ(request_, MPI_REQUEST_NULL);
  }
  EXPECT_EQ(class_of(MPIX_Rput_notify(&origin_, 1, MPI_DOUBLE, next_, window.at(next_, 0), 1, MPI_DOUBLE, 0,
                                      window, nullptr)),
            MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Accumulate_notify(&origin_, 1, MPI_DOUBLE, next_, window.at(next_, 0), 1,
                                            MPI_DOUBLE, MPI_BAND, 0, window)),
            MPI_ERR_OP);
  EXPECT_EQ(
      class_of(MPIX_Put_notify(&origin_, 1, MPI_DOUBLE, next_, window.at(next_, 0), 1, MPI_FLOAT, 0, window)),
      MPI_ERR_TYPE);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), 0);
  EXPECT_EQ(window.base<double>()[0], 0);
}

TEST_P(EachNotification, W126_28_failed_operations_do_not_notify) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  bool const dynamic = GetParam() == Flavour::dynamic;
  MPI_Aint const nowhere = dynamic ? 0x10 : 64;
  MPI_Win_lock_all(0, window);
  for (Operation const& operation : all_on(window)) {
    int codes[] = {operation.call(next_, nowhere, 1, 0), MPI_SUCCESS, MPI_SUCCESS};
    if (operation.has_request && request_ != MPI_REQUEST_NULL)
      codes[1] = MPI_Wait(&request_, MPI_STATUS_IGNORE);
    codes[2] = MPI_Win_flush(next_, window);
    int told = 0;
    for (int const code : codes) told += class_of(code) == MPI_ERR_RMA_RANGE ? 1 : 0;
    EXPECT_GE(told, 1);
  }
  EXPECT_EQ(notify(window, next_, 0), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), 1);
}

TEST_P(EachNotification, W126_14_in_epochs_of_passive_targets_alone) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Aint const at = window.at(next_, 8);
  double const values[] = {1.5, 2.5, 3.5};
  window.base<double>()[1] = 0;
  MPI_Win_fence(0, window);
  int const code = MPIX_Put_notify(&values[0], 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, 0, window);
  EXPECT_EQ(class_of(code), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(text_of(code).find("MPIX_Put_notify: a put of 8 bytes"), 0U) << text_of(code);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Group everybody = MPI_GROUP_NULL;
  MPI_Group sources = MPI_GROUP_NULL;
  MPI_Group targets = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &everybody);
  MPI_Group_incl(everybody, 1, &previous_, &sources);
  MPI_Group_incl(everybody, 1, &next_, &targets);
  MPI_Win_post(sources, 0, window);
  MPI_Win_start(targets, 0, window);
  EXPECT_EQ(class_of(MPIX_Accumulate_notify(&values[1], 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, MPI_SUM, 0,
                                            window)),
            MPI_ERR_RMA_SYNC);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  EXPECT_EQ(counted(window, 0), 0);
  EXPECT_EQ(window.base<double>()[1], 0);
  for (MPI_Group* group : {&everybody, &sources, &targets}) MPI_Group_free(group);
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_, 0, window);
  EXPECT_EQ(MPIX_Put_notify(&values[2], 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, 0, window), MPI_SUCCESS);
  MPI_Win_unlock(next_, window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), 1);
  EXPECT_EQ(window.base<double>()[1], 3.5);
}

/// With ranks in reverse order, and with operations that only read.
TEST_P(EachNotification, W126_29_ranks_are_those_of_the_window) {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(world, 0, -rank_, &reversed);
  int const here = size_ - 1 - rank_;
  int const there = (here + 1) % size_;
  {
    Window const window(GetParam(), 64, 1, MPI_INFO_NULL, reversed);
    ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1 + here), MPI_SUCCESS);
    EXPECT_EQ(counters_of(window, there), 1 + there);
    *window.base<long>() = 40 + here;
    MPI_Win_sync(window);
    MPI_Barrier(reversed);
    long before = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, there, 0, window);
    EXPECT_EQ(MPIX_Get_accumulate_notify(nullptr, 0, MPI_LONG, &before, 1, MPI_LONG, there,
                                         window.at(there, 0), 1, MPI_LONG, MPI_NO_OP, there, window),
              MPI_SUCCESS);
    MPI_Win_unlock(there, window);
    EXPECT_EQ(before, 40 + there);
    wait_for(window, here, 1);
    EXPECT_EQ(*window.base<long>(), 40 + here);
  }
  MPI_Comm_free(&reversed);
}

TEST_P(EachNotification, W126_15_proc_null_is_accepted_as_target) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Win_lock_all(0, window);
  for (Operation const& operation : all_on(window)) {
    EXPECT_EQ(operation.call(MPI_PROC_NULL, 0, 1, 0), MPI_SUCCESS);
    if (operation.has_request) EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(result_, -1);
  EXPECT_EQ(counted(window, 0), 0);
}

TEST_P(EachNotification, W126_16_operations_without_data_notify) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Win_lock_all(0, window);
  for (Operation const& operation : all_on(window)) {
    EXPECT_EQ(operation.call(next_, window.at(next_, 0), 0, 0), MPI_SUCCESS);
    if (operation.has_request) EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_LONG, &empty);
  MPI_Type_commit(&empty);
  EXPECT_EQ(MPIX_Put_notify(&origin_, 3, empty, next_, window.at(next_, 0), 0, MPI_LONG, 0, window),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_Accumulate_notify(&origin_, 0, MPI_LONG, next_, window.at(next_, 0), 1, empty, MPI_LAND, 0,
                                   window),
            MPI_SUCCESS);
  MPI_Type_free(&empty);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), operations + 2);
  EXPECT_EQ(window.base<double>()[0], 0);
  EXPECT_EQ(result_, -1);
}

TEST_P(EachNotification, W126_18_flush_completes_the_notification) {
  constexpr int rounds = 20;
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Win_lock_all(0, window);
  for (int round = 1; round <= rounds; ++round) {
    double const value = 1000 * rank_ + round;
    int token = 0;
    MPIX_Put_notify(&value, 1, MPI_DOUBLE, next_, window.at(next_, 0), 1, MPI_DOUBLE, 0, window);
    round % 2 == 0 ? MPI_Win_flush(next_, window) : MPI_Win_flush_all(window);
    MPI_Sendrecv(&round, 1, MPI_INT, next_, 0, &token, 1, MPI_INT, previous_, 0, world, MPI_STATUS_IGNORE);
    EXPECT_EQ(counted(window, 0), round);
    EXPECT_EQ(window.base<double>()[0], 1000 * previous_ + round);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(EachNotification, W126_19_layouts_are_any) {
  Window const window(GetParam(), 1024);
  set_counters(window, 1);
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Datatype two_of_six = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 2, MPI_LONG, &every_second);
  MPI_Type_vector(4, 2, 6, MPI_LONG, &two_of_six);
  MPI_Type_commit(&every_second);
  MPI_Type_commit(&two_of_six);
  std::vector<long> values(16);
  std::vector<long> read(16, -1);
  std::iota(values.begin(), values.end(), 100 * rank_);
  MPI_Aint const at = window.at(next_, 0);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(MPIX_Put_notify(values.data(), 1, every_second, next_, at, 1, two_of_six, 0, window),
            MPI_SUCCESS);
  MPI_Win_flush(next_, window);
  EXPECT_EQ(MPIX_Get_accumulate_notify(values.data(), 8, MPI_LONG, read.data(), 1, every_second, next_, at, 1,
                                       two_of_six, MPI_SUM, 0, window),
            MPI_SUCCESS);
  MPI_Type_free(&every_second);
  MPI_Type_free(&two_of_six);
  wait_for(window, 0, 2);
  MPI_Win_unlock_all(window);
  for (int i = 0; i < 24; ++i) {
    long const before = i / 6 * 2 + i % 6;  // index among the elements that were sent
    long const expected = i % 6 < 2 ? 200L * previous_ + 3 * before : 0;
    EXPECT_EQ(window.base<long>()[i], expected) << i;
  }
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(read[i], i % 2 == 0 ? 100 * rank_ + static_cast<long>(i) : -1) << i;
}

/// Each origin increments each counter of each target by a number that depends on the origin.
TEST_P(EachNotification, W126_20_many_counters_of_many_targets) {
  constexpr int counters = 37;
  constexpr int rounds = 6;
  Window const window(GetParam(), 4096);
  set_counters(window, counters);
  long const one = 1;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < rounds * (rank_ + 1); ++i) {
    for (int index = 0; index < counters; ++index) {
      int const target = (rank_ + i + index) % size_;
      for (int more = 0; more <= (target == rank_ ? 1 : 0); ++more)
        MPIX_Accumulate_notify(&one, 1, MPI_LONG, target, window.at(target, 8 * index), 1, MPI_LONG, MPI_SUM,
                               index, window);
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  for (int index = 0; index < counters; ++index) {
    long expected = 0;
    for (int origin = 0; origin < size_; ++origin) {
      for (int i = 0; i < rounds * (origin + 1); ++i)
        if ((origin + i + index) % size_ == rank_) expected += origin == rank_ ? 2 : 1;
    }
    EXPECT_EQ(counted(window, index), expected) << index;
    EXPECT_EQ(window.base<long>()[index], expected) << index;
  }
}

TEST_P(EachNotification, W126_21_from_several_threads) {
  constexpr int rounds = 8;
  Window const window(GetParam(), 256);
  set_counters(window, 4);
  long const one = 1;
  MPI_Win_lock_all(0, window);
  on_threads([&](int thread) {
    std::vector<long> values(rounds);
    std::iota(values.begin(), values.end(), 1);
    for (long const& round : values) {
      MPIX_Put_notify(&round, 1, MPI_LONG, next_, window.at(next_, 8 * thread), 1, MPI_LONG, thread, window);
      MPIX_Accumulate_notify(&one, 1, MPI_LONG, next_, window.at(next_, 64), 1, MPI_LONG, MPI_SUM, 3, window);
      wait_for(window, thread, round);
      EXPECT_GE(__atomic_load_n(window.base<long>() + thread, __ATOMIC_RELAXED), round);
    }
    MPI_Win_flush(next_, window);
  });
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], rounds);
  EXPECT_EQ(counted(window, 0), rounds);
  EXPECT_EQ(counted(window, 3), window.base<long>()[8]);
  EXPECT_EQ(counted(window, 3) % rounds, 0);
}

}  // namespace
}  // namespace mpixrma::test

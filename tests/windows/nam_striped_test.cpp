/// Windows whose regions are divided into stripes between memory servers.
#include <mpix_rma.h>

#include "tests/windows/nam_filled.hpp"

namespace mpixrma::test {
namespace {

JobServers* const job = JobServers::begin({"--size", "64M", "--listen", "none", "--storage", "file"});

constexpr MPI_Aint stripe = 4096;
constexpr int stripe_longs = stripe / sizeof(long);

class NamStriped : public FilledWindows {
 protected:
  /// Regions end in the middle of a stripe: rank r has 5 + r stripes and a part of one.
  int longs_of(int rank) const override { return (5 + rank) * stripe_longs + 7; }

  static int allocate(MPI_Aint bytes, int unit, char const* size, char const* kind, MPI_Win* window) {
    Info const info{{"deep_mem_kind", kind}, {"mpix_nam_stripe", size}};
    return FilledWindows::allocate(bytes, unit, info.get(), window);
  }
  MPI_Win make(char const* kind = "deep_nam") const {
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(allocate(longs_of(rank_) * 8, 8, "4096", kind, &window), MPI_SUCCESS);
    return window;
  }
};

TEST_F(NamStriped, RegionIsStripedOverAllServers) {
  MPI_Win window = make("deep_nam_persistent");
  EXPECT_EQ(value_of(window, "mpix_nam_stripe"), "4096");
  MPI_Win_lock_all(0, window);
  fill(window);
  for (int rank = 0; rank < size_; ++rank) expect_filled(window, rank);
  MPI_Aint bytes = -1;
  int unit = 0;
  void* base = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window, next_, &bytes, &unit, &base), MPI_SUCCESS);
  EXPECT_EQ(bytes, 0);
  EXPECT_EQ(base, nullptr);
  MPI_Win_unlock_all(window);
  std::string const port = value_of(window, "deep_win_port_name");
  std::vector<nam::Session> sessions;
  std::vector<nam::WindowInfo> const parts = nam::find_parts(port, &sessions);
  ASSERT_EQ(parts.size(), job->grants().size());
  std::vector<long> const values = values_for(next_);
  for (int i = 0; i < longs_of(next_); ++i) {
    int const part = (next_ + i / stripe_longs) % servers_of_job();
    int const place = i / stripe_longs / servers_of_job() * stripe_longs + i % stripe_longs;
    if (i % 97 != 0) continue;
    std::vector<std::byte> there(sizeof(long));
    sessions[static_cast<std::size_t>(part)].read(parts[static_cast<std::size_t>(part)],
                                                  static_cast<std::uint64_t>(next_),
                                                  static_cast<std::uint64_t>(place) * 8, there);
    long value = 0;
    std::memcpy(&value, there.data(), sizeof value);
    ASSERT_EQ(value, values[static_cast<std::size_t>(i)]) << i;
  }
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  evict_from_rank_0(port);
}

TEST_F(NamStriped, ConnectionFindsTheStripes) {
  MPI_Win window = make("deep_nam_persistent");
  MPI_Win_lock_all(0, window);
  fill(window);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPIX_Win_persist(window), MPI_SUCCESS);
  std::string const port = value_of(window, "deep_win_port_name");
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  EXPECT_EQ(value_of(window, "mpix_nam_stripe"), "4096");
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  for (MPI_Comm const comm : {MPI_COMM_SELF, world}) expect_filled(port, comm);
  evict_from_rank_0(port);
}

TEST_F(NamStriped, DerivedDatatypesCrossBorders) {
  MPI_Win window = make();
  MPI_Win_lock_all(0, window);
  fill(window);
  // Blocks of 300 longs at every 500th, some of them across the border of a stripe; in reverse order at the
  // origin.
  constexpr int blocks = 4;
  constexpr int length = 300;
  constexpr int apart = 500;
  MPI_Datatype there = MPI_DATATYPE_NULL;
  MPI_Type_vector(blocks, length, apart, MPI_LONG, &there);
  MPI_Type_commit(&there);
  MPI_Datatype here = MPI_DATATYPE_NULL;
  int const begins[] = {1200, 800, 400, 0};
  MPI_Type_create_indexed_block(blocks, length, begins, MPI_LONG, &here);
  MPI_Type_commit(&here);
  std::vector<long> local(1600, -1);
  EXPECT_EQ(MPI_Get(local.data(), 1, here, next_, 5, 1, there, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
  std::vector<long> expected = values_for(next_);
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < length; ++i) {
      auto const at = static_cast<std::size_t>(begins[block] + i);
      ASSERT_EQ(local[at], expected[static_cast<std::size_t>(5 + block * apart + i)]) << block << " " << i;
      local[at] = -local[at] - 1;
    }
  }
  EXPECT_EQ(local[300], -1);
  EXPECT_EQ(MPI_Put(local.data(), 1, here, next_, 5, 1, there, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(local.data(), 1, here, next_, 5, 1, there, MPI_SUM, window), MPI_SUCCESS);
  std::vector<long> before(1600, -1);
  EXPECT_EQ(
      MPI_Get_accumulate(local.data(), 1, here, before.data(), 1, here, next_, 5, 1, there, MPI_SUM, window),
      MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < length; ++i) {
      auto const at = static_cast<std::size_t>(begins[block] + i);
      ASSERT_EQ(before[at], 2 * local[at]) << block << " " << i;
      expected[static_cast<std::size_t>(5 + block * apart + i)] = 3 * local[at];
    }
  }
  EXPECT_EQ(content(window, next_), expected);
  MPI_Type_free(&there);
  MPI_Type_free(&here);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, AllRanksAddToAllStripes) {
  constexpr int rounds = 20;
  MPI_Win window = make();
  std::vector<double> const ones(static_cast<std::size_t>(longs_of(0)), 1.0);
  auto const count = static_cast<int>(ones.size());
  std::vector<double> found(ones.size());
  MPI_Win_fence(0, window);
  for (int i = 0; i < rounds; ++i) {
    MPI_Accumulate(ones.data(), count, MPI_DOUBLE, 0, 0, count, MPI_DOUBLE, MPI_SUM, window);
    MPI_Get_accumulate(ones.data(), count, MPI_DOUBLE, found.data(), count, MPI_DOUBLE, 0, 0, count,
                       MPI_DOUBLE, MPI_SUM, window);
  }
  MPI_Win_fence(0, window);
  MPI_Get(found.data(), count, MPI_DOUBLE, 0, 0, count, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(found, std::vector<double>(ones.size(), 2.0 * rounds * size_));
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, SingleElementsAtBorders) {
  constexpr long rounds = 50;
  MPI_Win window = make();
  MPI_Win_lock_all(0, window);
  long const one = 1;
  for (long i = 0; i < rounds; ++i) {
    for (int const at : {stripe_longs - 1, stripe_longs, 2 * stripe_longs}) {
      long before = -1;
      MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, at, MPI_SUM, window);
      MPI_Win_flush(0, window);
      EXPECT_GE(before, i);
      for (long expected = -1; before != expected;) {
        expected = before;
        long const wanted = expected + 1;
        MPI_Compare_and_swap(&wanted, &expected, &before, MPI_LONG, 0, at, window);
        MPI_Win_flush(0, window);
      }
    }
  }
  MPI_Barrier(world);
  for (int const at : {stripe_longs - 1, stripe_longs, 2 * stripe_longs}) {
    long found = 0;
    MPI_Get(&found, 1, MPI_LONG, 0, at, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
    EXPECT_EQ(found, 2 * rounds * size_);
  }
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, ElementsAcrossABorderAreRefusedAndBytesAreNot) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(allocate(2 * stripe, 1, "4096", "deep_nam", &window), MPI_SUCCESS);
  MPI_Win_lock_all(0, window);
  long const values[] = {3, 5};
  long before[2] = {};
  if (rank_ == 0) {
    constexpr MPI_Aint across = stripe - 12;
    EXPECT_EQ(MPI_Put(values, 2, MPI_LONG, 0, across, 2, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(0, window), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Accumulate(values, 2, MPI_LONG, 0, across, 2, MPI_LONG, MPI_SUM, window)),
              MPI_ERR_DISP);
    EXPECT_EQ(class_of(MPI_Fetch_and_op(values, before, MPI_LONG, 0, across + 8, MPI_SUM, window)),
              MPI_ERR_DISP);
    EXPECT_EQ(class_of(MPI_Compare_and_swap(values, values, before, MPI_LONG, 0, across + 8, window)),
              MPI_ERR_DISP);
    EXPECT_EQ(MPI_Get(before, 2, MPI_LONG, 0, across, 2, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(0, window), MPI_SUCCESS);
    EXPECT_EQ(before[0], 3);
    EXPECT_EQ(before[1], 5);
    // For types without arithmetic each byte is an element.
    char const text[] = "across the border";
    char found[sizeof text] = {};
    EXPECT_EQ(
        MPI_Accumulate(text, sizeof text, MPI_CHAR, 0, across, sizeof text, MPI_CHAR, MPI_REPLACE, window),
        MPI_SUCCESS);
    EXPECT_EQ(MPI_Get(found, sizeof text, MPI_CHAR, 0, across, sizeof text, MPI_CHAR, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(0, window), MPI_SUCCESS);
    EXPECT_STREQ(found, text);
    EXPECT_EQ(class_of(MPI_Put(values, 2, MPI_LONG, 0, 2 * stripe - 8, 2, MPI_LONG, window)),
              MPI_ERR_RMA_RANGE);
  }
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, QueuedRequestReportsElementAcrossBorder) {
  constexpr int holder = 0;
  constexpr int origin = 1;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(allocate(2 * stripe, 1, "4096", "deep_nam", &window), MPI_SUCCESS);
  if (rank_ == holder) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, holder, 0, window);
  MPI_Barrier(world);
  if (rank_ == origin) {
    long const values[] = {3, 5};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(
        MPI_Raccumulate(values, 2, MPI_LONG, holder, stripe - 12, 2, MPI_LONG, MPI_SUM, window, &request),
        MPI_SUCCESS);
    MPI_Send(nullptr, 0, MPI_BYTE, holder, 0, world);
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_DISP);
    MPI_Win_unlock_all(window);
  } else if (rank_ == holder) {
    MPI_Recv(nullptr, 0, MPI_BYTE, origin, 0, world, MPI_STATUS_IGNORE);
    MPI_Win_unlock(holder, window);
  }
  MPI_Barrier(world);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, LockCoversAllStripes) {
  constexpr long rounds = 30;
  MPI_Win window = make();
  for (long i = 0; i < rounds; ++i) {
    long values[2] = {};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 % size_, 0, window);
    for (int k = 0; k < 2; ++k)
      MPI_Get(&values[k], 1, MPI_LONG, 1 % size_, k * stripe_longs, 1, MPI_LONG, window);
    MPI_Win_flush(1 % size_, window);
    EXPECT_EQ(values[0], values[1]);
    for (int k = 0; k < 2; ++k) {
      ++values[k];
      MPI_Put(&values[k], 1, MPI_LONG, 1 % size_, k * stripe_longs, 1, MPI_LONG, window);
    }
    MPI_Win_unlock(1 % size_, window);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_SHARED, 1 % size_, 0, window);
  long found = 0;
  MPI_Get(&found, 1, MPI_LONG, 1 % size_, stripe_longs, 1, MPI_LONG, window);
  MPI_Win_unlock(1 % size_, window);
  EXPECT_EQ(found, rounds * size_);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, RequestsAreCompleteWhenAllStripesAre) {
  MPI_Win window = make();
  std::vector<long> const values = values_for(next_);
  std::vector<long> found(values.size());
  auto const count = static_cast<int>(values.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(MPI_Rput(values.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, window, &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Win_iflush(next_, window, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Rget(found.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, window, &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(found, values);
  EXPECT_EQ(MPI_Rget_accumulate(values.data(), count, MPI_LONG, found.data(), count, MPI_LONG, next_, 0,
                                count, MPI_LONG, MPI_SUM, window, &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(found, values);
  EXPECT_EQ(MPI_Win_flush_local(next_, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Raccumulate(values.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, MPI_REPLACE, window,
                            &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(content(window, next_), values);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, OrderAndNotificationCoverAllStripes) {
  MPI_Win window = make();
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  int num = 0;
  EXPECT_EQ(MPIX_Win_get_num_notify(window, next_, &num), MPI_SUCCESS);
  EXPECT_EQ(num, 1);
  std::vector<long> const first(values_for(next_).size(), -1);
  std::vector<long> const values = values_for(next_);
  auto const count = static_cast<int>(values.size());
  MPI_Win_lock_all(0, window);
  MPI_Put(first.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, window);
  EXPECT_EQ(MPIX_Win_order(next_, window), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Put_notify(values.data(), count, MPI_LONG, next_, 0, count, MPI_LONG, 0, window),
            MPI_SUCCESS);
  MPI_Request notified = MPI_REQUEST_NULL;
  EXPECT_EQ(MPIX_Win_wait_notify_value(window, 0, 1, &notified), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&notified, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(content(window, rank_), values_for(rank_));
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamStriped, RefusesInvalidSizesOfStripes) {
  for (char const* const size : {"0", "100", "4K", "", "-4096", "6000"}) {
    MPI_Win window = MPI_WIN_NULL;
    int const code = allocate(stripe, 8, size, "deep_nam", &window);
    if (*size == '\0') {
      ASSERT_EQ(code, MPI_SUCCESS);  // not given
      EXPECT_EQ(value_of(window, "mpix_nam_stripe"), "");
      EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
      continue;
    }
    EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << size;
    EXPECT_NE(text_of(code).find("multiple of 4096"), std::string::npos) << text_of(code);
  }
}

TEST_F(NamStriped, StripesOfOtherServersSurviveEndOfServer) {
  MPI_Win window = make("deep_nam_persistent");
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  std::string const port = value_of(window, "deep_win_port_name");
  MPI_Win_lock_all(0, window);
  fill(window);
  MPI_Barrier(world);
  EXPECT_EQ(MPIX_Win_persist(window), MPI_SUCCESS);
  MPI_Barrier(world);
  if (rank_ == 0) job->kill(1);
  MPI_Barrier(world);
  std::vector<long> values(3 * stripe_longs);
  EXPECT_TRUE(nam::eventually([&] {
    return class_of(outcome_of(
               MPI_Get(values.data(), 3 * stripe_longs, MPI_LONG, 0, 0, 3 * stripe_longs, MPI_LONG, window),
               0, window)) == MPI_ERR_WIN;
  }));
  EXPECT_EQ(outcome_of(MPI_Get(values.data(), 2, MPI_LONG, 0, 3, 2, MPI_LONG, window), 0, window),
            MPI_SUCCESS);
  EXPECT_EQ(values[1], values_for(0)[4]);
  // A notified operation whose data do not all arrive does not count. These change nothing.
  values = values_for(0);
  EXPECT_EQ(class_of(MPIX_Put_notify(values.data(), 3 * stripe_longs, MPI_LONG, 0, 0, 3 * stripe_longs,
                                     MPI_LONG, 0, window)),
            MPI_ERR_WIN);
  MPI_Barrier(world);
  MPI_Count counted = -1;
  EXPECT_EQ(MPIX_Win_get_notify_value(window, 0, &counted), MPI_SUCCESS);
  EXPECT_EQ(counted, 0);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  MPI_Barrier(world);
  if (rank_ == 0) job->start_again(1);
  MPI_Barrier(world);
  expect_filled(port, world);
  evict_from_rank_0(port);
}

}  // namespace
}  // namespace mpixrma::test

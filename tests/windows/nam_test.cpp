/// Windows whose memory is at a memory server, through MPI's interface alone. Rank 0 starts the server.
#include "tests/windows/nam_support.hpp"
#include "tests/windows/performance_variable.hpp"

namespace mpixrma::test {
namespace {

JobServers* const job = JobServers::begin();

/// Fixture in which errors of window creation are returned.
class NamTest : public WindowTest {
 protected:
  NamTest() { MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN); }
  ~NamTest() override { MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL); }

  /// Allocates a window. Returns an error code.
  int allocate(MPI_Aint bytes, int unit, char const* kind, MPI_Win* window) {
    Info const info{{"deep_mem_kind", kind}};
    return allocate(bytes, unit, info.get(), window);
  }
  int allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Win* window) {
    void* base = this;  // not null, so that the call must set it
    int const code = MPI_Win_allocate(bytes, unit, info, world, &base, window);
    if (code == MPI_SUCCESS) {
      EXPECT_EQ(base, nullptr);
      MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
    }
    return code;
  }
  /// Makes a window of zeroes.
  MPI_Win make(MPI_Aint bytes, int unit = 1, char const* kind = "deep_nam") {
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(allocate(bytes, unit, kind, &window), MPI_SUCCESS);
    return window;
  }
  /// Connects with the persistent window of this port name.
  int connect(std::string const& port, MPI_Win* window) {
    Info const info{{"deep_win_port_name", port.c_str()}};
    int const code = MPI_Win_create_dynamic(info.get(), world, window);
    if (code == MPI_SUCCESS) MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
    return code;
  }
  template <typename Value>
  Value value_at(MPI_Win window, int rank, MPI_Aint disp, MPI_Datatype type) {
    Value value{};
    MPI_Get(&value, 1, type, rank, disp, 1, type, window);
    MPI_Win_flush(rank, window);
    return value;
  }
};

TEST_F(NamTest, N_01_put_and_get_between_fences_with_sizes_and_units_of_each_rank) {
  int const unit = rank_ % 2 == 0 ? 8 : 4;
  MPI_Win window = make(8 * (rank_ + 2), unit);
  MPI_Win_fence(0, window);
  std::vector<long> put(static_cast<std::size_t>(size_));
  for (int target = 0; target < size_; ++target) {
    long& value = put[static_cast<std::size_t>(target)];
    value = 100 * rank_ + target;
    if (rank_ == (target + 1) % size_)
      EXPECT_EQ(
          MPI_Put(&value, 1, MPI_LONG, target, (target + 1) * (target % 2 == 0 ? 1 : 2), 1, MPI_LONG, window),
          MPI_SUCCESS);
  }
  MPI_Win_fence(0, window);
  for (int target = 0; target < size_; ++target) {
    long values[2] = {-1, -1};
    MPI_Get(values, 2, MPI_LONG, target, target * (target % 2 == 0 ? 1 : 2), 2, MPI_LONG, window);
    MPI_Win_fence(0, window);
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[1], 100 * ((target + 1) % size_) + target);
  }
  long const beyond = 1;
  EXPECT_EQ(class_of(MPI_Put(&beyond, 1, MPI_LONG, next_, 1000, 1, MPI_LONG, window)), MPI_ERR_RMA_RANGE);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, N_02_window_of_one_rank_lies_at_that_rank) {
  MPI_Win window = make(rank_ == 0 ? 8 * size_ : 0, 8);
  long const value = 10 + rank_;
  MPI_Win_fence(0, window);
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, 0, rank_, 1, MPI_LONG, window), MPI_SUCCESS);
  for (int target = 1; target < size_; ++target)
    EXPECT_EQ(class_of(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window)), MPI_ERR_RMA_RANGE);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(value_at<long>(window, 0, rank, MPI_LONG), 10 + rank);
  MPI_Win_unlock(0, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, N_06_operations_of_all_ranks_on_one_element_are_atomic) {
  constexpr int rounds = 200;
  MPI_Win window = make(rank_ == 0 ? 64 : 0, 8);
  MPI_Win_lock_all(0, window);
  long const one = 1;
  double const half = 0.5;
  long before = 0;
  long last = -1;
  for (int i = 0; i < rounds; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    EXPECT_GT(before, last);
    last = before;
    MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, window);
    long const twice[2] = {one, one};
    long previous[2];
    MPI_Get_accumulate(twice, 2, MPI_LONG, previous, 2, MPI_LONG, 0, 2, 2, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(0, window);
    EXPECT_LE(previous[0], rounds * size_);
    long seen = value_at<long>(window, 0, 4, MPI_LONG);
    for (long found = seen;; seen = found) {
      long const next = seen + 1;
      MPI_Compare_and_swap(&next, &seen, &found, MPI_LONG, 0, 4, window);
      MPI_Win_flush(0, window);
      if (found == seen) break;
    }
  }
  MPI_Barrier(world);
  long const all = static_cast<long>(rounds) * size_;
  EXPECT_EQ(value_at<long>(window, 0, 0, MPI_LONG), all);
  EXPECT_EQ(value_at<double>(window, 0, 1, MPI_DOUBLE), 0.5 * static_cast<double>(all));
  EXPECT_EQ(value_at<long>(window, 0, 2, MPI_LONG), all);
  EXPECT_EQ(value_at<long>(window, 0, 3, MPI_LONG), all);
  EXPECT_EQ(value_at<long>(window, 0, 4, MPI_LONG), all);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

/// Whether the server and the job both use UCX's put and get.
bool have_keys() {
  auto const is_emulated = [](char const* name) {
    char const* const given = std::getenv(name);
    return given != nullptr && std::string_view(given) == "emulated";
  };
  return is_emulated("MPIX_NAMD_RDMA") && is_emulated("OMPI_MCA_osc_mpix_network");
}

TEST_F(NamTest, UcxPutsAndGetsIfBothSidesAllowIt) {
  PerformanceVariable const operations("osc_mpix_operations_network", MPI_T_PVAR_CLASS_COUNTER);
  MPI_Win window = make(8 * size_, 8);
  long const value = 100 + rank_;
  bool const by_key = have_keys() && is_remote(rank_, next_);
  MPI_Win_lock_all(0, window);
  // The server makes the key when a client first asks for the key.
  while (by_key && operations.value() == 0) (void)value_at<long>(window, next_, rank_, MPI_LONG);
  std::uint64_t const before = operations.value();
  MPI_Put(&value, 1, MPI_LONG, next_, rank_, 1, MPI_LONG, window);
  MPI_Win_flush(next_, window);
  EXPECT_EQ(value_at<long>(window, next_, rank_, MPI_LONG), value);
  EXPECT_EQ(operations.value() - before, by_key ? 2u : 0u);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, N_06_post_and_start_order_puts) {
  MPI_Win window = make(8, 8);
  MPI_Group everybody = MPI_GROUP_NULL;
  MPI_Group to = MPI_GROUP_NULL;
  MPI_Group from = MPI_GROUP_NULL;
  MPI_Comm_group(world, &everybody);
  MPI_Group_incl(everybody, 1, &next_, &to);
  MPI_Group_incl(everybody, 1, &previous_, &from);
  for (long round = 1; round <= 20; ++round) {
    long const value = 1000 * rank_ + round;
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(&value, 1, MPI_LONG, next_, 0, 1, MPI_LONG, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window);
    EXPECT_EQ(value_at<long>(window, rank_, 0, MPI_LONG), 1000 * previous_ + round);
    MPI_Win_unlock(rank_, window);
  }
  for (MPI_Group* group : {&everybody, &to, &from}) MPI_Group_free(group);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, LocksAreExclusiveOrShared) {
  constexpr int rounds = 50;
  MPI_Win window = make(16, 8);
  for (int i = 0; i < rounds; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    long const next = value_at<long>(window, 0, 0, MPI_LONG) + 1;
    MPI_Put(&next, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Barrier(world);  // all have it together
  EXPECT_EQ(value_at<long>(window, 0, 0, MPI_LONG), static_cast<long>(rounds) * size_);
  MPI_Win_unlock(0, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, N_06_requests_and_derived_datatypes) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win window = make(12 * sizeof(int), sizeof(int));
  MPI_Win_lock_all(0, window);
  int const values[4] = {rank_, rank_ + 1, rank_ + 2, rank_ + 3};
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Rput(values, 4, MPI_INT, next_, 1, 1, column, window, &request), MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_all(window);
  MPI_Barrier(world);
  int found[12] = {};
  EXPECT_EQ(MPI_Rget(found, 12, MPI_INT, rank_, 0, 12, MPI_INT, window, &request), MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(found[i], i % 3 == 1 ? previous_ + i / 3 : 0) << i;
  EXPECT_EQ(class_of(MPI_Rput(values, 4, MPI_INT, next_, 11, 4, MPI_INT, window, &request)),
            MPI_ERR_RMA_RANGE);
  MPI_Win_unlock_all(window);
  MPI_Type_free(&column);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, WindowAttributes) {
  MPI_Win window = make(80, 8);
  EXPECT_EQ(value_of(window, "deep_mem_kind"), "deep_nam");
  EXPECT_EQ(value_of(window, "deep_win_port_name"), "");
  MPI_Aint size = 0;
  int unit = 0;
  long* base = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window, next_, &size, &unit, &base), MPI_SUCCESS);
  EXPECT_EQ(size, is_remote(rank_, next_) ? 0 : 80);
  EXPECT_EQ(unit, 8);
  ASSERT_EQ(base == nullptr, is_remote(rank_, next_));
  MPI_Win_lock_all(0, window);
  long const told = 7 + rank_;
  if (base != nullptr) {
    base[3] = told;
  } else {
    MPI_Put(&told, 1, MPI_LONG, next_, 3, 1, MPI_LONG, window);
    MPI_Win_flush(next_, window);
  }
  MPI_Win_sync(window);
  MPI_Barrier(world);
  EXPECT_EQ(value_at<long>(window, rank_, 3, MPI_LONG), 7 + previous_);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  Info const none{};
  MPI_Win host = MPI_WIN_NULL;
  void* memory = nullptr;
  MPI_Win_allocate(8, 8, none.get(), world, &memory, &host);
  EXPECT_EQ(value_of(host, "deep_mem_kind"), "");
  EXPECT_EQ(value_of(host, "deep_win_port_name"), "");
  MPI_Win_free(&host);
}

TEST_F(NamTest, N_04_memory_of_freed_window_is_empty_in_the_next_one) {
  MPI_Win kept = make(64, 8);
  for (int round = 0; round < 20; ++round) {
    MPI_Win window = make(64 + round / 10, 8);
    MPI_Win_lock_all(0, window);
    for (int disp : {0, 7}) EXPECT_EQ(value_at<long>(window, next_, disp, MPI_LONG), 0);
    MPI_Barrier(world);
    long const told = round + 1;
    for (int disp : {0, 7}) MPI_Put(&told, 1, MPI_LONG, next_, disp, 1, MPI_LONG, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(value_at<long>(window, rank_, 7, MPI_LONG), told);
    MPI_Win_unlock_all(window);
    if (round % 3 == 2) std::swap(kept, window);  // freed memory lies between used memory
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Win_free(&kept), MPI_SUCCESS);
}

TEST_F(NamTest, N_04_excess_over_the_grant_is_refused_to_all_and_reported) {
  for (int i = 0; i < 40; ++i) {  // segments come and go
    MPI_Win half = make(static_cast<MPI_Aint>(grant_bytes) / 2 / size_);
    EXPECT_EQ(MPI_Win_free(&half), MPI_SUCCESS);
  }
  MPI_Win window = MPI_WIN_NULL;
  int const code = allocate(rank_ == 0 ? 2 * grant_bytes : 0, 1, "deep_nam", &window);
  EXPECT_EQ(class_of(code), MPI_ERR_WIN);  // Open MPI replaces the class
  MPI_Win again = make(1000);
  EXPECT_EQ(MPI_Win_free(&again), MPI_SUCCESS);
}

TEST_F(NamTest, N_03_kinds_of_memory_are_not_mixed) {
  if (size_ == 1) GTEST_SKIP() << "one rank has one kind";
  Info const none{};
  Info const nam{{"deep_mem_kind", "deep_nam"}};
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  int const code = MPI_Win_allocate(64, 1, rank_ == 0 ? none.get() : nam.get(), world, &base, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_WIN);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
}

TEST_F(NamTest, N_11_persistent_window_is_found_with_its_segmentation) {
  MPI_Win window = make(8 * (rank_ + 1), 8, "deep_nam_persistent");
  std::string const port = value_of(window, "deep_win_port_name");
  EXPECT_LT(port.size(), 256u);
  MPI_Win_lock_all(0, window);
  long const value = 77 + rank_;
  MPI_Put(&value, 1, MPI_LONG, rank_, rank_, 1, MPI_LONG, window);
  MPI_Win_unlock_all(window);
  MPI_Win second = MPI_WIN_NULL;  // while the creator still uses it
  ASSERT_EQ(connect(port, &second), MPI_SUCCESS);
  MPI_Win_fence(0, second);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, second);
  EXPECT_EQ(value_at<long>(second, rank_, rank_, MPI_LONG), value);
  MPI_Win_unlock(rank_, second);
  EXPECT_EQ(MPI_Win_free(&second), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);

  // Connected by a single process, although more processes have created the window.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_win_port_name", port.c_str());
  ASSERT_EQ(MPI_Win_create_dynamic(info, MPI_COMM_SELF, &window), MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, window);
  for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(value_at<long>(window, rank, rank, MPI_LONG), 77 + rank);
  long const none = 0;
  EXPECT_EQ(class_of(MPI_Put(&none, 1, MPI_LONG, size_, 0, 1, MPI_LONG, window)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPI_Put(&none, 1, MPI_LONG, 0, 1, 1, MPI_LONG, window)), MPI_ERR_RMA_RANGE);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(class_of(MPI_Win_post(MPI_GROUP_EMPTY, 0, window)), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, WindowsOfOneProcessExcludeEachOther) {
  MPI_Win window = make(8, 8, "deep_nam_persistent");
  MPI_Win other = MPI_WIN_NULL;
  ASSERT_EQ(connect(value_of(window, "deep_win_port_name"), &other), MPI_SUCCESS);
  for (int i = 0; i < 50; ++i) {
    MPI_Win const used = i % 2 == 0 ? window : other;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, used);
    long const next = value_at<long>(used, 0, 0, MPI_LONG) + 1;
    MPI_Put(&next, 1, MPI_LONG, 0, 0, 1, MPI_LONG, used);
    MPI_Win_unlock(0, used);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, other);
  EXPECT_EQ(value_at<long>(other, 0, 0, MPI_LONG), 50 * size_);
  MPI_Win_unlock(0, other);
  EXPECT_EQ(MPI_Win_free(&other), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamTest, InvalidPortsAreRefused) {
  MPI_Win window = MPI_WIN_NULL;
  std::string const port = port_of_no_window(job->grants().front());
  EXPECT_EQ(class_of(connect(port, &window)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(connect("nonsense", &window)), MPI_ERR_WIN);
}

TEST_F(NamTest, OperationsOnEvictedWindowFail) {
  MPI_Win window = make(8, 8, "deep_nam_persistent");
  MPI_Win_lock_all(0, window);
  long const value = 1;
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, next_, 0, 1, MPI_LONG, window), MPI_SUCCESS);
  std::string const port = value_of(window, "deep_win_port_name");
  MPI_Barrier(world);
  if (rank_ == 0) evict(port);
  MPI_Barrier(world);
  auto const outcome = [&](int code) { return class_of(outcome_of(code, next_, window)); };
  EXPECT_TRUE(nam::eventually(
      [&] { return outcome(MPI_Put(&value, 1, MPI_LONG, next_, 0, 1, MPI_LONG, window)) == MPI_ERR_WIN; }));
  long before = 0;
  EXPECT_EQ(outcome(MPI_Fetch_and_op(&value, &before, MPI_LONG, next_, 0, MPI_SUM, window)), MPI_ERR_WIN);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test

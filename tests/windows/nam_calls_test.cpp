/// The library's calls for windows at a memory server, and MPI's calls that it replaces.
#include <dlfcn.h>
#include <malloc.h>
#include <mpix_rma.h>
#include <unistd.h>

#include "tests/windows/nam_calls.hpp"
#include "tests/windows/refused_memory.hpp"

namespace {

/// The size of groups for which Open MPI finds no memory in this process; 0: none.
int refused_group = 0;

/// Implements Open MPI's ompi_group_allocate.
template <typename... Arguments>
void* allocate_group(int size, Arguments... arguments) {
  static auto* const next =
      reinterpret_cast<void* (*)(Arguments...)>(::dlsym(RTLD_NEXT, "ompi_group_allocate"));
  return size == refused_group ? nullptr : next(arguments...);
}

}  // namespace

#if OMPI_MAJOR_VERSION >= 5
extern "C" __attribute__((visibility("default"))) void* ompi_group_allocate(void* other, int size) {
  return allocate_group(size, other, size);
}
#else
extern "C" __attribute__((visibility("default"))) void* ompi_group_allocate(int size) {
  return allocate_group(size, size);
}
#endif

namespace mpixrma::test {
namespace {

JobServers* const job = JobServers::begin();

TEST_F(NamCalls, N_03_kinds_of_memory_are_not_mixed) {
  if (size_ == 1) GTEST_SKIP() << "one rank has one kind";
  Info const nam{{"deep_mem_kind", "deep_nam"}};
  Info const persistent{{"deep_mem_kind", "deep_nam_persistent"}};
  MPI_Win window = MPI_WIN_NULL;
  int code = MPIX_Win_allocate_nam(8, 1, rank_ == 0 ? persistent.get() : nam.get(), world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  void* base = nullptr;
  code = MPI_Win_allocate(8, 1, rank_ == 0 ? persistent.get() : nam.get(), world, &base, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
  // The call of a process that names no kind is Open MPI's.
  code = MPI_Win_allocate(8, 1, rank_ == 0 ? MPI_INFO_NULL : nam.get(), world, &base, &window);
  EXPECT_EQ(class_of(code), rank_ == 0 ? MPI_ERR_WIN : MPI_ERR_INFO_VALUE) << text_of(code);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
}

TEST_F(NamCalls, N_04_errors_report_remaining_memory) {
  Info const info{{"deep_mem_kind", "deep_nam"}};
  MPI_Win window = MPI_WIN_NULL;
  int const code = MPI_Win_allocate(rank_ == 0 ? 2 * grant_bytes : 0, 1, info.get(), world, nullptr, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM);
  EXPECT_NE(text_of(code).find("has 8M left"), std::string::npos) << text_of(code);
}

TEST_F(NamCalls, N_05_function_without_base_address_creates_the_window) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_allocate_nam(8 * (rank_ + 1), 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  EXPECT_EQ(value_of(window, "deep_mem_kind"), "deep_nam");
  fill(window);
  expect_window(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamCalls, N_21_handle_does_not_support_communication) {
  MPI_Comm connection = MPI_COMM_NULL;
  ASSERT_EQ(connect(leave_window(), 0, world, &connection), MPI_SUCCESS);
  int count = 0;
  EXPECT_EQ(class_of(MPI_Barrier(connection)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPI_Comm_size(connection, &count)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPI_Send(&count, 1, MPI_INT, 0, 0, connection)), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_disconnect(&connection), MPI_SUCCESS);
  EXPECT_EQ(connection, MPI_COMM_NULL);
}

TEST_F(NamCalls, N_25_processes_connect_each_for_itself) {
  std::string const port = leave_window();
  MPI_Comm connection = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(connect(port, 0, MPI_COMM_SELF, &connection), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, connection, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_free(&connection), MPI_SUCCESS);
  expect_window(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &window), MPI_SUCCESS);
  expect_window(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamCalls, N_10_content_outlives_the_window) {
  Info const info{{"deep_mem_kind", "deep_nam_persistent"}};
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(sizeof(int), sizeof(int), info.get(), world, nullptr, &window), MPI_SUCCESS);
  int const value = 70 + rank_;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, rank_, 0, 1, MPI_INT, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  std::string const port = value_of(window, "deep_win_port_name");
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  EXPECT_NE(port, "");
  EXPECT_LT(port.size(), 256u);
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  int found = 0;
  MPI_Win_fence(0, window);
  MPI_Get(&found, 1, MPI_INT, next_, 0, 1, MPI_INT, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  EXPECT_EQ(found, 70 + next_);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamCalls, N_22_handle_creates_any_number_of_windows) {
  MPI_Comm connection = MPI_COMM_NULL;
  ASSERT_EQ(connect(leave_window(), 0, world, &connection), MPI_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    MPI_Win window = MPI_WIN_NULL;
    ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, connection, &window), MPI_SUCCESS);
    expect_window(window);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Comm_free(&connection), MPI_SUCCESS);
}

TEST_F(NamCalls, N_22_handle_has_the_number_of_regions) {
  MPI_Comm connection = MPI_COMM_NULL;
  ASSERT_EQ(connect(leave_window(), 0, MPI_COMM_SELF, &connection), MPI_SUCCESS);
  int ranks = 0;
  EXPECT_EQ(MPI_Comm_remote_size(connection, &ranks), MPI_SUCCESS);
  EXPECT_EQ(ranks, size_);
  EXPECT_EQ(MPI_Comm_free(&connection), MPI_SUCCESS);
}

TEST_F(NamCalls, N_22_windows_outlive_the_handle) {
  MPI_Comm connection = MPI_COMM_NULL;
  ASSERT_EQ(connect(leave_window(), 0, world, &connection), MPI_SUCCESS);
  MPI_Win windows[2] = {MPI_WIN_NULL, MPI_WIN_NULL};
  for (MPI_Win& window : windows)
    ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, connection, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_disconnect(&connection), MPI_SUCCESS);
  for (MPI_Win& window : windows) {
    expect_window(window);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
}

/// A window in which every rank has another size, and every other rank another displacement unit.
class Segmentation : public NamCalls {
 protected:
  Segmentation() {
    EXPECT_EQ(MPIX_Win_connect(leave_window().c_str(), MPI_INFO_NULL, 0, world, &window_), MPI_SUCCESS);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  }
  ~Segmentation() override { EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS); }
  int unit_of(int rank) const override { return rank % 2 == 0 ? 8 : 4; }
  MPI_Win window_ = MPI_WIN_NULL;
};

TEST_F(Segmentation, N_23_is_retained) {
  expect_window(window_);
  long const value = 1;
  for (int rank = 0; rank < size_; ++rank) {
    MPI_Aint const beyond = last(rank) + 8 / unit_of(rank);
    EXPECT_EQ(class_of(MPI_Put(&value, 1, MPI_LONG, rank, beyond, 1, MPI_LONG, window_)), MPI_ERR_RMA_RANGE);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
}

TEST_F(Segmentation, N_24_is_reported_by_attributes) { expect_attributes(window_); }

TEST_F(Segmentation, N_26_is_reported_for_a_rank) {
  for (int rank = 0; rank < size_; ++rank) {
    MPI_Aint bytes = 0;
    int unit = 0;
    EXPECT_EQ(MPIX_Win_query(window_, rank, &bytes, &unit), MPI_SUCCESS);
    EXPECT_EQ(bytes, 8 * (rank + 1));
    EXPECT_EQ(unit, unit_of(rank));
  }
}

TEST_F(NamCalls, N_20_port_and_info_object_are_those_of_the_root) {
  MPI_Comm connection = MPI_COMM_NULL;
  ASSERT_EQ(connect(leave_window(), size_ - 1, world, &connection), MPI_SUCCESS);
  int inter = 0;
  EXPECT_EQ(MPI_Comm_test_inter(connection, &inter), MPI_SUCCESS);
  EXPECT_EQ(inter, 1);
  EXPECT_EQ(MPI_Comm_free(&connection), MPI_SUCCESS);
}

TEST_F(NamCalls, N_20_ports_of_no_window_and_without_the_key) {
  std::string const port = port_of_no_window(job->grants().front());
  MPI_Comm connection = MPI_COMM_NULL;
  int code = connect(port, 0, world, &connection);
  EXPECT_EQ(class_of(code), MPI_ERR_PORT) << text_of(code);
  code = MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, world, &connection);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_NOKEY) << text_of(code);
  EXPECT_EQ(connection, MPI_COMM_NULL);
  MPI_Win window = MPI_WIN_NULL;
  for (char const* const wrong : {"mpix-nam://nothing", "nothing", "", static_cast<char const*>(nullptr)}) {
    code = MPIX_Win_connect(wrong, MPI_INFO_NULL, 0, world, &window);
    EXPECT_EQ(class_of(code), MPI_ERR_PORT) << text_of(code);
  }
}

TEST_F(NamCalls, InvalidSizeOfOneProcessIsAnErrorOfAll) {
  MPI_Win window = MPI_WIN_NULL;
  bool const last = rank_ == size_ - 1;
  int code = MPIX_Win_allocate_nam(last ? -5 : 8, 1, MPI_INFO_NULL, world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_SIZE) << text_of(code);
  EXPECT_TRUE(!last || text_of(code).find("size -5 is negative") != std::string::npos) << text_of(code);
  code = MPIX_Win_allocate_nam(8, last ? 0 : 1, MPI_INFO_NULL, world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_DISP) << text_of(code);
  EXPECT_EQ(window, MPI_WIN_NULL);
}

TEST_F(NamCalls, UnknownKindsAndModesAreErrors) {
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  Info const kind{{"deep_mem_kind", "deep_nvm"}};
  int code = MPI_Win_allocate(8, 8, kind.get(), world, &base, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  code = MPIX_Win_allocate_nam(8, 8, kind.get(), world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  for (auto const& [key, value] : {std::pair{"mpix_nam_mode", "rw"}, {"mpix_nam_durability", "forever"}}) {
    Info const info{{"deep_mem_kind", "deep_nam"}, {key, value}};
    code = MPIX_Win_allocate_nam(8, 8, info.get(), world, &window);
    EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  }
}

TEST_F(NamCalls, WrongArgumentOfOneProcessIsAnErrorAtAll) {
  bool const last = rank_ == size_ - 1;
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  Info const kind{{"deep_mem_kind", last ? "deep_nvm" : "deep_nam"}};
  int code = MPI_Win_allocate(8, 8, kind.get(), world, &base, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_INFO_VALUE) << text_of(code);
  code = MPIX_Win_allocate_nam(8, 8, MPI_INFO_NULL, world, last ? nullptr : &window);
  EXPECT_EQ(class_of(code), MPI_ERR_ARG) << text_of(code);
  EXPECT_EQ(window, MPI_WIN_NULL);
}

TEST_F(NamCalls, PersistentWindowIsMadeDurable) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_connect(leave_window().c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Win_persist(window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Win_allocate_nam(8, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  EXPECT_EQ(class_of(MPIX_Win_persist(window)), MPI_ERR_WIN);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  Info const durable{{"deep_mem_kind", "deep_nam_persistent"}, {"mpix_nam_durability", "storage"}};
  int const code = MPIX_Win_allocate_nam(8, 8, durable.get(), world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION)
      << text_of(code);  // the server's storage is memory
}

TEST_F(NamCalls, OrderFlushesAndNotificationMatchOtherWindows) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_allocate_nam(64, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  int num = -1;
  EXPECT_EQ(MPIX_Win_get_num_notify(window, next_, &num), MPI_SUCCESS);
  EXPECT_EQ(num, 1);
  long const values[] = {7 + rank_, 8 + rank_};
  long read = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(MPIX_Put_notify(values, 1, MPI_LONG, next_, 0, 1, MPI_LONG, 0, window), MPI_SUCCESS);
  MPI_Request notified = MPI_REQUEST_NULL;
  EXPECT_EQ(MPIX_Win_wait_notify_value(window, 0, 1, &notified), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&notified, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Get(&read, 1, MPI_LONG, rank_, 0, 1, MPI_LONG, window);
  EXPECT_EQ(MPI_Win_flush(rank_, window), MPI_SUCCESS);
  EXPECT_EQ(read, 7 + (rank_ + size_ - 1) % size_);
  MPI_Put(&values[0], 1, MPI_LONG, next_, 1, 1, MPI_LONG, window);
  EXPECT_EQ(MPIX_Win_order(next_, window), MPI_SUCCESS);
  MPI_Put(&values[1], 1, MPI_LONG, next_, 1, 1, MPI_LONG, window);
  EXPECT_EQ(MPIX_Win_iflush(next_, window, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Get(&read, 1, MPI_LONG, next_, 1, 1, MPI_LONG, window);
  EXPECT_EQ(MPIX_Win_flush_windows(1, &window), MPI_SUCCESS);
  EXPECT_EQ(read, 8 + rank_);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

/// Makes a persistent window of one rank, in a grant with which rank 0 alone has a session.
std::string leave_window_of_rank_0() {
  char port[nam::port_name_limit] = "";
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (rank == 0) {
    Environment const there("MPIX_NAM_ALLOCATION", nam::format(job->server().grant(1u << 16)));
    Info const info{{"deep_mem_kind", "deep_nam_persistent"}};
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(MPIX_Win_allocate_nam(8, 8, info.get(), MPI_COMM_SELF, &window), MPI_SUCCESS);
    std::ranges::copy(value_of(window, "deep_win_port_name"), port);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, world);
  return port;
}

TEST_F(NamCalls, WindowSurvivesFailedConnection) {
  if (!is_remote(1, 0) || is_remote(0, 0)) GTEST_SKIP() << "all processes are known by the system";
  std::string const port = leave_window_of_rank_0();
  MPI_Win window = MPI_WIN_NULL;
  {
    Environment const unknown("MPIX_NAM_SECRET_FILE", "/nowhere");
    int const code = MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window);
    EXPECT_EQ(class_of(code), MPI_ERR_ACCESS) << text_of(code);
  }
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

/// The window has fewer ranks than the connection, so that Open MPI needs a group for it.
TEST_F(NamCalls, ConnectionFailsAtAllRanksIfOneHasNoMemoryForTheGroup) {
  if (size_ == 1) GTEST_SKIP() << "the window has as many ranks as the connection";
  std::string const port = leave_window_of_rank_0();
  MPI_Win window = MPI_WIN_NULL;
  std::size_t before = 0;
  constexpr std::size_t rounds = 20;
  constexpr std::size_t least_bytes_of_window = 500;
  for (std::size_t round = 0; round < 2 * rounds; ++round) {
    if (round == rounds) before = ::mallinfo2().uordblks;
    refused_group = rank_ == 1 ? 1 : 0;
    int const code = MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window);
    refused_group = 0;
    EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM) << text_of(code);
    EXPECT_EQ(window, MPI_WIN_NULL);
  }
  EXPECT_LT(::mallinfo2().uordblks, before + rounds * least_bytes_of_window) << "windows are left";
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamCalls, ConnectionFailsAtAllRanksIfOneHasNoMemoryForTheWindow) {
  std::string const port = leave_window_of_rank_0();
  MPI_Win window = MPI_WIN_NULL;
  for (Refused const what : refusable(size_)) {
    for (int const lacking : {0, size_ - 1}) {
      RefusedScope const scope(rank_ == lacking ? what : Refused::nothing);
      int const code = MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window);
      EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM) << text_of(code);
      EXPECT_EQ(window, MPI_WIN_NULL);
      EXPECT_EQ(refusals, rank_ == lacking ? 1 : 0);
    }
  }
  ASSERT_EQ(MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamCalls, OtherWindowsHaveNoSuchAttributes) {
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  ASSERT_EQ(MPI_Win_allocate(16, 4, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  EXPECT_NE(base, nullptr);
  void* value = nullptr;
  int found = 1;
  MPI_Win_get_attr(window, MPIX_WIN_SIZES, static_cast<void*>(&value), &found);
  EXPECT_EQ(found, 0);
  MPI_Aint size = 0;
  int unit = 0;
  EXPECT_EQ(MPIX_Win_query(window, next_, &size, &unit), MPI_SUCCESS);
  EXPECT_EQ(size, 16);
  EXPECT_EQ(unit, 4);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  EXPECT_EQ(class_of(MPIX_Win_query(window, size_, &size, &unit)), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_NE(text_of(MPIX_Win_query(MPI_WIN_NULL, 0, &size, &unit)).find("win is MPI_WIN_NULL"),
            std::string::npos);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  EXPECT_EQ(MPIX_RMA_Keyval("MPIX_WIN_NONE"), MPI_KEYVAL_INVALID);
}

}  // namespace
}  // namespace mpixrma::test

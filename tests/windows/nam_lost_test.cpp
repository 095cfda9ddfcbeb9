/// Windows at a memory server whose processes are killed while the windows are used.
#include <arpa/inet.h>
#include <mpix_rma.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/windows/nam_support.hpp"

namespace mpixrma::test {
namespace {

JobServers* const job = JobServers::begin({"--size", "64M", "--listen", "none", "--storage", "file"});

class LostServer : public WindowTest {
 protected:
  LostServer() { MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN); }
  ~LostServer() override { MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL); }

  /// Makes a window with two elements at each rank, of which the first one is 5.
  MPI_Win make(char const* kind) {
    Info const info{{"deep_mem_kind", kind}};
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(MPI_Win_allocate(2 * sizeof(long), sizeof(long), info.get(), world, nullptr, &window),
              MPI_SUCCESS);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    long const value = 5;
    MPI_Win_fence(0, window);
    EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, next_, 0, 1, MPI_LONG, window), MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    return window;
  }
  void kill_server() {
    MPI_Barrier(world);
    if (rank_ == 0) job->kill();
    MPI_Barrier(world);
  }
  void start_server() {
    if (rank_ == 0) job->start_again();
    MPI_Barrier(world);
  }
  /// Expects that operations fail after a while in the open epoch. The second elements may change until then.
  void expect_end(MPI_Win window) {
    long const value = 6;
    EXPECT_TRUE(nam::eventually([&] {
      return class_of(MPI_Put(&value, 1, MPI_LONG, next_, 1, 1, MPI_LONG, window)) == MPI_ERR_WIN;
    }));
    long result = 0;
    EXPECT_EQ(class_of(MPI_Get(&result, 1, MPI_LONG, next_, 1, 1, MPI_LONG, window)), MPI_ERR_WIN);
    EXPECT_EQ(class_of(MPI_Accumulate(&value, 1, MPI_LONG, next_, 1, 1, MPI_LONG, MPI_SUM, window)),
              MPI_ERR_WIN);
    EXPECT_EQ(class_of(MPI_Fetch_and_op(&value, &result, MPI_LONG, next_, 1, MPI_SUM, window)), MPI_ERR_WIN);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(class_of(MPI_Rput(&value, 1, MPI_LONG, next_, 1, 1, MPI_LONG, window, &request)), MPI_ERR_WIN);
    MPI_Win_flush_all(window);
  }
};

TEST_F(LostServer, OperationsEndWithAnErrorAndWindowsAreFreed) {
  MPI_Win window = make("deep_nam");
  MPI_Win persistent = make("deep_nam_persistent");
  MPI_Win_lock_all(0, window);
  MPI_Win_lock_all(0, persistent);
  kill_server();
  expect_end(window);
  expect_end(persistent);
  MPI_Win_unlock_all(window);
  MPI_Win_unlock_all(persistent);
  MPI_Win_fence(0, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&persistent), MPI_SUCCESS);
  Info const info{{"deep_mem_kind", "deep_nam"}};
  EXPECT_NE(MPI_Win_allocate(8, 8, info.get(), world, nullptr, &window), MPI_SUCCESS);
  start_server();
  window = make("deep_nam");
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(LostServer, MappedPersistentWindowSurvivesItsDataProcess) {
  if (!remote_kind().empty()) GTEST_SKIP() << "those of other hosts end";
  MPI_Win window = make("deep_nam_persistent");
  MPI_Win other = make("deep_nam");
  MPI_Win_lock_all(0, window);
  MPI_Win_lock_all(0, other);
  MPI_Barrier(world);
  if (rank_ == 0) job->kill_data_processes();
  MPI_Barrier(world);
  expect_end(other);
  EXPECT_TRUE(nam::eventually([&] { return MPIX_Win_persist(window) == MPI_SUCCESS; }));
  long values[2] = {-1, 0};
  long const value = 7;
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, next_, 1, 1, MPI_LONG, window), MPI_SUCCESS);
  MPI_Win_flush_all(window);
  EXPECT_EQ(MPI_Get(values, 2, MPI_LONG, next_, 0, 2, MPI_LONG, window), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Win_unlock_all(other);
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&other), MPI_SUCCESS);
}

/// Closes the connections over TCP to this port, as if the server had ended their sessions.
void end_sessions_at(std::uint16_t port) {
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int const descriptor = std::stoi(entry.path().filename());
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        address.sin_family == AF_INET && address.sin_port == htons(port))
      ::shutdown(descriptor, SHUT_RDWR);
  }
}

/// The data process lives, and answers no client without a session.
TEST_F(LostServer, FirstOperationFailsAfterTheEndOfTheSession) {
  if (!is_remote(rank_, 0)) GTEST_SKIP() << "its operations are not messages";
  Info const info{{"deep_mem_kind", "deep_nam"}};
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(8, 8, info.get(), MPI_COMM_SELF, nullptr, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  for (nam::Locator const& grant : job->grants()) end_sessions_at(grant.address.port);
  // Until the server has ended the session, the session admits operations. The end of the session frees all
  // windows of this test that are not persistent.
  nam::Locator const& grant = job->grants().front();
  EXPECT_TRUE(nam::eventually([&] {
    nam::Json const usage = nam::Session::open(grant).usage();
    return usage.at("windows") == usage.at("persistent");
  }));
  long const value = 6;
  long result = 0;
  EXPECT_EQ(class_of(outcome_of(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window), 0, window)),
            MPI_ERR_WIN);
  EXPECT_EQ(class_of(outcome_of(MPI_Get(&result, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window), 0, window)),
            MPI_ERR_WIN);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(LostServer, WaitForALockFails) {
  if (size_ == 1) GTEST_SKIP() << "nobody waits for a lock of his own";
  MPI_Win window = make("deep_nam");
  if (rank_ == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  kill_server();
  if (rank_ != 0) {
    long const value = 6;
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (code == MPI_SUCCESS) {  // locks are taken with the first operation
      code = MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
      MPI_Win_unlock(0, window);
    }
    EXPECT_EQ(class_of(code), MPI_ERR_WIN);
  }
  MPI_Barrier(world);
  if (rank_ == 0) MPI_Win_unlock(0, window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  start_server();
}

/// Whether this process has a descriptor of the memory in which the windows of a grant are locked.
bool has_lock_file() {
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).native().find("mpix-nam-control") !=
        std::string::npos)
      return true;
  }
  return false;
}

/// File locks belong to descriptors: a child that kept them would hold the locks of a parent that was killed.
TEST_F(LostServer, ChildDoesNotKeepTheLocksOfItsParent) {
  if (!remote_kind().empty()) GTEST_SKIP() << "the server holds the locks";
  MPI_Win window = make("deep_nam");
  EXPECT_TRUE(has_lock_file());
  pid_t const child = ::fork();
  if (child == 0) ::_exit(has_lock_file() ? 1 : 0);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window);  // the parent keeps its descriptors
  EXPECT_EQ(MPI_Win_unlock(rank_, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

/// The next completion reports the failure of a request that was freed while its operation waited for a lock.
TEST_F(LostServer, FailureOfAFreedRequestIsReportedByTheNextCompletion) {
  if (size_ == 1) GTEST_SKIP() << "nobody waits for a lock of his own";
  using Completion = int (*)(MPI_Win);
  Completion const completions[] = {
      [](MPI_Win window) { return MPI_Win_flush(0, window); },
      [](MPI_Win window) { return MPI_Win_flush_local(0, window); },
      [](MPI_Win window) { return MPIX_Win_order(0, window); },
      [](MPI_Win window) {
        MPI_Request flush = MPI_REQUEST_NULL;
        int const code = MPIX_Win_iflush(0, window, &flush);
        return code == MPI_SUCCESS ? MPI_Wait(&flush, MPI_STATUS_IGNORE) : code;
      },
      [](MPI_Win) { return MPI_SUCCESS; },
  };
  for (Completion const& complete : completions) {
    MPI_Win window = make("deep_nam");
    if (rank_ == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(world);
    long const value = 6;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank_ == 1) {
      MPI_Win_lock_all(0, window);
      EXPECT_EQ(MPI_Rput(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window, &request), MPI_SUCCESS);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    kill_server();
    if (rank_ == 1) {
      int const code = complete(window);
      int const at_end = MPI_Win_unlock_all(window);
      EXPECT_EQ(class_of(code != MPI_SUCCESS ? code : at_end), MPI_ERR_WIN)
          << "completion " << &complete - completions << ", at the end " << class_of(at_end);
    }
    MPI_Barrier(world);
    if (rank_ == 0) MPI_Win_unlock(0, window);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
    start_server();
  }
}

TEST_F(LostServer, PersistentWindowIsFoundByANewConnection) {
  MPI_Win before = make("deep_nam_persistent");
  std::string const port = value_of(before, "deep_win_port_name");
  EXPECT_EQ(MPIX_Win_persist(before), MPI_SUCCESS);
  MPI_Win_lock_all(0, before);
  kill_server();
  start_server();
  expect_end(before);
  MPI_Win_unlock_all(before);
  MPI_Comm connection = MPI_COMM_NULL;
  Info const info{{"deep_win_connect", "true"}};
  ASSERT_EQ(MPI_Comm_connect(port.c_str(), info.get(), 0, world, &connection), MPI_SUCCESS);
  MPI_Win after = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, connection, &after), MPI_SUCCESS);
  long value = -1;
  MPI_Win_fence(0, after);
  EXPECT_EQ(MPI_Get(&value, 1, MPI_LONG, rank_, 0, 1, MPI_LONG, after), MPI_SUCCESS);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, after);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(MPI_Win_free(&after), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_disconnect(&connection), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&before), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test

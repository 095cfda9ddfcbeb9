/// Windows at a memory server in a job that has no grant, with osc_mpix_nam_size=4M.
#include <mpix_rma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/windows/nam_support.hpp"

namespace mpixrma::test {
namespace {

class WithoutGrant : public WindowTest {
 protected:
  WithoutGrant() {
    ::unsetenv("MPIX_NAM_ALLOCATION");
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  }
  ~WithoutGrant() override { MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL); }
};

TEST_F(WithoutGrant, ServerIsStartedForTheJob) {
  for (int i = 0; i < 3; ++i) {
    MPI_Win window = MPI_WIN_NULL;
    ASSERT_EQ(MPIX_Win_allocate_nam(8000, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
    long const value = 10 * i + rank_;
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_LONG, next_, 999, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    long found[2] = {-1, -1};
    MPI_Get(found, 2, MPI_LONG, rank_, 998, 2, MPI_LONG, window);
    MPI_Win_fence(0, window);
    EXPECT_EQ(found[0], 0);
    EXPECT_EQ(found[1], 10 * i + previous_);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
}

namespace fs = std::filesystem;

/// Returns the pipe that this process's server watches; empty if the process has started none.
std::string pipe_of_server() {
  std::error_code refused;
  for (fs::directory_entry const& each : fs::directory_iterator("/proc")) {
    std::ifstream status(each.path() / "stat");
    std::string pid, name, state;
    pid_t parent = 0;
    if (status >> pid >> name >> state >> parent && parent == ::getpid() && name == "(mpix-namd)")
      return fs::read_symlink(each.path() / "fd" / "0", refused).string();
  }
  return "";
}

bool holds(std::string const& pipe) {
  std::error_code refused;
  auto const is_pipe = [&](fs::directory_entry const& each) {
    return fs::read_symlink(each.path(), refused) == pipe;
  };
  return std::ranges::any_of(fs::directory_iterator("/proc/self/fd"), is_pipe);
}

TEST_F(WithoutGrant, ChildrenDoNotHoldThePipeOfTheServer) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_allocate_nam(8, 1, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  std::string const pipe = pipe_of_server();
  int found = pipe.empty() ? 0 : 1;
  if (found != 0) {
    EXPECT_TRUE(holds(pipe));
    pid_t const child = ::fork();
    if (child == 0) ::_exit(holds(pipe) ? 1 : 0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_SUM, world);
  EXPECT_GE(found, 1);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(WithoutGrant, AllocationBeyondLimitFails) {
  MPI_Win window = MPI_WIN_NULL;
  int const code = MPIX_Win_allocate_nam(rank_ == 0 ? 5 << 20 : 0, 1, MPI_INFO_NULL, world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM);
  EXPECT_NE(text_of(code).find("has 4M left"), std::string::npos) << text_of(code);
}

TEST_F(WithoutGrant, ErrorOfPersistentWindowNamesTheServerProgram) {
  Info const info{{"deep_mem_kind", "deep_nam_persistent"}};
  MPI_Win window = MPI_WIN_NULL;
  int const code = MPIX_Win_allocate_nam(8, 1, info.get(), world, &window);
  EXPECT_NE(code, MPI_SUCCESS);
  EXPECT_NE(text_of(code).find("mpix-namd --size"), std::string::npos) << text_of(code);
}

/// Needs processes on two hosts.
class PrivateServerOfTwoHosts : public WindowTest {};

TEST_F(PrivateServerOfTwoHosts, ServesBoth) {
  MPI_Win own = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_allocate_nam(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &own), MPI_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    MPI_Win window = MPI_WIN_NULL;
    ASSERT_EQ(MPIX_Win_allocate_nam(8000, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
    long const value = 10 * i + rank_;
    long const one = 1;
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_LONG, next_, 999, 1, MPI_LONG, window);
    for (int target = 0; target < size_; ++target)
      MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_fence(0, window);
    long found[2] = {-1, -1};
    MPI_Get(&found[0], 1, MPI_LONG, rank_, 999, 1, MPI_LONG, window);
    MPI_Get(&found[1], 1, MPI_LONG, next_, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    EXPECT_EQ(found[0], 10 * i + previous_);
    EXPECT_EQ(found[1], size_);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Win_free(&own), MPI_SUCCESS);
}

/// Needs an --mca osc_mpix_interfaces that reaches only the host itself.
TEST(PrivateServerWithoutNetwork, ErrorNamesMissingInterface) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win window = MPI_WIN_NULL;
  int const code = MPIX_Win_allocate_nam(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
  EXPECT_NE(text_of(code).find("'osc_mpix_interfaces' leaves no network"), std::string::npos)
      << text_of(code);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace
}  // namespace mpixrma::test

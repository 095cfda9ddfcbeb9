/// Names, modes, encryption and servers of windows at a memory server, by the library's calls and by MPI's
/// calls that it replaces.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tests/windows/nam_calls.hpp"

namespace mpixrma::test {
namespace {

TEST_F(NamCalls, N_12_names_are_kept_by_the_server) {
  std::string const port = leave_window();
  constexpr char name[] = "names_are_kept_by_the_server";
  if (rank_ == 0) {
    EXPECT_EQ(MPI_Publish_name(name, MPI_INFO_NULL, port.c_str()), MPI_SUCCESS);
    int const again = MPI_Publish_name(name, MPI_INFO_NULL, port.c_str());
    EXPECT_EQ(class_of(again), MPI_ERR_NAME) << text_of(again);
  }
  MPI_Barrier(world);
  char found[MPI_MAX_PORT_NAME] = "";
  EXPECT_EQ(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_SUCCESS);
  EXPECT_EQ(found, port);
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPIX_Win_connect(found, MPI_INFO_NULL, 0, world, &window), MPI_SUCCESS);
  expect_window(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  if (rank_ == 0) {
    EXPECT_EQ(MPI_Unpublish_name(name, MPI_INFO_NULL, found), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, found)), MPI_ERR_NAME);
    int const unknown = MPI_Lookup_name(name, MPI_INFO_NULL, found);
    EXPECT_EQ(class_of(unknown), MPI_ERR_NAME);
    for (char const* const part :
         {"MPI_Lookup_name: name \"names_are_kept_by_the_server\"", "the memory server at "})
      EXPECT_NE(text_of(unknown).find(part), std::string::npos) << text_of(unknown);
  }
  MPI_Barrier(world);
}

TEST_F(NamCalls, N_12_name_belongs_to_a_user) {
  std::string const port = leave_window();
  constexpr char name[] = "a_name_belongs_to_a_user";
  std::string const user = std::to_string(::getuid());
  if (rank_ == 0) {
    EXPECT_EQ(MPI_Publish_name(name, MPI_INFO_NULL, port.c_str()), MPI_SUCCESS);
    Info const own{{"mpix_nam_user", user.c_str()}};
    Info const other{{"mpix_nam_user", "4321"}};
    char found[MPI_MAX_PORT_NAME] = "";
    EXPECT_EQ(MPI_Lookup_name(name, own.get(), found), MPI_SUCCESS);
    EXPECT_EQ(found, port);
    EXPECT_EQ(class_of(MPI_Lookup_name(name, other.get(), found)), MPI_ERR_NAME);
    EXPECT_EQ(MPI_Unpublish_name(name, own.get(), port.c_str()), MPI_SUCCESS);
  }
  MPI_Barrier(world);
}

TEST_F(NamCalls, InfoKeySetsTheMode) {
  MPI_Win window = MPI_WIN_NULL;
  Info const shared{{"deep_mem_kind", "deep_nam_persistent"}, {"mpix_nam_mode", "0644"}};
  ASSERT_EQ(MPIX_Win_allocate_nam(8, 8, shared.get(), world, &window), MPI_SUCCESS);
  EXPECT_EQ(value_of(window, "mpix_nam_mode"), "0644");
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

/// The server encrypts if MPIX_NAMD_ENCRYPT is set, and processes that map the memory use no network.
TEST_F(NamCalls, WindowThatDemandsEncryptionIsRefusedWithoutIt) {
  bool any_remote = false;
  for (int rank = 0; rank < size_; ++rank) any_remote = any_remote || is_remote(rank, 0);
  bool const is_refused = any_remote && std::getenv("MPIX_NAMD_ENCRYPT") == nullptr;
  int const expected = is_refused ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_SUCCESS;
  Info const info{{"deep_mem_kind", "deep_nam"}, {"mpix_nam_encrypt", "true"}};
  MPI_Win window = MPI_WIN_NULL;
  int code = MPIX_Win_allocate_nam(8, 8, info.get(), world, &window);
  EXPECT_EQ(class_of(code), expected) << text_of(code);
  if (code == MPI_SUCCESS) {
    EXPECT_EQ(value_of(window, "mpix_nam_encrypt"), "true");
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  std::string const port = leave_window();
  code = MPIX_Win_connect(port.c_str(), info.get(), 0, world, &window);
  EXPECT_EQ(class_of(code), expected) << text_of(code);
  if (code == MPI_SUCCESS) {
    expect_window(window);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
}

/// A part at a server unknown to this job is looked up only if the connecting call has the info key.
TEST_F(NamCalls, InfoKeyAllowsServersNamedByOthers) {
  char port[nam::port_name_limit] = "";
  if (rank_ == 0) {
    nam::Session session = nam::Session::open(nam::job_grants().front());
    nam::WindowOptions options{.persistent = true};
    options.other_parts = {"mpix-nam://0a/0b?tcp=127.0.0.1:1"};
    std::ranges::copy(session.allocate({8}, {8}, options).port, port);
  }
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, world);
  Info const consent{{"deep_win_connect", "true"}, {"mpix_nam_follow", "true"}};
  Info const none{{"deep_win_connect", "true"}};
  MPI_Win window = MPI_WIN_NULL;
  MPI_Comm connection = MPI_COMM_NULL;
  EXPECT_EQ(class_of(MPIX_Win_connect(port, none.get(), 0, world, &window)), MPI_ERR_ACCESS);
  EXPECT_EQ(class_of(MPI_Comm_connect(port, none.get(), 0, world, &connection)), MPI_ERR_ACCESS);
  // No server answers at that address.
  int code = MPIX_Win_connect(port, consent.get(), 0, world, &window);
  EXPECT_EQ(class_of(code), MPI_ERR_OTHER) << text_of(code);
  EXPECT_NE(text_of(code).find("no memory server answers"), std::string::npos) << text_of(code);
  code = MPI_Comm_connect(port, consent.get(), 0, world, &connection);
  EXPECT_EQ(class_of(code), MPI_ERR_OTHER) << text_of(code);
  EXPECT_EQ(class_of(MPIX_Win_connect(port, none.get(), 0, world, &window)), MPI_ERR_ACCESS);
  if (rank_ == 0) {
    nam::Client(nam::parse_locator(port).address).request({{"op", "evict"}, {"port", std::string(port)}});
  }
}

}  // namespace
}  // namespace mpixrma::test

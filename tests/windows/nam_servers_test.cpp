/// Windows that are spread over several memory servers.
#include <mpix_rma.h>

#include "tests/windows/nam_filled.hpp"

namespace mpixrma::test {
namespace {

JobServers* const job = JobServers::begin({"--size", "64M", "--listen", "none", "--storage", "file"});

class NamServers : public FilledWindows {
 protected:
  static constexpr MPI_Aint page = 4096;

  /// Rank r has r + 1 pages.
  int longs_of(int rank) const override { return (rank + 1) * static_cast<int>(page / 8); }
  static int server_of(int rank) { return rank % servers_of_job(); }
  /// The beginning of an error text: the number of a part, or a grant, and their total.
  static std::string named(char const* what, int part) {
    return std::string(what) + " " + std::to_string(part) + " of " + std::to_string(servers_of_job()) + ": ";
  }
  static int allocate(MPI_Aint bytes, char const* kind, MPI_Win* window) {
    Info const info{{"deep_mem_kind", kind}};
    return FilledWindows::allocate(bytes, 8, info.get(), window);
  }
  MPI_Win make(char const* kind) const {
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(allocate(longs_of(rank_) * 8, kind, &window), MPI_SUCCESS);
    return window;
  }
  static std::uint64_t used(std::size_t server) {
    return job->server(server).show(job->grants()[server]).at("used").get<std::uint64_t>();
  }
  std::uint64_t bytes_of(int server) const {
    std::uint64_t bytes = 0;
    for (int rank = 0; rank < size_; ++rank) {
      if (server_of(rank) == server) bytes += static_cast<std::uint64_t>(longs_of(rank)) * 8;
    }
    return bytes;
  }
};

TEST_F(NamServers, RegionsGoToTheServersInTurn) {
  MPI_Win window = make("deep_nam");
  if (rank_ == 0) {
    for (int server = 0; server < servers_of_job(); ++server)
      EXPECT_TRUE(
          nam::eventually([&] { return used(static_cast<std::size_t>(server)) == bytes_of(server); }));
  }
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  fill(window);
  for (int rank = 0; rank < size_; ++rank) {
    expect_filled(window, rank);
    MPI_Aint bytes = 0;
    int unit = 0;
    long* base = nullptr;
    EXPECT_EQ(MPI_Win_shared_query(window, rank, &bytes, &unit, &base), MPI_SUCCESS);
    EXPECT_EQ(base == nullptr, is_remote(rank_, rank));
    if (base != nullptr) EXPECT_EQ(base[7], value_for(rank, 7));
  }
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamServers, AllRanksCountAtEachServer) {
  constexpr long rounds = 50;
  MPI_Win window = make("deep_nam");
  long const one = 1;
  for (long i = 0; i < rounds; ++i) {
    for (int rank = 0; rank < size_; ++rank) {
      long value = 0;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
      MPI_Get(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window);
      MPI_Win_flush(rank, window);
      ++value;
      MPI_Put(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window);
      MPI_Accumulate(&one, 1, MPI_LONG, rank, 2, 1, MPI_LONG, MPI_SUM, window);
      MPI_Win_unlock(rank, window);
      MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
      MPI_Fetch_and_op(&one, &value, MPI_LONG, rank, 1, MPI_SUM, window);
      MPI_Win_unlock(rank, window);
    }
  }
  MPI_Win_fence(0, window);
  for (int rank = 0; rank < size_; ++rank) {
    long counts[3] = {};
    MPI_Get(counts, 3, MPI_LONG, rank, 0, 3, MPI_LONG, window);
    MPI_Win_fence(0, window);
    for (long const count : counts) EXPECT_EQ(count, rounds * size_) << "rank " << rank;
  }
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(NamServers, WindowWithoutRoomAtOneServerIsFreedAtAll) {
  auto const whole = static_cast<MPI_Aint>(grant_bytes);
  for (char const* const kind : {"deep_nam", "deep_nam_persistent"}) {
    MPI_Win window = MPI_WIN_NULL;
    int code = allocate(rank_ == 0 ? 2 * whole : rank_ == 1 ? whole : 0, kind, &window);
    EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM);
    EXPECT_NE(text_of(code).find(named("grant", 1) + "the grant has 8M left"), std::string::npos)
        << text_of(code);
    // A persistent window is freed outside of the session.
    for (int attempt = 0; attempt < 200; ++attempt) {
      code = allocate(rank_ < 2 ? whole : 0, "deep_nam", &window);
      if (code == MPI_SUCCESS || std::string_view(kind) == "deep_nam") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_EQ(code, MPI_SUCCESS) << kind << ": " << text_of(code);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
}

TEST_F(NamServers, PortNameLeadsToAllServers) {
  MPI_Win window = make("deep_nam_persistent");
  MPI_Win_lock_all(0, window);
  fill(window);
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPIX_Win_persist(window), MPI_SUCCESS);
  std::string const port = value_of(window, "deep_win_port_name");
  EXPECT_LT(port.size(), 256u);
  std::vector<nam::WindowInfo> const parts = nam::find_parts(port);
  ASSERT_EQ(parts.size(), job->grants().size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].grant, job->grants()[i].grant);
    EXPECT_EQ(parts[i].other_parts.size(), i == 0 ? parts.size() - 1 : 0);
  }
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  for (MPI_Comm const comm : {MPI_COMM_SELF, world}) expect_filled(port, comm);
  evict_from_rank_0(port);
}

TEST_F(NamServers, OthersContinueAfterEndOfOne) {
  MPI_Win window = make("deep_nam_persistent");
  std::string const port = value_of(window, "deep_win_port_name");
  MPI_Win_lock_all(0, window);
  fill(window);
  MPI_Barrier(world);
  EXPECT_EQ(MPIX_Win_persist(window), MPI_SUCCESS);
  MPI_Barrier(world);
  if (rank_ == 0) job->kill(1);
  MPI_Barrier(world);
  long value = 0;
  EXPECT_TRUE(nam::eventually([&] {
    return class_of(outcome_of(MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window), 1, window)) ==
           MPI_ERR_WIN;
  }));
  for (int rank = 0; rank < size_; ++rank) {
    if (server_of(rank) != 1) expect_filled(window, rank);
  }
  MPI_Win_unlock_all(window);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  int const code = MPIX_Win_connect(port.c_str(), MPI_INFO_NULL, 0, world, &window);
  EXPECT_NE(text_of(code).find(named("part", 2)), std::string::npos) << text_of(code);
  if (rank_ == 0) job->start_again(1);
  MPI_Barrier(world);
  expect_filled(port, world);
  evict_from_rank_0(port);
}

}  // namespace
}  // namespace mpixrma::test

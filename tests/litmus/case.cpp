#include "tests/litmus/case.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/pinning.hpp"

namespace mpixrma::test::litmus {

namespace {

constexpr int start_tag = 1;
constexpr int log_tag = 2;

/// Returns the ranks with roles, each once; the first one has role 0.
std::vector<int> ranks_of(std::vector<Player> const& players) {
  std::vector<int> ranks;
  for (Player const& player : players) {
    if (std::find(ranks.begin(), ranks.end(), player.rank) == ranks.end()) ranks.push_back(player.rank);
  }
  return ranks;
}

/// Synchronises the ranks with roles to within a message's latency.
void meet(MPI_Comm comm, int rank, std::vector<int> const& ranks) {
  char nothing = 0;
  if (rank != ranks[0]) {
    MPI_Sendrecv_replace(&nothing, 1, MPI_CHAR, ranks[0], start_tag, ranks[0], start_tag, comm,
                         MPI_STATUS_IGNORE);
    return;
  }
  for (std::size_t i = 1; i < ranks.size(); ++i)
    MPI_Recv(&nothing, 1, MPI_CHAR, ranks[i], start_tag, comm, MPI_STATUS_IGNORE);
  for (std::size_t i = 1; i < ranks.size(); ++i) MPI_Send(&nothing, 1, MPI_CHAR, ranks[i], start_tag, comm);
}

/// The roles of one rank: the first one runs in the calling thread.
class RolesOfRank {
 public:
  RolesOfRank(Shape const& shape, std::vector<Player> const& players, Length length, int rank)
      : shape_(shape), players_(players), length_(length) {
    for (std::size_t role = 0; role < players.size(); ++role) {
      if (players[role].rank == rank) roles_.push_back(role);
    }
  }

  /// `start` returns when the other ranks are ready too.
  void run(std::vector<Log>& logs, std::function<void()> const& start) {
    if (roles_.empty()) return;
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < roles_.size(); ++i) {
      threads.emplace_back([this, i, &logs] {
        run_role(roles_[i], logs, [this] {
          ready_.fetch_add(1);
          while (!started_.load()) std::this_thread::yield();
        });
      });
    }
    run_role(roles_[0], logs, [&] {
      while (ready_.load() < threads.size()) std::this_thread::yield();
      start();
      started_.store(true);
    });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void run_role(std::size_t role, std::vector<Log>& logs, std::function<void()> const& start) {
    Pinned const pinned(static_cast<int>(role));
    std::unique_ptr<Port> const port = players_[role].make_port();
    start();
    litmus::run(shape_, static_cast<int>(role), *port, length_, &logs[role]);
  }

  Shape const& shape_;
  std::vector<Player> const& players_;
  Length length_;
  std::vector<std::size_t> roles_;
  std::atomic<std::size_t> ready_{0};
  std::atomic<bool> started_{false};
};

void send_log(MPI_Comm comm, Log const& log) {
  MPI_Send(&log.rounds, 1, MPI_UINT64_T, 0, log_tag, comm);
  for (auto const& values : log.values)
    MPI_Send(values.data(), static_cast<int>(log.rounds), MPI_INT64_T, 0, log_tag, comm);
}

void receive_log(MPI_Comm comm, int from, Log* log) {
  MPI_Recv(&log->rounds, 1, MPI_UINT64_T, from, log_tag, comm, MPI_STATUS_IGNORE);
  for (auto& values : log->values) {
    values.resize(log->rounds);
    MPI_Recv(values.data(), static_cast<int>(log->rounds), MPI_INT64_T, from, log_tag, comm,
             MPI_STATUS_IGNORE);
  }
}

}  // namespace

void wait_for_all(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    ::usleep(50);
  }
}

Result play(MPI_Comm comm, Shape const& shape, std::vector<Player> const& players, Length length) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<Log> logs(players.size());
  std::vector<int> const ranks = ranks_of(players);
  wait_for_all(comm);
  RolesOfRank(shape, players, length, rank).run(logs, [&] { meet(comm, rank, ranks); });
  wait_for_all(comm);
  for (std::size_t role = 0; role < players.size(); ++role) {
    if (players[role].rank == 0) continue;
    if (rank == players[role].rank) send_log(comm, logs[role]);
    if (rank == 0) receive_log(comm, players[role].rank, &logs[role]);
  }
  Result result;
  if (rank != 0) return result;
  for (Log const& log : logs) result.rounds += log.rounds;
  if (!shape.word_per_round) result.relaxed = shape.count(logs);
  return result;
}

}  // namespace mpixrma::test::litmus

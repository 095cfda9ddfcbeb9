#include "tests/litmus/case.hpp"

#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/pinning.hpp"

namespace mpix::test::litmus {

namespace {

constexpr int start_tag = 1;
constexpr int log_tag = 2;

void run_player(Shape const& shape, int role, Player const& player, Length length, Log* log,
                std::function<void()> const& start) {
  Pinned const pinned(role);
  std::unique_ptr<Port> const port = player.make_port();
  start();
  run(shape, role, *port, length, log);
}

/// Both roles begin within a message's time.
void meet(MPI_Comm comm, int other) {
  char nothing = 0;
  MPI_Sendrecv_replace(&nothing, 1, MPI_CHAR, other, start_tag, other, start_tag, comm, MPI_STATUS_IGNORE);
}

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

void play_as_threads(Shape const& shape, std::array<Player, 2> const& players, Length length,
                     std::array<Log, 2>& logs) {
  std::atomic<int> ready{0};
  auto const start = [&] {
    ready.fetch_add(1);
    while (ready.load() < 2) {
    }
  };
  std::thread other([&] { run_player(shape, 1, players[1], length, &logs[1], start); });
  run_player(shape, 0, players[0], length, &logs[0], start);
  other.join();
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

Result play(MPI_Comm comm, Shape const& shape, std::array<Player, 2> const& players, Length length) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::array<Log, 2> logs;
  wait_for_all(comm);
  if (players[0].rank == players[1].rank) {
    if (rank == players[0].rank) play_as_threads(shape, players, length, logs);
  } else {
    for (std::size_t role = 0; role < 2; ++role) {
      if (rank == players[role].rank)
        run_player(shape, static_cast<int>(role), players[role], length, &logs[role],
                   [&] { meet(comm, players[1 - role].rank); });
    }
  }
  wait_for_all(comm);
  for (std::size_t role = 0; role < 2; ++role) {
    if (players[role].rank == 0) continue;
    if (rank == players[role].rank) send_log(comm, logs[role]);
    if (rank == 0) receive_log(comm, players[role].rank, &logs[role]);
  }
  Result result;
  if (rank != 0) return result;
  result.rounds = logs[0].rounds + logs[1].rounds;
  if (!shape.word_per_round) result.forbidden = shape.count(logs);
  return result;
}

}  // namespace mpix::test::litmus

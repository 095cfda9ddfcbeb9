#include "tests/litmus/suite.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mpixrma::test::litmus {

namespace {

unsigned long long printable(std::uint64_t value) { return value; }

}  // namespace

Suite::Suite(Options const& options) : options_(options) { MPI_Comm_rank(MPI_COMM_WORLD, &rank_); }

bool Suite::is_chosen(std::size_t index, std::size_t count) const {
  std::size_t const stride = std::clamp<std::size_t>(count, 1, options_.sample);
  return index % stride == options_.seed % stride;
}

int Suite::run(std::function<std::vector<Trial>(unsigned seed)> const& make) {
  unsigned seed = options_.seed;
  int failed = 0;
  std::uint64_t before = 0;
  do {
    before = rounds_;
    for (Trial const& trial : make(seed++)) failed += run(trial) ? 0 : 1;
    MPI_Bcast(&rounds_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    // A pass in which no trial was chosen adds no rounds, and neither would the next ones.
  } while (rounds_ != before && rounds_ < options_.min_rounds);
  if (rank_ == 0) std::printf("%llu rounds in all\n", printable(rounds_));
  MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return failed;
}

bool Suite::run(Trial const& trial) {
  std::string const name = std::string(trial.shape.name) + ", " + trial.promise;
  if (name.find(options_.only) == std::string::npos) return true;
  std::uint64_t rounds = 0;
  std::uint64_t forbidden = 0;
  std::uint64_t permitted = 0;
  for (std::size_t i = 0; i < trial.cases.size(); ++i) {
    if (!is_chosen(i, trial.cases.size())) continue;
    Case const& one = trial.cases[i];
    std::vector<Player> const players = one.prepare();
    Result result = play(MPI_COMM_WORLD, trial.shape, players, trial.length);
    if (trial.shape.word_per_round) result.relaxed = one.count_ends();
    rounds += result.rounds;
    (one.forbidden ? forbidden : permitted) += result.relaxed;
    bool const tell = options_.verbose || (one.forbidden && result.relaxed != 0);
    if (rank_ == 0 && tell)
      std::printf("  %s: %llu of %llu rounds%s\n", one.text.c_str(), printable(result.relaxed),
                  printable(result.rounds),
                  result.relaxed == 0 ? ""
                  : one.forbidden     ? " have the forbidden outcome"
                                      : " have the permitted one");
  }
  rounds_ += rounds;
  if (rank_ == 0)
    std::printf("%s %-50s (%s) %llu rounds; relaxed outcomes: %llu forbidden, %llu permitted\n",
                forbidden == 0 ? "ok    " : "FAILED", name.c_str(), trial.clause, printable(rounds),
                printable(forbidden), printable(permitted));
  std::fflush(stdout);
  return forbidden == 0;
}

std::uint64_t count_forbidden_ends(MPI_Comm comm, int home, char const* x, char const* y,
                                   std::size_t stride) {
  std::uint64_t found = 0;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  for (std::size_t i = 1; rank == home && i <= words_per_sweep; ++i) {
    Value value_of_x = 0;
    Value value_of_y = 0;
    std::memcpy(&value_of_x, x + stride * i, sizeof value_of_x);
    std::memcpy(&value_of_y, y + stride * i, sizeof value_of_y);
    found += is_forbidden_end(value_of_x, value_of_y);
  }
  MPI_Bcast(&found, 1, MPI_UINT64_T, home, comm);
  return found;
}

}  // namespace mpixrma::test::litmus

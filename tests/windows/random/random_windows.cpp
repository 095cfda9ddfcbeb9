/// Random calls of all kinds on several windows, from every rank to every rank, against a model.
#include <getopt.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/support/slowness.hpp"
#include "tests/windows/random/extensions.hpp"
#include "tests/windows/random/player.hpp"
#include "tests/windows/random/shrink.hpp"

namespace {

using namespace mpixrma::random_windows;

struct Options {
  std::uint64_t operations = 20000;  ///< of all ranks together
  std::uint64_t seed = 0;
  std::uint64_t first = 0;    ///< round to begin with
  std::uint64_t round_length = 400;  ///< operations of one round
  int threads = 1;
  bool plan = false;
  std::string without;
};

constexpr char const* usage =
    "usage: mpirun -np N random_windows [--ops N] [--seed N] [--first ROUND] [--round N] [--threads N]\n"
    "                                   [--without FEATURE,...] [--plan] [--help]\n"
    "\n"
    "Random calls on windows of all kinds against a model. A failure is shrunk to few calls and printed.\n"
    "\n"
    "  --ops N        operations of all ranks together (default 20000; MPIX_TEST_OPERATIONS takes "
    "precedence)\n"
    "  --seed N       repeats a run's choices (default: a new one; printed; MPIX_TEST_SEED takes "
    "precedence)\n"
    "  --first ROUND  begins with this round of the run with that seed\n"
    "  --round N      operations between checks of all memory; windows are new in each round (default 400)\n"
    "  --threads N    runs of each process side by side, with windows of their own (default 1)\n"
    "  --without ...  leaves features out; see tests/windows/random/plan.hpp\n"
    "  --plan         prints the calls of the first round, and exits\n";

std::atomic<unsigned long long> current_round = 0;
unsigned long long current_seed = 0;

/// Prints where the test was: a crash or a hang cannot be shrunk, but it can be repeated.
extern "C" void tell_where(int number) {
  char line[160];
  int const length = std::snprintf(line, sizeof line, "signal %d: repeat with --seed %llu --first %llu\n",
                                   number, current_seed, current_round.load());
  (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

std::uint64_t number_or(char const* name, std::uint64_t usual) {
  char const* const value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : usual;
}

/// Returns the exit code to end with, or -1 to continue.
int parse(int argc, char** argv, Options* options) {
  static option const known[] = {{"ops", required_argument, nullptr, 'o'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {"first", required_argument, nullptr, 'f'},
                                 {"round", required_argument, nullptr, 'r'},
                                 {"threads", required_argument, nullptr, 't'},
                                 {"without", required_argument, nullptr, 'w'},
                                 {"plan", no_argument, nullptr, 'p'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  for (int c = 0; (c = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (c) {
      case 'o': options->operations = std::strtoull(optarg, nullptr, 10); break;
      case 's': options->seed = std::strtoull(optarg, nullptr, 10); break;
      case 'f': options->first = std::strtoull(optarg, nullptr, 10); break;
      case 'r': options->round_length = std::max(1ull, std::strtoull(optarg, nullptr, 10)); break;
      case 't': options->threads = std::max(1, std::atoi(optarg)); break;
      case 'w': options->without += std::string(",") + optarg; break;
      case 'p': options->plan = true; break;
      case 'h': std::fputs(usage, stdout); return 0;
      default: std::fputs(usage, stderr); return 2;
    }
  }
  options->operations = number_or("MPIX_TEST_OPERATIONS", options->operations);
  options->seed = number_or("MPIX_TEST_SEED", options->seed);
  return -1;
}

/// One run with its own communicator and windows.
class Runner {
 public:
  Runner(Options const& options, Features const& features, Shapes const& shapes, MPI_Comm comm, int thread)
      : options_(options), features_(features), shapes_(shapes), comm_(comm), thread_(thread) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  /// Returns false after a failure, which has been printed.
  bool run() {
    for (std::uint64_t round = options_.first; operations_ < options_.operations; ++round) {
      if (thread_ == 0) current_round = round;
      Plan plan = make(round);
      operations_ += std::max<std::uint64_t>(plan.operations, 1);
      if (play(plan, Print::failures) == 0) continue;
      report(plan, round);
      return false;
    }
    return true;
  }
  Plan make(std::uint64_t round) const {
    std::uint64_t const seed = options_.seed * 1000003 + round * 64 + static_cast<std::uint64_t>(thread_);
    return make_plan(shapes_, features_, size_, options_.round_length, seed);
  }

 private:
  static constexpr int repetitions = 3;  // of a plan that may fail by chance
  static constexpr int trials = 400;

  enum class Print : bool { no, failures };
  std::uint64_t play(Plan const& plan, Print print) {
    Player player(plan, shapes_, comm_);
    std::uint64_t const failures = player.run();
    if (failures != 0 && print == Print::failures) std::fputs(player.report().c_str(), stderr);
    return failures;
  }
  void report(Plan& plan, std::uint64_t round) {
    if (rank_ == 0)
      std::fprintf(stderr, "round %llu fails; repeat with --seed %llu --first %llu; shrinking\n",
                   static_cast<unsigned long long>(round), static_cast<unsigned long long>(options_.seed),
                   static_cast<unsigned long long>(round));
    shrink(
        plan,
        [&] {
          ::alarm(300);
          std::uint64_t failures = 0;
          for (int i = 0; i < repetitions && failures == 0; ++i) failures = play(plan, Print::no);
          return failures != 0;
        },
        trials);
    play(plan, Print::failures);
    if (rank_ == 0) std::fprintf(stderr, "%s", describe(plan).c_str());
  }

  Options const& options_;
  Features const& features_;
  Shapes const& shapes_;
  MPI_Comm comm_;
  int thread_;
  int rank_ = 0;
  int size_ = 0;
  std::uint64_t operations_ = 0;
};

/// Whether all processes are on one host, so that memory can be shared.
bool on_one_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int counts[2] = {0, 0};
  MPI_Comm_size(host, &counts[0]);
  MPI_Comm_size(MPI_COMM_WORLD, &counts[1]);
  MPI_Comm_free(&host);
  int together = counts[0] == counts[1] ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return together == 1;
}

bool run_all(Options const& options, Features const& features, Shapes const& shapes) {
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(options.threads));
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::atomic<bool> right = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) {
    auto const body = [&, i] {
      if (!Runner(options, features, shapes, comms[static_cast<std::size_t>(i)], i).run()) right = false;
    };
    if (i + 1 < options.threads) {
      threads.emplace_back(body);
    } else {
      body();
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (int const code = parse(argc, argv, &options); code >= 0) return code;
  int provided = 0;
  int const wanted = options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Features features;
  if (!on_one_host()) options.without += ",shared";
  if (!has_extensions()) options.without += ",notify,ordering,iflush,several,thread";
  if (!features.remove(options.without.empty() ? "" : options.without.substr(1)) || provided < wanted) {
    if (rank == 0) std::fputs(usage, stderr);
    MPI_Finalize();
    return 2;
  }
  if (options.seed == 0) options.seed = std::random_device{}();
  MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  current_seed = options.seed;
  for (int const number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM}) ::signal(number, &tell_where);
  ::alarm(static_cast<unsigned>(100 + options.operations / 2000) * mpixrma::test::slowness);
  if (rank == 0) std::printf("MPIX_TEST_SEED=%llu\n", current_seed);
  Random random(options.seed);
  auto shapes = std::make_unique<Shapes const>(random);
  bool right = true;
  if (options.plan) {
    if (rank == 0)
      std::fputs(describe(Runner(options, features, *shapes, MPI_COMM_WORLD, 0).make(options.first)).c_str(),
                 stdout);
  } else {
    right = run_all(options, features, *shapes);
  }
  int failed = right ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  shapes.reset();
  MPI_Finalize();
  return failed;
}

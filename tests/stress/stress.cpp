/// Random operations of all kinds, attributes, datatypes and sizes from every thread of every rank to every
/// rank, against a model.
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hosts/common/hosted.hpp"
#include "tests/stress/check.hpp"
#include "tests/support/communicatable.hpp"

namespace {

using mpixrma::stress::Channel;
using mpixrma::stress::Job;
using mpixrma::stress::Memory;
using mpixrma::stress::Origin;
using mpixrma::stress::Random;
using mpixrma::stress::Region;
using mpixrma::stress::Shapes;

struct Options {
  std::uint64_t operations = 100000;  ///< of all ranks together
  std::uint64_t seed = 0;
  int threads = 1;
  std::uint64_t round = 30000;  ///< operations of all ranks between checks of all memory
  std::string path;             ///< must have been taken by a tenth of the operations
};

constexpr char const* usage =
    "usage: mpirun -np N stress [--ops N] [--threads N] [--seed N] [--round N] [--path NAME] [--help]\n"
    "\n"
    "Issues random one-sided operations from every thread of every rank to every rank and checks all "
    "results.\n"
    "\n"
    "  --ops N      operations of all ranks together (default 100000)\n"
    "  --threads N  threads of each rank that issue operations (default 1)\n"
    "  --seed N     repeats a run's choices (default: a new one; printed)\n"
    "  --round N    operations of all ranks after which all memory is checked, freed and made anew (default\n"
    "               30000)\n"
    "  --path NAME  fails unless a tenth of the operations has taken this path: cross_memory, network, "
    "ring or message\n";

/// Returns the exit code to end with, or -1 to continue.
int parse(int argc, char** argv, Options* options) {
  static option const known[] = {{"ops", required_argument, nullptr, 'o'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {"threads", required_argument, nullptr, 't'},
                                 {"round", required_argument, nullptr, 'r'},
                                 {"path", required_argument, nullptr, 'p'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  for (int c = 0; (c = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (c) {
      case 'o': options->operations = std::strtoull(optarg, nullptr, 10); break;
      case 's': options->seed = std::strtoull(optarg, nullptr, 10); break;
      case 't': options->threads = std::max(1, std::atoi(optarg)); break;
      case 'r': options->round = std::max(1ull, std::strtoull(optarg, nullptr, 10)); break;
      case 'p': options->path = optarg; break;
      case 'h': std::fputs(usage, stdout); return 0;
      default: std::fputs(usage, stderr); return 2;
    }
  }
  return -1;
}

/// Opens communicators with different settings.
std::vector<Channel> open_channels() {
  std::vector<Channel> channels(3);
  channels[0].comm = MPI_COMM_WORLD;
  for (std::size_t i = 1; i < channels.size(); ++i) MPI_Comm_dup(MPI_COMM_WORLD, &channels[i].comm);
  MPI_Comm_set_attr(channels[1].comm, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
  channels[1].ordered = true;
  return channels;
}

/// Gives every communicator counters that are zero.
void prepare(std::vector<Channel>& channels) {
  for (Channel& channel : channels) mpixrma::test::rma_set_num_notify(channel.comm, Channel::counters);
}

struct Totals {
  std::uint64_t operations = 0;
  std::uint64_t failures = 0;
};

/// Makes fresh memory, runs the operations of all threads, and checks the result.
Totals run_round(Job& job, Region const& region, std::uint64_t operations, std::uint64_t seed) {
  Memory const memory(region.bytes(), MPI_COMM_WORLD);
  prepare(job.channels);
  std::vector<std::unique_ptr<Origin>> origins;
  for (int thread = 0; thread < job.threads; ++thread) {
    auto const number = static_cast<std::uint64_t>(job.rank * job.threads + thread);
    origins.push_back(
        std::make_unique<Origin>(job, region, memory.places(), thread, seed * 1000003 + number));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < origins.size(); ++i)
    threads.emplace_back([&, i] { origins[i]->run(operations); });
  origins[0]->run(operations);
  for (std::thread& thread : threads) thread.join();
  MPI_Barrier(MPI_COMM_WORLD);
  Totals totals;
  for (auto const& origin : origins) {
    totals.operations += origin->operations();
    totals.failures += origin->failures();
  }
  totals.failures += mpixrma::stress::check(job, memory, region, origins);
  MPI_Barrier(MPI_COMM_WORLD);
  return totals;
}

/// Prints how many operations of all ranks took which path; returns false if `path` took less than a tenth.
bool check_paths(int rank, std::uint64_t operations, std::string const& path) {
  using mpixrma::engine::protocol_count;
  using mpixrma::engine::protocol_names;
  auto const taken = mpixrma::hosted_engine()->traffic.statistics().traffic;
  auto counts = taken.operations;
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), protocol_count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  bool found = path.empty();
  for (std::size_t i = 0; i < protocol_count; ++i) {
    if (rank == 0)
      std::printf("%s %llu%s", protocol_names[i], static_cast<unsigned long long>(counts[i]),
                  i == protocol_count - 1 ? "\n" : ", ");
    found = found || (path == protocol_names[i] && counts[i] >= operations / 10);
  }
  if (!found && rank == 0) std::fprintf(stderr, "too few operations took the path %s\n", path.c_str());
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (int const code = parse(argc, argv, &options); code >= 0) return code;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (options.seed == 0) options.seed = std::random_device{}();
  MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  Random random(options.seed);
  auto shapes = std::make_unique<Shapes const>(random);
  Job job{0, 0, options.threads, *shapes, open_channels()};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (job.rank == 0) std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  auto const origins = static_cast<std::uint64_t>(job.size * job.threads);
  Region const region(static_cast<int>(origins));
  Totals totals;
  double const start = MPI_Wtime();
  for (std::uint64_t done = 0; done < options.operations; done += options.round) {
    std::uint64_t const operations = std::min(options.round, options.operations - done);
    Totals const round = run_round(job, region, (operations + origins - 1) / origins, random());
    totals.operations += round.operations;
    totals.failures += round.failures;
  }
  double const elapsed = MPI_Wtime() - start;
  std::uint64_t sums[] = {totals.operations, totals.failures};
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  bool const by_path = check_paths(job.rank, sums[0], options.path);
  if (job.rank == 0)
    std::printf("%llu operations of %d ranks with %d threads, %.1f s, %llu failures\n",
                static_cast<unsigned long long>(sums[0]), job.size, job.threads, elapsed,
                static_cast<unsigned long long>(sums[1]));
  for (std::size_t i = 1; i < job.channels.size(); ++i) MPI_Comm_free(&job.channels[i].comm);
  shapes.reset();
  MPI_Finalize();
  return sums[1] == 0 && by_path ? 0 : 1;
}

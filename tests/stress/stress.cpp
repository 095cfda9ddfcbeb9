/// Random operations of all kinds, attributes, datatypes and sizes from every rank to every rank, against a
/// model.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/stress/origin.hpp"

namespace {

using mpix::stress::Model;
using mpix::stress::Origin;
using mpix::stress::Places;
using mpix::stress::Region;

struct Options {
  std::uint64_t operations = 100000;  ///< of all ranks together
  std::uint64_t seed = 0;
};

constexpr char const* usage =
    "usage: mpirun -np N stress [--ops N] [--seed N] [--help]\n"
    "\n"
    "Issues random one-sided operations from every rank to every rank and checks all results.\n"
    "\n"
    "  --ops N   operations of all ranks together (default 100000)\n"
    "  --seed N  repeats a run's choices (default: a new one; printed)\n";

/// Exit code to end with, or -1 to go on.
int parse(int argc, char** argv, Options* options) {
  static option const known[] = {{"ops", required_argument, nullptr, 'o'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  for (int c = 0; (c = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (c) {
      case 'o': options->operations = std::strtoull(optarg, nullptr, 10); break;
      case 's': options->seed = std::strtoull(optarg, nullptr, 10); break;
      case 'h': std::fputs(usage, stdout); return 0;
      default: std::fputs(usage, stderr); return 2;
    }
  }
  return -1;
}

/// The memory of this rank: allocated, registered and plain.
class Memory {
 public:
  Memory(std::size_t bytes, MPI_Comm comm) : comm_(comm), registered_(bytes), plain_(bytes) {
    int size = 0;
    int rank = 0;
    MPI_Comm_size(comm_, &size);
    MPI_Comm_rank(comm_, &rank);
    std::vector<void*> bases(static_cast<std::size_t>(size));
    MPIX_RMA_Allocate(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &comm_, bases.data());
    allocated_ = static_cast<char*>(bases[static_cast<std::size_t>(rank)]);
    std::memset(allocated_, 0, bytes);
    MPIX_RMA_Register(registered_.data(), static_cast<MPI_Aint>(bytes));
    for (char* const memory : {allocated_, registered_.data(), plain_.data()}) {
      auto const mine = reinterpret_cast<std::intptr_t>(memory);
      std::vector<std::intptr_t> all(static_cast<std::size_t>(size));
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_);
      places_.of_kind.push_back(all);
      own_.push_back(memory);
    }
  }
  ~Memory() {
    MPIX_RMA_Deregister(registered_.data());
    MPIX_RMA_Free(allocated_, &comm_);
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;

  Places const& places() const { return places_; }
  char const* own(std::size_t kind) const { return own_[kind]; }

 private:
  MPI_Comm comm_;
  char* allocated_ = nullptr;
  std::vector<char> registered_;
  std::vector<char> plain_;
  std::vector<char*> own_;
  Places places_;
};

/// Compares this rank's memory with what all origins expect of it. Number of differences.
template <typename T, typename Select>
std::uint64_t check_sums(char const* memory, std::size_t count, MPI_Datatype type, Origin const& origin,
                         int kind, int size, int rank, Select select) {
  std::vector<T> expected(count);
  for (int target = 0; target < size; ++target) {
    auto const& mine = select(origin.model(kind, target));
    MPI_Reduce(mine.data(), target == rank ? expected.data() : nullptr, static_cast<int>(count), type,
               MPI_SUM, target, MPI_COMM_WORLD);
  }
  return std::memcmp(memory, expected.data(), count * sizeof(T)) == 0 ? 0 : 1;
}

std::uint64_t check_private(char const* memory, Region const& region, Origin const& origin, int kind,
                            int size, int rank) {
  std::uint64_t differences = 0;
  std::vector<int> expected(static_cast<std::size_t>(Region::private_ints * size));
  for (int target = 0; target < size; ++target) {
    MPI_Gather(origin.model(kind, target).mine.data(), Region::private_ints, MPI_INT, expected.data(),
               Region::private_ints, MPI_INT, target, MPI_COMM_WORLD);
    if (target != rank) continue;
    for (int o = 0; o < size; ++o) {
      if (std::memcmp(memory + region.private_at(o), expected.data() + Region::private_ints * o,
                      sizeof(int) * Region::private_ints) != 0) {
        std::fprintf(stderr, "rank %d: memory of kind %d differs from what rank %d wrote\n", rank, kind, o);
        ++differences;
      }
    }
  }
  return differences;
}

std::uint64_t check_memory(Memory const& memory, Region const& region, Origin const& origin, int size,
                           int rank) {
  std::uint64_t differences = 0;
  for (std::size_t k = 0; k < memory.places().of_kind.size(); ++k) {
    int const kind = static_cast<int>(k);
    char const* const own = memory.own(k);
    differences += check_private(own, region, origin, kind, size, rank);
    std::uint64_t sums = check_sums<std::int64_t>(
        own + region.sums_at(), Region::sums, MPI_INT64_T, origin, kind, size, rank,
        [](Model const& m) -> auto const& { return m.added; });
    sums += check_sums<double>(
        own + region.reals_at(), Region::reals, MPI_DOUBLE, origin, kind, size, rank,
        [](Model const& m) -> auto const& { return m.reals; });
    sums += check_sums<std::int64_t>(
        own + region.counters_at(), Region::counters, MPI_INT64_T, origin, kind, size, rank,
        [](Model const& m) -> auto const& { return m.counted; });
    if (sums != 0) std::fprintf(stderr, "rank %d: updates of memory of kind %d were lost\n", rank, kind);
    differences += sums;
  }
  return differences;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (int const code = parse(argc, argv, &options); code >= 0) return code;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (options.seed == 0) options.seed = std::random_device{}();
  MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::uint64_t failures = 0;
  double elapsed = 0;
  std::uint64_t operations = 0;
  {
    Region const region(size);
    Memory const memory(region.bytes(), MPI_COMM_WORLD);
    Origin origin(MPI_COMM_WORLD, region, memory.places(),
                  options.seed * 1000003 + static_cast<std::uint64_t>(rank));
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    while (origin.operations() < options.operations / static_cast<std::uint64_t>(size)) origin.run_batch();
    MPI_Barrier(MPI_COMM_WORLD);
    elapsed = MPI_Wtime() - start;
    operations = origin.operations();
    failures = origin.failures() + check_memory(memory, region, origin, size, rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::uint64_t totals[] = {operations, failures};
  MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%llu operations of %d ranks, %.1f s, %llu failures\n",
                static_cast<unsigned long long>(totals[0]), size, elapsed,
                static_cast<unsigned long long>(totals[1]));
  MPI_Finalize();
  return totals[1] == 0 ? 0 : 1;
}

#include "tests/stress/check.hpp"
#include "tests/support/communicatable.hpp"

#include <cstdio>
#include <cstring>

namespace mpixrma::stress {

namespace {

using Origins = std::vector<std::unique_ptr<Origin>>;

/// Returns the number of origins, of all ranks, whose private part of this rank's memory differs from the
/// values that they have written.
std::uint64_t check_private(Job const& job, std::byte const* memory, Region const& region,
                            Origins const& origins, int kind) {
  std::uint64_t differences = 0;
  constexpr int part = static_cast<int>(Region::private_bytes);
  auto const parts = static_cast<std::size_t>(job.size * part);
  std::vector<std::byte> expected(parts);
  std::vector<std::uint8_t> known(parts);
  for (int thread = 0; thread < job.threads; ++thread) {
    for (int target = 0; target < job.size; ++target) {
      Model const& model = origins[static_cast<std::size_t>(thread)]->model(kind, target);
      MPI_Gather(model.mine.data(), part, MPI_BYTE, expected.data(), part, MPI_BYTE, target, MPI_COMM_WORLD);
      MPI_Gather(model.known.data(), part, MPI_BYTE, known.data(), part, MPI_BYTE, target, MPI_COMM_WORLD);
    }
    for (std::size_t i = 0; i < parts; ++i) {
      int const rank = static_cast<int>(i / Region::private_bytes);
      std::size_t const at = region.private_at(rank * job.threads + thread) + i % Region::private_bytes;
      if (known[i] == 0 || memory[at] == expected[i]) continue;
      std::fprintf(stderr,
                   "rank %d: memory of kind %d differs from what thread %d of rank %d wrote, byte %zu\n",
                   job.rank, kind, thread, rank, i % Region::private_bytes);
      ++differences;
      i = (i / Region::private_bytes + 1) * Region::private_bytes - 1;  // one line per origin
    }
  }
  return differences;
}

/// Compares a shared part of this rank with the combined effect of all origins of all ranks.
template <typename T, typename Select>
bool has_combined_effect(Job const& job, std::byte const* memory, MPI_Datatype type, MPI_Op op,
                         Origins const& origins, int kind, Select select) {
  std::vector<T> expected;
  for (int target = 0; target < job.size; ++target) {
    std::vector<T> all = select(origins[0]->model(kind, target));
    auto const count = static_cast<int>(all.size());
    for (std::size_t thread = 1; thread < origins.size(); ++thread) {
      MPI_Reduce_local(select(origins[thread]->model(kind, target)).data(), all.data(), count, type, op);
    }
    if (target == job.rank) expected.resize(all.size());
    MPI_Reduce(all.data(), expected.data(), count, type, op, target, MPI_COMM_WORLD);
  }
  return std::memcmp(memory, expected.data(), expected.size() * sizeof(T)) == 0;
}

std::uint64_t check_shared(Job const& job, std::byte const* memory, Region const& region,
                           Origins const& origins, int kind) {
  bool const right[] = {has_combined_effect<std::int64_t>(
                            job, memory + region.sums_at(), MPI_INT64_T, MPI_SUM, origins, kind,
                            [](Model const& m) -> auto const& { return m.added; }),
                        has_combined_effect<double>(
                            job, memory + region.reals_at(), MPI_DOUBLE, MPI_SUM, origins, kind,
                            [](Model const& m) -> auto const& { return m.reals; }),
                        has_combined_effect<std::uint8_t>(
                            job, memory + region.mixed_at(), MPI_UINT8_T, MPI_BXOR, origins, kind,
                            [](Model const& m) -> auto const& { return m.flipped; }),
                        has_combined_effect<std::int64_t>(
                            job, memory + region.counters_at(), MPI_INT64_T, MPI_SUM, origins, kind,
                            [](Model const& m) -> auto const& { return m.counted; })};
  char const* const names[] = {"sums", "sums of doubles", "bits", "counters"};
  std::uint64_t differences = 0;
  for (int i = 0; i < 4; ++i) {
    if (right[i]) continue;
    std::fprintf(stderr, "rank %d: updates of the %s in memory of kind %d were lost\n", job.rank, names[i],
                 kind);
    ++differences;
  }
  return differences;
}

/// Checks the block that every operation has updated as a whole.
std::uint64_t check_uniform(Job const& job, std::byte const* memory, Region const& region, int kind) {
  std::byte const* const block = memory + region.uniform_at();
  // Each element is compared with the next one.
  if (std::memcmp(block, block + sizeof(int), (Region::uniform_ints - 1) * sizeof(int)) == 0) return 0;
  std::fprintf(stderr, "rank %d: an atomic operation in memory of kind %d was half done\n", job.rank, kind);
  return 1;
}

std::uint64_t check_counters(Job& job, Origins const& origins) {
  std::uint64_t differences = 0;
  for (std::size_t c = 0; c < job.channels.size(); ++c) {
    std::vector<std::int64_t> expected(static_cast<std::size_t>(job.size * Channel::counters));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      int const at = static_cast<int>(i);
      for (auto const& origin : origins)
        expected[i] += origin->notified(c, at / Channel::counters, at % Channel::counters);
    }
    MPI_Allreduce(MPI_IN_PLACE, expected.data(), static_cast<int>(expected.size()), MPI_INT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    for (int i = 0; i < Channel::counters; ++i) {
      MPI_Count value = -1;
      mpixrma::test::rma_get_notify_value(job.channels[c].comm, i, &value);
      MPI_Count const wanted = expected[static_cast<std::size_t>(job.rank * Channel::counters + i)];
      if (value == wanted) continue;
      std::fprintf(stderr, "rank %d: counter %d of communicator %zu is %lld, not %lld\n", job.rank, i, c,
                   static_cast<long long>(value), static_cast<long long>(wanted));
      ++differences;
    }
  }
  return differences;
}

}  // namespace

std::uint64_t check(Job& job, Memory const& memory, Region const& region, Origins const& origins) {
  std::uint64_t differences = check_counters(job, origins);
  for (int kind = 0; kind < Places::kinds; ++kind) {
    differences += check_private(job, memory.own(kind), region, origins, kind);
    differences += check_shared(job, memory.own(kind), region, origins, kind);
    differences += check_uniform(job, memory.own(kind), region, kind);
  }
  return differences;
}

}  // namespace mpixrma::stress

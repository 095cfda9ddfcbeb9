/// One origin of the stress test: issues random operations and knows what every one of them has to do.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/stress/arena.hpp"
#include "tests/stress/shapes.hpp"

namespace mpix::stress {

/// Memory of one process, of one kind: a private part per origin, then the parts that all of them share.
struct Region {
  static constexpr int private_ints = 8192;
  static constexpr int sums = 64;           ///< int64 elements that everybody adds to atomically
  static constexpr int reals = 64;          ///< doubles likewise
  static constexpr int uniform_ints = 700;  ///< equal at every moment
  static constexpr int counters = 8;        ///< int64 elements for read-modify-write

  explicit Region(int ranks) : ranks_(ranks) {}

  std::size_t private_at(int origin) const {
    return sizeof(int) * static_cast<std::size_t>(private_ints * origin);
  }
  std::size_t sums_at() const { return private_at(ranks_); }
  std::size_t reals_at() const { return sums_at() + sums * sizeof(std::int64_t); }
  std::size_t counters_at() const { return reals_at() + reals * sizeof(double); }
  std::size_t uniform_at() const { return counters_at() + counters * sizeof(std::int64_t); }
  std::size_t bytes() const { return uniform_at() + uniform_ints * sizeof(int); }

 private:
  int ranks_;
};

/// Where the memory of each kind stands at each rank.
struct Places {
  std::vector<std::vector<std::intptr_t>> of_kind;
  void* at(int kind, int rank, std::size_t offset) const {
    return reinterpret_cast<char*>(of_kind[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank)]) +
           offset;
  }
};

/// What this origin expects of one region.
struct Model {
  std::vector<int> mine = std::vector<int>(Region::private_ints, 0);
  std::vector<std::int64_t> added = std::vector<std::int64_t>(Region::sums, 0);
  std::vector<double> reals = std::vector<double>(Region::reals, 0.0);
  std::vector<std::int64_t> counted = std::vector<std::int64_t>(Region::counters, 0);
  std::vector<std::int64_t> last_fetched = std::vector<std::int64_t>(Region::counters, -1);
};

class Origin {
 public:
  Origin(MPI_Comm comm, Region const& region, Places const& places, std::uint64_t seed);

  /// Issues about thirty operations in one of the disciplines, completes and checks them.
  void run_batch();

  std::uint64_t operations() const noexcept { return operations_; }
  std::uint64_t failures() const noexcept { return failures_; }
  Model const& model(int kind, int rank) const {
    return models_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank)];
  }

 private:
  /// What keeps operations on the same memory in order.
  enum class Discipline { ordered, fenced, completed, disciplines };

  struct Expectation {
    int const* buffer;
    std::vector<int> const* elements;  ///< nullptr: contiguous
    std::vector<int> values;
  };
  /// A contiguous result that has to be the same everywhere.
  struct Uniform {
    int const* buffer;
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }

  void issue(int rank, int kind);
  void transfer(int rank, int kind, Model& model);
  void modify(int rank, int kind, Model& model);
  void add(int rank, int kind, Model& model);
  void touch_uniform(int rank, int kind);
  void count(int rank, int kind, Model& model);
  MPIX_RMA_Attributes attributes();
  void call(MPIX_RMA_Op op, void* origin, Shape const& here, int rank, void* target, Shape const& there,
            MPIX_RMA_Attributes& chosen);
  void settle();
  void require(int code, char const* what);
  void fail(char const* what, int kind);

  MPI_Comm comm_;
  Region const& region_;
  Places const& places_;
  int rank_ = 0;
  int size_ = 0;
  std::mt19937_64 random_;
  Shapes shapes_;
  Arena arena_{1u << 18};
  std::vector<std::vector<Model>> models_;  ///< by kind and rank
  Discipline discipline_ = Discipline::ordered;
  std::vector<Expectation> expectations_;
  std::vector<Uniform> uniforms_;
  std::vector<MPI_Request> native_;
  std::vector<MPIX_Rma_request> own_;
  std::uint64_t operations_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace mpix::stress

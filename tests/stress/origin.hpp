/// One origin of the stress test, a thread of a process: issues random operations and knows the expected
/// effect of each.
#pragma once

#include <cstdint>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/stress/arena.hpp"
#include "tests/stress/region.hpp"
#include "tests/stress/requests.hpp"
#include "tests/stress/shapes.hpp"

namespace mpixrma::stress {

/// State that all origins of a process share.
struct Job {
  int rank = 0;
  int size = 0;
  int threads = 1;
  Shapes const& shapes;
  std::vector<Channel> channels;
};

class Origin {
 public:
  Origin(Job const& job, Region const& region, Places const& places, int thread, std::uint64_t seed);

  /// Issues about `operations` operations in batches, and checks what they return.
  void run(std::uint64_t operations);

  std::uint64_t operations() const noexcept { return operations_; }
  std::uint64_t failures() const noexcept { return failures_; }
  Model const& model(int kind, int rank) const { return models_[kind][static_cast<std::size_t>(rank)]; }
  /// Returns the number of operations that incremented a counter of a rank.
  std::int64_t notified(std::size_t channel, int rank, int counter) const {
    return notified_[notified_at(channel, rank, counter)];
  }

 private:
  /// The method that keeps operations on the same memory in order; `independent`: no two operations of a
  /// batch use the same memory.
  enum class Discipline { ordered, fenced, completed, independent, disciplines };

  /// Memory that is read by operations or receives their results, with its surroundings.
  struct Expectation {
    std::byte const* buffer;
    std::vector<std::byte> values;
    std::vector<std::uint8_t> known;
    char const* what;
  };
  struct Transfer {
    MPIX_RMA_Op op;
    std::byte* origin;
    Use here;
    int rank;
    std::byte* target;
    Use there;
  };
  struct Modification {
    Modify op;
    std::byte* operand;
    std::byte* operand2;
    std::byte* result;
    int count;
    MPI_Datatype type;
    int rank;
    std::byte* target;
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }

  void run_batch();
  void issue(int rank, int kind);
  MPIX_RMA_Attributes attributes(int kind, int rank);
  bool submit(Transfer const& transfer, MPIX_RMA_Attributes& chosen);
  bool submit(Modification const& modification, MPIX_RMA_Attributes& chosen);

  // Operations in this origin's own part: origin_private.cpp.
  void put_or_get(int rank, int kind);
  void accumulate(int rank, int kind);
  void modify(int rank, int kind);
  bool fit(Shape const& here, Shape const& there, int zone, Use* origin, Use* target);
  bool place(int kind, int rank, int zone, std::size_t grain, std::ptrdiff_t low, std::ptrdiff_t high,
             std::size_t* at);
  std::byte* take(Use const& use, std::byte** base);
  void fill(Base const* base, int zone, std::byte* at, std::size_t bytes, bool factor);
  void expect(std::byte const* begin, std::size_t bytes, char const* what);
  Base const* base_with(int zone, Combine op);
  void move_in_model(Transfer const& transfer, Model& model, std::size_t at);

  // Operations in the parts that all origins share: origin_shared.cpp.
  void add(int rank, int kind);
  void flip(int rank, int kind);
  void touch_uniform(int rank, int kind);
  void count(int rank, int kind);
  void use_short_lived_memory();
  void update_shared(bool by_rmw, MPI_Datatype type, Combine combine, Modify modify, std::byte* buffer,
                     std::size_t n, int rank, int kind, std::size_t at);

  void complete_and_check();
  void check_expectations();
  bool require(int code, char const* what);
  void fail(char const* what, long detail);

  Channel const& channel() const { return job_.channels[channel_]; }
  MPI_Comm* comm() { return &comm_; }
  Model& model_of(int kind, int rank) { return models_[kind][static_cast<std::size_t>(rank)]; }
  std::size_t notified_at(std::size_t channel, int rank, int counter) const {
    return (channel * static_cast<std::size_t>(job_.size) + static_cast<std::size_t>(rank)) *
               Channel::counters +
           static_cast<std::size_t>(counter);
  }

  Job const& job_;
  Region const& region_;
  Places const& places_;
  int thread_;
  std::size_t own_part_;  ///< where this origin's part begins
  Random random_;
  Arena arena_;
  Requests requests_;
  std::vector<Model> models_[Places::kinds];  ///< by rank
  std::vector<std::int64_t> notified_;
  Discipline discipline_ = Discipline::ordered;
  std::size_t channel_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<std::size_t> next_place_;  ///< by kind, rank and zone, for the independent discipline
  std::vector<Expectation> expectations_;
  std::vector<int const*> uniforms_;  ///< fetched blocks, whose elements have to be equal
  std::uint64_t batches_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace mpixrma::stress

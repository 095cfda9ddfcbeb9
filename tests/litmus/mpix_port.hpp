/// The accesses of a litmus role by MPIX_RMA.
#pragma once

#include <cstdint>
#include <string>

#include "tests/litmus/shape.hpp"
#include "tests/support/communicatable.hpp"

namespace mpixrma::test::litmus {

/// The means that order the steps of a role.
struct Promise {
  char const* name;
  char const* clause;  ///< in spec-conformance/clauses.md
  std::uint64_t attributes;
  enum class Action { none, fence, complete } action;
  bool notifies = false;  ///< stores to y are notifications of those to x
  bool blocks = false;    ///< a variable is many words with one value
  bool waits = false;     ///< each PUT has a request, which is waited for at once
};

/// The kind of the accesses.
struct Setting {
  enum class Kind : unsigned { allocated, registered, heap, count_ };
  enum class Put : unsigned { word, strided, accumulate, swap, count_ };
  enum class Get : unsigned { blocking, outstanding, span, count_ };
  enum class Home : unsigned { role_0, role_1, last, spread, count_ };

  Kind kind[variables];  ///< memory of each variable
  Put put;
  Get get;           ///< span: one GET of the memory from x to z
  Home home;         ///< the rank of the variables; spread: each at another rank
  bool second_comm;  ///< roles 1 and 3 use another communicator
  bool threads;      ///< all roles are threads of rank 0
  bool all_ranks;    ///< the ordering call takes MPIX_ALL_RANKS
  bool helper;       ///< another thread makes the ordering call

  std::string text() const;
};

/// Bytes from x to y, and from y to z; the words of consecutive rounds of 2+2W are twice as far apart.
inline constexpr std::ptrdiff_t distance = 128;
inline constexpr std::size_t memory_bytes = 2 * distance * (words_per_sweep + 1);
inline constexpr int block_words = distance / sizeof(Value);

/// The target memory of one role.
struct Place {
  MPI_Comm comm;  ///< communicator of the role
  int rank[variables];
  char* variable[variables];
  std::int64_t notified_before;  ///< value of the counter before this run
};

class MpixPort final : public Port {
 public:
  MpixPort(Promise const& promise, Setting setting, Place place);

  void put(Variable variable, std::uint64_t round) override;
  void get(Variable variable, Value* result) override;
  void order() override;
  void select(std::uint64_t round) override;
  void finish() override;

 private:
  char* address(Variable variable) const;
  void put_block(Variable variable, std::uint64_t round);
  void get_block(Variable variable, Value* result);
  int rank(Variable variable) const;
  void transfer(MPIX_RMA_Op op, void const* origin, int count, Variable variable, MPI_Datatype target_type,
                int target_count, std::uint64_t more);

  Promise const& promise_;
  Setting setting_;
  Place place_;
  std::ptrdiff_t offset_ = 0;
  int last_rank_ = 0;  ///< target of the newest access
  Value buffer_[variables * block_words] = {};
};

}  // namespace mpixrma::test::litmus

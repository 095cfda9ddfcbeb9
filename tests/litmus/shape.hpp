/// Litmus shapes: two to four roles that access the words x, y and z, and the outcome that a promise forbids.
///
/// The shapes are perpetual: a role runs its rounds without waiting for the others, and round i stores the
/// value i, so that any overlapping rounds of the roles are compared afterwards. 2+2W, whose outcome is in
/// memory, has separate words for each round instead.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mpixrma::test::litmus {

using Value = std::int64_t;

enum class Variable : std::uint8_t { x, y, z };
inline constexpr std::size_t variables = 3;

/// One step of a round.
struct Step {
  enum class Kind : std::uint8_t { put, get, order } kind;
  Variable variable = Variable::x;
};

/// The accesses of a role, through any interface. One call at a time: the role's thread makes each
/// call, or waits for a thread that makes it.
class Port {
 public:
  virtual ~Port() = default;
  /// Stores numbers()[round] in the variable; the previous value is numbers()[round - 1], and no other role
  /// stores in it, except in a shape with a word per round.
  virtual void put(Variable variable, std::uint64_t round) = 0;
  /// Fetches the variable. `*result` holds the value when finish() has returned.
  virtual void get(Variable variable, Value* result) = 0;
  /// The call whose promise is tested; does nothing if the promise is an attribute of the operations.
  virtual void order() = 0;
  /// Uses the word of this round from here on.
  virtual void select(std::uint64_t round) = 0;
  /// Completes all operations.
  virtual void finish() = 0;
};

/// The fetched values of a role: for each get of a round, the values by round, from round 1 on.
struct Log {
  std::uint64_t rounds = 0;
  std::array<std::vector<Value>, 2> values;
};

struct Shape {
  char const* name;
  std::vector<std::vector<Step>> roles;
  bool word_per_round;
  /// Counts the relaxed outcomes. Not for a shape with a word per round.
  std::uint64_t (*count)(std::vector<Log> const& logs);

  bool uses(Variable variable) const;
};

inline constexpr std::uint64_t max_rounds = 1 << 17;
inline constexpr std::uint64_t words_per_sweep = 1 << 11;

/// numbers()[i] is i: the constant origin of the put of round i.
Value const* numbers();

extern Shape const store_buffering;
extern Shape const message_passing;
extern Shape const load_buffering;
extern Shape const two_plus_two_writes;
extern Shape const coherence;
extern Shape const read_own_write;
// More than two roles: a promise that orders the steps of each role must order them for all other roles too.
extern Shape const write_to_read_causality;
extern Shape const isa2;
extern Shape const iriw;

/// The length of a run: a time, with at most as many rounds as the shape permits, or an exact number of
/// rounds if both roles synchronise in each.
struct Length {
  std::int64_t microseconds = 0;
  std::uint64_t exact_rounds = 0;  ///< 0: the time counts
};

void run(Shape const& shape, int role, Port& port, Length length, Log* log);

/// For the final values of two words of 2+2W: each holds the first of the two stores of a role's
/// round.
constexpr bool is_forbidden_end(Value x, Value y) noexcept { return x == 1 && y == 1; }

}  // namespace mpixrma::test::litmus

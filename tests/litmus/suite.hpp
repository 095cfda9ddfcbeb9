/// Runs the table of a litmus program and prints the results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/litmus/case.hpp"
#include "tests/litmus/options.hpp"

namespace mpixrma::test::litmus {

/// One setting of a row.
struct Case {
  std::string text;
  bool forbidden;  ///< whether the promise forbids the relaxed outcome here
  /// Clears the memory and returns the players. Collective.
  std::function<std::vector<Player>()> prepare;
  /// Counts the forbidden ends of a shape with a word per round, the same at all ranks. Collective; may be
  /// empty for other shapes.
  std::function<std::uint64_t()> count_ends;
};

/// A shape under a promise, and the settings in which it runs.
struct Trial {
  Shape const& shape;
  char const* promise;
  char const* clause;
  Length length;
  std::vector<Case> cases;
};

class Suite {
 public:
  explicit Suite(Options const& options);

  /// Runs the trials, which `make` creates for a seed, as often as the options request. Returns the number of
  /// failures, the same at all ranks. Collective.
  int run(std::function<std::vector<Trial>(unsigned seed)> const& make);

 private:
  bool run(Trial const& trial);
  /// Whether the sample includes setting `index` of the `count` settings of a row.
  bool is_chosen(std::size_t index, std::size_t count) const;

  Options options_;
  int rank_ = 0;
  std::uint64_t rounds_ = 0;
};

/// Runs the trials that a new object of class Cases creates. Returns the number of failures. Collective.
template <typename Cases>
int run_suite(Options const& options) {
  Cases cases;
  return Suite(options).run([&](unsigned seed) { return cases.trials(options, seed); });
}

/// Counts the forbidden ends of 2+2W in the memory of rank `home`, where x and y of round i are `stride` * i
/// bytes behind those of round 0. Collective.
std::uint64_t count_forbidden_ends(MPI_Comm comm, int home, char const* x, char const* y, std::size_t stride);

}  // namespace mpixrma::test::litmus

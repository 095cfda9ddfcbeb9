/// What memory has to hold, and what operations have to return.
#pragma once

#include "tests/windows/random/plan.hpp"

namespace mpixrma::random_windows {

/// The memory of one rank. A byte that is not known is padding of an element that was computed.
struct Model {
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> known;
};

/// Memory that an operation reads or writes at its origin, with guards around.
class Buffer {
 public:
  explicit Buffer(Use const& use);

  std::byte* address() { return memory_.data() + guard - low_; }  ///< of the datatype's origin
  /// From now on it has to hold what it holds.
  void expect_present() { expected_ = memory_; }
  /// It has to hold this value at `offset` from the address.
  void expect(std::ptrdiff_t offset, std::byte const* value, std::uint8_t const* known, std::size_t bytes);
  /// The first offset from the beginning of the data at which it differs; -1: nowhere.
  std::ptrdiff_t difference() const;
  /// Other bytes, so that a late access shows.
  void scribble();

 private:
  static constexpr std::ptrdiff_t guard = 32;
  std::ptrdiff_t low_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;
  std::vector<bool> unknown_;
};

/// Random elements of a base; of any bytes for none.
void fill(Base const* base, Random& random, bool factor, std::byte* at, std::size_t bytes);

/// What a step does to the target's model. `origin`: the operands; `compare`: what MPI_Compare_and_swap
/// expects; `result`: receives what is fetched. Null where the call has none.
void apply(Step const& step, Model& target, Buffer* origin, std::byte const* compare, Buffer* result);

/// Defined content for a memory before anything happens to it.
Model initial(Layout const& layout, Shapes const& shapes, std::uint64_t seed);

}  // namespace mpixrma::random_windows

/// Expected contents of memory, and expected results of operations.
#pragma once

#include <optional>

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
  /// Expects the present content from now on.
  void expect_present() { expected_ = memory_; }
  /// Expects this value at `offset` from the address.
  void expect(std::ptrdiff_t offset, std::byte const* value, std::uint8_t const* known, std::size_t bytes);
  /// Returns the first offset from the beginning of the data at which the content differs, which is negative
  /// in the guard below; nothing if it is as expected.
  std::optional<std::ptrdiff_t> difference() const;
  /// Overwrites the buffer, so that a late access is detected.
  void scribble();

 private:
  static constexpr std::ptrdiff_t guard = 32;
  std::ptrdiff_t low_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;
  std::vector<bool> unknown_;
};

/// Fills with a random element of a base type; with random bytes for null and for types of the first zone.
void fill(Base const* base, Random& random, bool factor, std::byte* at, std::size_t bytes);

/// Applies a step to the target's model. `origin`: the operands; `compare`: the value that
/// MPI_Compare_and_swap expects; `result`: receives the expected results. Null if the call has none.
void apply(Step const& step, Model& target, Buffer* origin, std::byte const* compare, Buffer* result);

/// Returns the initial content of a memory.
Model initial(Layout const& layout, Shapes const& shapes, std::uint64_t seed);

/// Returns the place of the first difference from the model, the bytes found and expected there, and the
/// place of the last difference; nothing if `content` is as expected.
std::string difference_of(std::vector<std::byte> const& content, Model const& model, Layout const& layout);

}  // namespace mpixrma::random_windows

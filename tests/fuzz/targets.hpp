/// The fuzz targets, run by libFuzzer and by the replay of the corpus in the unit tests. A target that finds
/// an error ends the process.
#pragma once

#include <cstddef>
#include <span>

namespace mpixrma::fuzz {

using Input = std::span<std::byte const>;

/// Each returns whether the input was accepted as valid.
bool wire(Input input);
bool batch(Input input);
bool layout(Input input);
bool address(Input input);
bool ring(Input input);
#if MPIX_HAVE_NAM
bool messages(Input input);
bool names(Input input);
bool operation(Input input);
#endif

struct Target {
  char const* name;  ///< also of its directory in the corpus
  bool (*run)(Input input);
};
inline constexpr Target targets[] = {
    {"wire", &wire},         {"batch", &batch}, {"layout", &layout},      {"address", &address},
    {"ring", &ring},
#if MPIX_HAVE_NAM
    {"messages", &messages}, {"names", &names}, {"operation", &operation}
#endif
};

/// Prints a line and ends the process if `holds` is false.
void require(bool holds, char const* what);

/// Reads values from the front of an input, and zeros after its end.
class Reader {
 public:
  explicit Reader(Input input) : rest_(input) {}

  /// Returns the available bytes, at most `bytes`.
  Input take(std::size_t bytes) {
    Input const taken = rest_.first(bytes < rest_.size() ? bytes : rest_.size());
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  unsigned byte() {
    Input const one = take(1);
    return one.empty() ? 0 : static_cast<unsigned>(one[0]);
  }
  Input rest() const { return rest_; }

 private:
  Input rest_;
};

}  // namespace mpixrma::fuzz

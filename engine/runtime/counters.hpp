/// Counters of this process that others increment.
#pragma once

#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EngineCounters {
 public:
  /// Most counters of a process on a communicator or window: 1 GiB. The system would need minutes for the
  /// pages of as many as an int can name.
  static constexpr int most = 1 << 27;

  explicit EngineCounters(EngineState& state) noexcept : state_(state) {}

  /// Calls `completion`, during progress, once the counter has reached `threshold`. Returns the number of the
  /// wait, which no other has.
  std::uint64_t watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion);
  /// Ends the wait with this number, and returns its completion, which is not called any more; nullptr if it
  /// is called, or was.
  Completion* cancel(std::uint64_t number);
  /// Removes the counters in [begin, end): requests that wait for one fail with Status::bad_address.
  void forget(void const* begin, void const* end);

 private:
  EngineState& state_;
};

}  // namespace mpixrma::engine

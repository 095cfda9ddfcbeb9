/// Counters of this process that others increment.
#pragma once

#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EngineCounters {
 public:
  /// Largest number of counters of a process on a communicator or window: 1 GiB. For INT_MAX counters the
  /// system would need minutes to allocate the pages.
  static constexpr int most = 1 << 27;

  explicit EngineCounters(EngineState& state) noexcept : state_(state) {}

  /// The index of a counter that has none.
  static constexpr std::int64_t no_index = -1;

  /// Calls `completion`, during progress, once the counter has reached `threshold`. `index` names the counter
  /// in a description of the process. Returns a number that identifies the wait and is never reused.
  std::uint64_t watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion,
                      std::int64_t index = no_index);
  /// Ends the wait with this number, and returns its completion, which is then not called; nullptr if the
  /// completion has been called or is about to be.
  Completion* cancel(std::uint64_t number);
  /// Ends the waits for counters in [begin, end), with Status::bad_address if the threshold is not reached.
  void forget(void const* begin, void const* end);

 private:
  EngineState& state_;
};

}  // namespace mpixrma::engine

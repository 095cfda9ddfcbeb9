/// The traffic of the process so far.
#pragma once

#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/op/statistics.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EngineTraffic {
 public:
  explicit EngineTraffic(EngineState& state) noexcept : state_(state) {}

  Statistics statistics() const;
  /// Returns the traffic with the process of this identity; of a removed peer, only messages_executed.
  Traffic with(std::uint64_t process) const;

 private:
  EngineState& state_;
};

}  // namespace mpixrma::engine

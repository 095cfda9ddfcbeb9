/// The stripes that an operation holds in this process and in a peer.
#pragma once

#include "engine/base/visibility.h"
#include "engine/origin/peer.hpp"
#include "engine/runtime/waits.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

struct Footprint;

class MPIX_ENGINE_API EngineStripes {
 public:
  EngineStripes(EngineState& state, EngineWaits& waits) noexcept : state_(state), waits_(waits) {}

  /// Returns the stripes that `footprint` requires of this process and of a peer with accessible stripes; not
  /// acquired yet.
  Holds needed(Peer const& peer, Footprint const& footprint) noexcept;
  /// The same, acquired.
  Holds hold(Peer& peer, Footprint const& footprint);
  /// Acquires those of this process for an operation that is a message.
  StripeHold hold_origin(Peer const& peer, Footprint const& footprint);

 private:
  template <typename Hold>
  void acquire(Hold& hold);

  EngineState& state_;
  EngineWaits& waits_;
};

}  // namespace mpixrma::engine

/// Acquires the stripes of an operation in this process and in a peer.
#pragma once

#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/waits.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

struct Footprint;

class MPIX_ENGINE_API EngineStripes {
 public:
  EngineStripes(EngineState& state, EngineWaits& waits) noexcept : state_(state), waits_(waits) {}

  /// Returns locks, not yet acquired, of the stripes that `footprint` requires in this process and in a peer
  /// with accessible stripes.
  StripeLockPair make_locks(Peer const& peer, Footprint const& footprint) noexcept;
  /// As make_locks(), and waits until they are acquired.
  StripeLockPair acquire(Peer& peer, Footprint const& footprint);
  /// Waits until the stripes of this process are acquired for an operation that is a message.
  UniqueStripeLock acquire_origin(Peer const& peer, RmaOp const& operation);

 private:
  template <typename Lock>
  void wait_for(Lock& lock);

  EngineState& state_;
  EngineWaits& waits_;
};

}  // namespace mpixrma::engine

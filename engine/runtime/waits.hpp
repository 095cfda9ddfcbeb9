/// Waits of application threads, which drive communication meanwhile.
#pragma once

#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EngineWaits {
 public:
  explicit EngineWaits(EngineState& state) noexcept : state_(state) {}

  /// Waits until `done()` returns true, driving progress of the engine and of the MPI host.
  template <typename Predicate>
  void until(Predicate done) {
    if (done()) return;
    for (unsigned spins = 0; !done(); ++spins) step(spins);
    wake_agents_if_needed();
  }

  /// As the other until(), for events caused by messages from or to `peer`: hardly disturbs threads that wait
  /// for peers on other channels.
  template <typename Predicate>
  void until(Peer& peer, Predicate done) {
    if (done()) return;
    std::uint64_t const began = begin_trace();
    for (unsigned spins = 0; !done(); ++spins) step(peer, spins);
    wake_agents_if_needed();
    end_trace(peer, began, 0);
  }

  /// Returns the time, if there is a trace.
  std::uint64_t begin_trace() const noexcept;
  /// Traces the end of a wait for messages to the peer. Messages up to `sequence` are executed by then.
  void end_trace(Peer const& peer, std::uint64_t began, std::uint64_t sequence) const noexcept;

  /// Whether a waiting thread should yield its core at once.
  bool yields_when_idle() const;

  /// Drives communication once. Returns the number of events.
  int progress();

 private:
  void step(unsigned spins);
  void step(Peer& peer, unsigned spins);
  void rest(unsigned spins) const;
  void wake_agents_if_needed();

  EngineState& state_;
};

}  // namespace mpixrma::engine

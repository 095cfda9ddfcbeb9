/// Failures of operations that no completion reports.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "engine/base/visibility.h"
#include "engine/op/late_error.hpp"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

struct EngineState;

class MPIX_ENGINE_API EngineFailures {
 public:
  explicit EngineFailures(EngineState& state) noexcept : state_(state) {}

  /// Returns the first failure since the last call among operations with `context` to `peer` without a
  /// completion object, or else the first one stored by keep(); ok if there was none. `error` receives that
  /// operation, for EnginePeerMemory::reason().
  Status take(Peer& peer, std::uint32_t context, LateError* error = nullptr);
  /// As take(), with the number of failures.
  LateErrors::Failures take_all(Peer& peer, std::uint32_t context);
  /// A later loss of the connection to `peer` is no failure of the operations with `context` issued so far.
  void forget(Peer& peer, std::uint32_t context) noexcept;
  /// Stores a failure that the operation's completion cannot report: the next take() for `context` and the
  /// peer with the identity `process` (any peer if it is unspecified_process) returns the failure. error.rank
  /// must not be LateError::of_peer. May be called by a completion.
  void keep(std::uint32_t context, LateError const& error,
            std::uint64_t process = LateErrors::unspecified_process) noexcept;
  /// Returns and removes the failures stored by keep(), of all contexts.
  LateErrors::Failures take_kept();

 private:
  EngineState& state_;
  std::mutex lock_;
  LateErrors kept_;
  std::atomic<bool> has_kept_{false};  ///< false: `kept_` is empty
};

}  // namespace mpixrma::engine

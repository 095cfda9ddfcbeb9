/// Exposures: memory of this process that others refer to by a number and an offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/op/exposure.hpp"
#include "engine/runtime/own_memory.hpp"
#include "engine/runtime/waits.hpp"

namespace mpixrma::engine {

struct UnusedExposureIds;
enum class Rights : std::uint32_t;

class MPIX_ENGINE_API EngineExposures {
 public:
  EngineExposures(EngineState& state, EngineWaits& waits, EngineMemory& memory) noexcept
      : state_(state), waits_(waits), memory_(memory) {}

  /// Gives peers the `rights` to memory, which is registered as by EngineMemory::attach() until withdraw().
  /// The caller distributes the id. Read-only memory is exposed for reading only: writes to it fail with
  /// not_writable. Errors: as attach(); bad_argument also for no rights; out_of_memory.
  Status expose(void* base, std::size_t bytes, Rights rights, ExposureId* id);
  /// Makes updates of this memory use the CPU's atomics for each element, if its type permits. Such updates
  /// need no stripes, but are slower for arrays (engine/op/kernel/update_modes.hpp).
  void update_by_elements(void const* base, std::size_t bytes);
  /// Withdraws an exposure. Operations that begin after the return fail with stale_exposure; UCX puts and
  /// gets on it have ended. EngineMemory::free() withdraws all exposures in the memory. stale_exposure: `id`
  /// does not exist.
  Status withdraw(ExposureId id);
  /// As withdraw() without the wait; is_unreachable(*withdrawn) reports whether the wait would have ended.
  Status start_withdraw(ExposureId id, WithdrawnExposure* withdrawn);
  bool is_unreachable(WithdrawnExposure const& withdrawn);
  /// Makes all other processes drop the keys that ended processes knew, and destroys these keys when all have
  /// acknowledged; processes get new keys on request. Must be called from time to time, for engines with
  /// exposed_only.
  void renew_keys();
  /// For processes that agree on one id for their exposures: a slot and a generation that are unused at all
  /// of them form an id for change_id().
  UnusedExposureIds unused_exposure_ids() const;
  /// Changes the id of an exposure that no process knows yet. stale_exposure: it does not exist;
  /// bad_argument: the id may have been used.
  Status change_id(ExposureId from, ExposureId to);

 private:
  EngineState& state_;
  EngineWaits& waits_;
  EngineMemory& memory_;
};

}  // namespace mpixrma::engine

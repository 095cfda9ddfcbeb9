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

  /// Gives peers the `rights` to memory, which is registered as by EngineMemory::attach() until conceal().
  /// The caller distributes the id. Read-only memory is exposed for reading only, and a write to it is
  /// not_writable. Errors: as attach(); bad_argument also for no rights; out_of_memory.
  Status expose(void* base, std::size_t bytes, Rights rights, ExposureId* id);
  /// Updates each element of this process's memory there by the CPU's atomics from now on, where its type
  /// permits: no update needs a stripe, and arrays are slower (engine/op/kernel/update_modes.hpp).
  void update_by_elements(void const* base, std::size_t bytes);
  /// Withdraws an exposure. Operations that begin after the return find the exposure stale; UCX puts and gets
  /// on it have ended. EngineMemory::free() withdraws all exposures in the memory. stale_exposure: it does
  /// not exist.
  Status conceal(ExposureId id);
  /// As conceal() without the wait; is_unreachable() reports when it has ended.
  Status start_conceal(ExposureId id, Concealed* left);
  bool is_unreachable(Concealed const& left);
  /// Revokes the keys that ended processes knew from all other processes, and destroys them when these have
  /// answered; they get new keys on request. Must be called from time to time, for engines with exposed_only.
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

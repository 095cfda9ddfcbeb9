/// Access to the engine of this process.
#pragma once

#include "hosts/common/hosted.hpp"
#include "mpix/runtime/visibility.hpp"

namespace mpixrma {

namespace runtime {
MPIX_INTERNAL_API extern engine::Engine* process_engine;
}

/// Valid from the first call after MPI_Init until MPI_Finalize; not in a child made by fork().
inline engine::Engine& engine_of_process() noexcept { return *runtime::process_engine; }

/// As Engine::direct_recorder(); null without an engine.
inline engine::Recorder* direct_recorder() noexcept {
  return runtime::process_engine != nullptr ? runtime::process_engine->direct_recorder() : nullptr;
}

/// The functions of the MPI host; valid during the same time.
inline mpix_host_ops const& host() noexcept { return *mpix_host_operations(); }

}  // namespace mpixrma

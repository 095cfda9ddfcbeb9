/// The engine that this process works with.
#pragma once

#include "hosts/common/hosted.hpp"
#include "mpix/visibility.hpp"

namespace mpixrma {

namespace runtime {
MPIX_WAIST_API extern engine::Engine* process_engine;
}

/// From the first call after MPI_Init until MPI_Finalize; not in a child made by fork().
inline engine::Engine& engine_of_process() noexcept { return *runtime::process_engine; }

/// What the MPI library lends, likewise.
inline mpix_host_ops const& host() noexcept { return *mpix_host_operations(); }

}  // namespace mpixrma

/// Access to the engine that the MPI host of this process offers.
#pragma once

#include "engine/runtime/engine.hpp"
#include "hosts/common/hosted.h"

namespace mpixrma {

/// Returns nullptr before the MPI host offers an engine and after it withdraws the engine.
inline engine::Engine* hosted_engine() noexcept { return static_cast<engine::Engine*>(mpix_host_engine()); }

}  // namespace mpixrma

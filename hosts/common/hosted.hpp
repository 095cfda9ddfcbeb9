/// The engine of this process, as its host offers it.
#pragma once

#include "engine/runtime/engine.hpp"
#include "hosts/common/hosted.h"

namespace mpixrma {

/// nullptr before the host has offered one, and after.
inline engine::Engine* hosted_engine() noexcept { return static_cast<engine::Engine*>(mpix_host_engine()); }

}  // namespace mpixrma

/// Conversion between the handles of the C interface and engines and peers.
#pragma once

#include "engine/runtime/engine.hpp"
#include "engine/runtime/mpix_engine.h"

namespace mpixrma::engine {

inline Engine& engine_of(mpix_engine_t* handle) noexcept { return *static_cast<Engine*>(handle); }
inline Engine const& engine_of(mpix_engine_t const* handle) noexcept {
  return *static_cast<Engine const*>(handle);
}
inline Peer& peer_of(mpix_engine_peer_t* handle) noexcept { return *static_cast<Peer*>(handle); }
inline Peer const& peer_of(mpix_engine_peer_t const* handle) noexcept {
  return *static_cast<Peer const*>(handle);
}

}  // namespace mpixrma::engine

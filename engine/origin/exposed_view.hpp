/// A local mapping of an exposure of a process on this host, for frequent use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/exposure.hpp"

namespace mpixrma::engine {

struct ExposedView {
  std::byte* local = nullptr;  ///< mapped address of the first byte
  Exposure exposure;
  std::atomic<std::uint64_t> const* owner_generation = nullptr;
  std::uint64_t generation = 0;

  /// For a non-empty view: whether the exposure has been withdrawn.
  bool is_gone() const noexcept {
    // Acquire: as in SegmentView::is_gone.
    return owner_generation->load(std::memory_order_acquire) != generation;
  }

  /// Returns a local pointer to the `bytes` bytes at `offset`, or nullptr if they do not lie within the
  /// exposure, the exposure does not permit `wanted`, or it has been withdrawn. Engine::issue determines the
  /// reason.
  std::byte* translate(std::uint64_t offset, std::size_t bytes, Rights wanted) const noexcept {
    if (bytes > exposure.length || offset > exposure.length - bytes) return nullptr;
    if (!includes(exposure.rights, wanted)) return nullptr;
    return is_gone() ? nullptr : local + offset;
  }
};

}  // namespace mpixrma::engine

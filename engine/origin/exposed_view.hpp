/// What a process of this host exposes, as it is mapped here: for who uses it often.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/exposure.hpp"

namespace mpixrma::engine {

struct ExposedView {
  std::byte* local = nullptr;  ///< where the first byte is mapped
  Exposure exposure;
  std::atomic<std::uint64_t> const* owner_generation = nullptr;
  std::uint64_t generation = 0;

  /// Of a view that is not empty: the exposure has been withdrawn.
  bool is_gone() const noexcept {
    // Acquire: as in SegmentView::reach.
    return owner_generation->load(std::memory_order_acquire) != generation;
  }

  /// Local pointer to the `bytes` bytes at `offset`, or nullptr: they do not lie within the exposure, it does
  /// not permit `wanted`, or it has been withdrawn. Engine::issue tells which.
  std::byte* reach(std::uint64_t offset, std::size_t bytes, Rights wanted) const noexcept {
    if (bytes > exposure.length || offset > exposure.length - bytes) return nullptr;
    if (!includes(exposure.rights, wanted)) return nullptr;
    return is_gone() ? nullptr : local + offset;
  }
};

}  // namespace mpixrma::engine

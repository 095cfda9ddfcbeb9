/// The method by which elements of CPU-atomic types are updated in each part of a process's memory: as whole
/// arrays, or each by an atomic instruction.
///
/// As long as no single element of a granule of memory is updated, the CPU's atomics are not used there:
/// updates hold the granule's stripe exclusively and may run at vector speed. The first update of a single
/// element (ElementUpdate::single) takes the stripe too, and switches the granule. From then on all updates
/// there use the CPU's atomics, element by element, and need no stripe for that. A granule is never switched
/// back.
///
/// The modes are stored beside the stripes (engine/sync/stripes.hpp) and are also selected by address.
/// Granules that share a mode share a stripe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/base/remote_address.hpp"
#include "engine/op/kernel/kernels.hpp"

namespace mpixrma::engine {

inline constexpr unsigned granule_shift = 10;  ///< 1 KiB: a counter slows down few of its neighbours
inline constexpr std::size_t granule_count = 1u << 16;

/// Zero-initialised memory is in mode `arrays`.
template <template <typename> class Atomic, std::size_t count = granule_count>
class BasicUpdateModes {
 public:
  /// Whether the element at `address` is updated by the CPU's atomics.
  bool is_by_element(RemoteAddress address) const noexcept {
    return mode_of(granule_of(address)) == elements;
  }

  /// Whether all, or any, of [begin, end) is in mode `elements`. Other parts may switch to that mode
  /// concurrently, unless the caller holds the stripes of the range exclusively.
  bool all_by_element(RemoteAddress begin, RemoteAddress end) const noexcept {
    return !has_mode(begin, end, arrays);
  }
  bool any_by_element(RemoteAddress begin, RemoteAddress end) const noexcept {
    return has_mode(begin, end, elements);
  }

  /// Returns the end of the memory from `begin` on, up to `end`, that has the mode of `begin`.
  RemoteAddress end_of_mode(RemoteAddress begin, RemoteAddress end) const noexcept {
    RemoteAddress granule = granule_of(begin);
    Mode const mode = mode_of(granule);
    RemoteAddress const last = granule_of(end - 1);
    while (granule < last && mode_of(granule + 1) == mode) ++granule;
    return granule == last ? end : (granule + 1) << granule_shift;
  }

  /// The caller holds the stripe of `address` exclusively, unless is_by_element() is already true.
  void switch_to_elements(RemoteAddress address) noexcept {
    // Release: pairs with the acquire in mode_of().
    if (!is_by_element(address))
      modes_[granule_of(address) % count].store(elements, std::memory_order_release);
  }

 private:
  enum Mode : std::uint8_t { arrays = 0, elements = 1 };

  static constexpr RemoteAddress granule_of(RemoteAddress address) noexcept {
    return address >> granule_shift;
  }

  Mode mode_of(RemoteAddress granule) const noexcept {
    // Acquire: pairs with the release in switch_to_elements(); a thread that continues without the stripe
    // comes after all updates that were made under the stripe before.
    return modes_[granule % count].load(std::memory_order_acquire) == arrays ? arrays : elements;
  }

  /// Whether any granule of [begin, end) is in `mode`.
  bool has_mode(RemoteAddress begin, RemoteAddress end, Mode mode) const noexcept {
    if (begin >= end) return false;
    RemoteAddress const first = granule_of(begin);
    // `count` granules cover all modes.
    RemoteAddress const last = std::min(granule_of(end - 1), first + (count - 1));
    for (RemoteAddress granule = first; granule <= last; ++granule)
      if (mode_of(granule) == mode) return true;
    return false;
  }

  std::array<Atomic<std::uint8_t>, count> modes_{};
};

/// A class, so that the kernels can declare it without further includes.
class UpdateModes final : public BasicUpdateModes<std::atomic> {};

/// An update of elements at [begin, end), or at parts of it.
struct ElementUpdate {
  ElementType type;
  RemoteAddress begin;
  RemoteAddress end;
  bool single = false;  ///< switches its memory: see is_single() (engine/sync/footprint.hpp)
};

/// Whether the atomicity of the elements requires the stripes of the range. `update` is contiguous.
inline bool needs_stripes(UpdateModes const& modes, ElementUpdate const& update) noexcept {
  return !is_cpu_atomic(update.type, update.begin) || !modes.all_by_element(update.begin, update.end);
}

/// Whether the CPU's atomics will update some aligned elements of `update`. May be called without stripes:
/// `true` remains true.
inline bool will_use_cpu_atomics(UpdateModes const& modes, ElementUpdate const& update) noexcept {
  return has_cpu_atomics(update.type) && (update.single || modes.any_by_element(update.begin, update.end));
}

/// Switches the memory of an update of a single element to mode `elements`; returns whether the CPU's atomics
/// update some aligned elements of `update`. The caller holds the stripes of the range exclusively, or has
/// found that they are not needed.
inline bool uses_cpu_atomics(UpdateModes& modes, ElementUpdate const& update) noexcept {
  if (!will_use_cpu_atomics(modes, update)) return false;
  if (update.single) modes.switch_to_elements(update.begin);
  return true;
}

/// Returns the places of the elements that the CPU's atomics update. The memory is mapped at `mapped` here
/// and has the address `address` in its process.
inline AtomicRegions atomic_regions(UpdateModes const& modes, ElementUpdate const& update,
                                    std::byte const* mapped, RemoteAddress address) noexcept {
  if (modes.all_by_element(update.begin, update.end)) return {};
  return {&modes, address - reinterpret_cast<std::uintptr_t>(mapped)};
}

}  // namespace mpixrma::engine

/// Exposed memory of a process and the access rights of its peers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/status.hpp"
#include "engine/op/layout/layout.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// The rights of peers to exposed memory: a set of bits.
enum class Rights : std::uint32_t {
  none = 0,
  read = 1,    ///< get; with `update`, operations that fetch the previous values
  write = 2,   ///< put
  update = 4,  ///< accumulate, read-modify-write, notification
  all = read | write | update,
  unwritable = 8  ///< no right: `write` and `update` are missing because the memory is read-only
};

constexpr Rights operator|(Rights a, Rights b) noexcept {
  return static_cast<Rights>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
/// Whether `held` includes all of `wanted`.
constexpr bool includes(Rights held, Rights wanted) noexcept {
  return (static_cast<std::uint32_t>(wanted) & ~static_cast<std::uint32_t>(held)) == 0;
}
/// Returns the rights that remain for read-only memory.
constexpr Rights without_writing(Rights rights) noexcept {
  return (includes(rights, Rights::read) ? Rights::read : Rights::none) | Rights::unwritable;
}

struct Exposure {
  RemoteAddress base = 0;    ///< virtual address in the process
  std::uint64_t length = 0;  ///< in bytes
  Rights rights = Rights::none;

  /// Checks an access to the bytes `extent`, relative to `offset`: ok, out_of_bounds, access_denied, or
  /// not_writable if the memory is read-only.
  Status permits(std::uint64_t offset, Extent extent, Rights wanted) const noexcept {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool const wraps = __builtin_add_overflow(static_cast<std::int64_t>(offset), extent.begin, &begin) ||
                       __builtin_add_overflow(static_cast<std::int64_t>(offset), extent.end, &end);
    if (wraps || begin < 0 || end < begin || static_cast<std::uint64_t>(end) > length)
      return Status::out_of_bounds;
    if (includes(rights, wanted)) return Status::ok;
    bool const only_reads = includes(Rights::read, wanted);
    return includes(rights, Rights::unwritable) && !only_reads ? Status::not_writable : Status::access_denied;
  }

  /// Checks a counter at `offset`: as permits(), or bad_argument if it is misaligned.
  Status permits_counter(std::uint64_t offset) const noexcept {
    constexpr std::uint64_t bytes = sizeof(std::uint64_t);
    if (Status const status = permits(offset, {0, bytes}, Rights::update); failed(status)) return status;
    return (base + offset) % bytes == 0 ? Status::ok : Status::bad_argument;
  }
};

/// A withdrawn exposure, and the memory [begin, end) that peers may still access through it.
struct WithdrawnExposure {
  ExposureId id = ExposureId::none;
  RemoteAddress begin = 0;
  RemoteAddress end = 0;
};

/// The parts of an exposure id. The highest bit distinguishes it from the number of a segment.
inline constexpr unsigned exposure_slot_bits = 16;
inline constexpr std::uint64_t exposure_mark = std::uint64_t{1} << 63;

constexpr ExposureId make_exposure_id(std::uint32_t slot, std::uint64_t generation) noexcept {
  return static_cast<ExposureId>(exposure_mark | generation << exposure_slot_bits | slot);
}
constexpr std::uint32_t slot_of(ExposureId id) noexcept {
  return static_cast<std::uint32_t>(id) & ((1u << exposure_slot_bits) - 1);
}
constexpr std::uint64_t generation_of(ExposureId id) noexcept {
  return (static_cast<std::uint64_t>(id) & ~exposure_mark) >> exposure_slot_bits;
}

/// Exposure ids that a process has not used: those of slots from `slot` on, and of generations after
/// `generation`.
struct UnusedExposureIds {
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
};

}  // namespace mpixrma::engine

/// Memory of a device (CUDA, ROCm) in this process. It has addresses like all memory, but the CPU may be
/// unable to access it: loads and stores then end the process.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>

#include "engine/base/access.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class DeviceMemory {
 public:
  /// Whether this host may have devices with memory. Does not ask UCX, but is true if UCX would find one.
  static bool are_devices_present() noexcept;

  /// Asks UCX whether it knows devices; nullptr: there are none. Called once, before any operation. For
  /// tests, the environment variable MPIX_TEST_DEVICE_MEMORY=BEGIN-END, in hexadecimal, declares addresses
  /// device memory.
  void open(ucp_context_h context);

  /// Whether this process can have device memory at all.
  bool is_possible() const noexcept { return possible_; }
  /// The name of a kind of device memory that UCX knows; nullptr if it knows none.
  char const* known_kind() const noexcept { return known_kind_; }

  /// Whether some of the `bytes` bytes at `begin` are device memory that does not permit the CPU's access.
  bool holds(void const* begin, std::size_t bytes, Access access) const noexcept;

  /// Whether the operation reads or writes such memory of this process.
  bool holds_origin_of(RmaOp const& operation) const noexcept;

 private:
  bool holds(std::byte const* base, Layout const& layout, Access access) const noexcept;

  bool possible_ = false;
  char const* known_kind_ = nullptr;
  std::uintptr_t test_begin_ = 0;
  std::uintptr_t test_end_ = 0;
};

}  // namespace mpixrma::engine

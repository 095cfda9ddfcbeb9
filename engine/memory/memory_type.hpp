/// Memory of a device (CUDA, ROCm) in this process. It has addresses like all memory, and the processor may
/// not be able to touch it: loads and stores end the process.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>

#include "engine/base/access.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class DeviceMemory {
 public:
  /// Whether this host may have devices with memory, without UCX. Never false if UCX would find one.
  static bool are_devices_present() noexcept;

  /// Asks UCX whether it knows devices; nullptr: there are none. Once, before any operation. The environment
  /// variable MPIX_TEST_DEVICE_MEMORY=BEGIN-END, in hexadecimal, declares addresses a device's, for tests.
  void open(ucp_context_h context);

  /// Whether there can be such memory at all.
  bool is_possible() const noexcept { return possible_; }
  /// The name of a kind that UCX knows; nullptr where there is none.
  char const* known_kind() const noexcept { return known_kind_; }

  /// Whether some of the `bytes` bytes at `begin` are a device's and cannot be read (`write`: written) here.
  bool holds(void const* begin, std::size_t bytes, Access access) const noexcept;

  /// Whether some of the memory of this process that the operation reads or writes is of that kind.
  bool holds_origin_of(RmaOp const& operation) const noexcept;

 private:
  bool holds(std::byte const* base, Layout const& layout, Access access) const noexcept;

  bool possible_ = false;
  char const* known_kind_ = nullptr;
  std::uintptr_t test_begin_ = 0;
  std::uintptr_t test_end_ = 0;
};

}  // namespace mpixrma::engine

/// Memory that is treated as device memory: the tests' environment declares its addresses
/// (MPIX_TEST_DEVICE_MEMORY), and an access by the CPU ends the process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mpixrma::test {

class DevicePages {
 public:
  DevicePages() : base_(::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, flags, -1, 0)) {}
  ~DevicePages() { ::munmap(base_, bytes); }
  DevicePages(DevicePages const&) = delete;
  DevicePages& operator=(DevicePages const&) = delete;

  bool there() const { return base_ == reinterpret_cast<void*>(address); }
  char* at(std::size_t offset = 0) const { return static_cast<char*>(base_) + offset; }

  static constexpr std::size_t bytes = 0x10000;

 private:
  static constexpr std::uintptr_t address = 0x6a0000000000;  // as in tests/mpi/mpix/tests.table
  static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

  void* base_;
};

}  // namespace mpixrma::test

/// Origin buffers that remain valid until all operations of a batch are complete.
#pragma once

#include <cstddef>
#include <new>

#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"

namespace mpixrma::stress {

class Arena {
 public:
  static constexpr std::size_t alignment = 64;

  /// `kind` as in Places.
  Arena(std::size_t bytes, int kind) : kind_(kind), bytes_(bytes) {
    void* memory = nullptr;
    if (kind == 0) {
      mpixrma::test::rma_allocate_local(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
    } else {
      memory = ::operator new (bytes, std::align_val_t{alignment});
      if (kind == 1) mpixrma::test::rma_register(memory, static_cast<MPI_Aint>(bytes));
    }
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Arena() {
    if (kind_ == 0) {
      mpixrma::test::rma_free_local(memory_);
      return;
    }
    if (kind_ == 1) mpixrma::test::rma_deregister(memory_, static_cast<MPI_Aint>(bytes_));
    ::operator delete (memory_, std::align_val_t{alignment});
  }
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  bool has(std::size_t bytes) const noexcept { return used_ + bytes + 2 * alignment <= bytes_; }
  /// Returns `bytes` bytes, `shift` bytes behind an aligned address.
  std::byte* take(std::size_t bytes, std::size_t shift = 0) noexcept {
    std::byte* const begin = memory_ + used_ + shift;
    used_ += (bytes + shift + alignment - 1) / alignment * alignment;
    return begin;
  }
  void clear() noexcept { used_ = 0; }
  bool is_communicatable() const noexcept { return kind_ != 2; }

 private:
  int kind_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

}  // namespace mpixrma::stress

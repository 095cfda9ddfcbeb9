/// Allocates the pages of a mapping in advance: if the machine lacks memory, the allocation fails instead of
/// a process being killed at first touch.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// Bytes that may be taken before the next check of the free memory; a check costs as much as allocating a
/// megabyte. Thread-safe.
class CommitCredit {
 public:
  /// Whether `bytes` bytes, at most a step, may be taken.
  bool may_take(std::size_t bytes) noexcept;

 private:
  // Relaxed: a counter that orders no other memory.
  std::atomic<std::size_t> left_{0};
};

/// Allocates pages for [offset, offset + bytes) of `file`, mapped as `mapping`; page-aligned. Returns
/// out_of_memory, and frees everything, if the machine or a cgroup would have too little left. Thread-safe.
Status commit_memory(FileDescriptor const& file, Mapping const& mapping, std::size_t offset,
                     std::size_t bytes, CommitCredit& credit) noexcept;

}  // namespace mpixrma::engine

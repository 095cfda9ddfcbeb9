/// Memory that stands behind an allocation before anybody touches it: what the machine does not have is
/// refused when it is asked for, instead of a process being killed when it is used.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// What may be taken before the next look at what the machine has left: to look costs as much as a megabyte
/// does. Any thread.
class CommitCredit {
 public:
  /// Whether `bytes` bytes, a step at most, may be taken.
  bool may_take(std::size_t bytes) noexcept;

 private:
  // Relaxed: a count that no other memory depends on.
  std::atomic<std::size_t> left_{0};
};

/// Takes pages for [offset, offset + bytes) of `file`, mapped as `mapping`; page-aligned. out_of_memory: the
/// machine or a control group would have too little left; then everything is given back. Any thread.
Status commit_memory(FileDescriptor const& file, Mapping const& mapping, std::size_t offset,
                     std::size_t bytes, CommitCredit& credit) noexcept;

}  // namespace mpixrma::engine

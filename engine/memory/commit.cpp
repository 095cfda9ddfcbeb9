#include "engine/memory/commit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/memory/headroom.hpp"

namespace mpixrma::engine {

namespace {

// Bytes that a check of the free memory permits, because other processes allocate concurrently. A second step
// may follow without a check (CommitCredit).
constexpr std::size_t step_bytes = 64 * 1024 * 1024;

}  // namespace

/// If a check finds at least a step more than requested, later calls take that step without a check.
bool CommitCredit::may_take(std::size_t bytes) noexcept {
  std::size_t left = left_.load(std::memory_order_relaxed);
  while (bytes <= left) {
    if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
  }
  std::uint64_t const found = memory_headroom_or_none();
  if (found < bytes) return false;
  left_.store(found - bytes >= step_bytes ? step_bytes : 0, std::memory_order_relaxed);
  return true;
}

Status commit_memory(FileDescriptor const& file, Mapping const& mapping, std::size_t offset,
                     std::size_t bytes, CommitCredit& credit) noexcept {
  bool enough = bytes <= step_bytes || memory_headroom_or_none() >= bytes;
  std::size_t done = 0;
  while (enough && done < bytes) {
    std::size_t const step = std::min(step_bytes, bytes - done);
    enough = credit.may_take(step) && take_pages(file, mapping, offset + done, step);
    done += step;
  }
  if (enough) return Status::ok;
  if (done != 0) release_pages(file, offset, done);
  return Status::out_of_memory;
}

}  // namespace mpixrma::engine

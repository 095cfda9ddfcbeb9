/// Origin buffers that stay as they are until everything of a batch is complete.
#pragma once

#include <cstddef>
#include <vector>

namespace mpix::stress {

class Arena {
 public:
  explicit Arena(std::size_t ints) : memory_(ints) {}

  bool has(std::size_t ints) const noexcept { return used_ + ints <= memory_.size(); }
  int* take(std::size_t ints) noexcept {
    int* const begin = memory_.data() + used_;
    used_ += (ints + 1) & ~std::size_t{1};  // 8-byte alignment
    return begin;
  }
  void clear() noexcept { used_ = 0; }

 private:
  std::vector<int> memory_;
  std::size_t used_ = 0;
};

}  // namespace mpix::stress

/// Buffers at MPI_BOTTOM, described by datatypes with absolute displacements.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace mpixrma {

/// Gives a buffer at MPI_BOTTOM a base address within the buffer, because a null pointer means "no buffer" in
/// the layers below.
class AbsoluteBuffer {
 public:
  AbsoluteBuffer() = default;
  AbsoluteBuffer(AbsoluteBuffer const&) = delete;
  AbsoluteBuffer& operator=(AbsoluteBuffer const&) = delete;

  /// Returns the address that `*layout` is relative to. `*layout` may refer to this object afterwards. Throws
  /// std::bad_alloc.
  std::byte* rebase(void* address, engine::Layout* layout) {
    if (address == nullptr && !layout->runs.empty()) [[unlikely]]
      return rebase_layout(layout);
    return static_cast<std::byte*>(address);
  }

 private:
  __attribute__((noinline)) std::byte* rebase_layout(engine::Layout* layout) {
    std::vector<engine::LayoutRun> runs(layout->runs.begin(), layout->runs.end());
    std::ptrdiff_t const first = runs.front().offset;
    for (engine::LayoutRun& run : runs) run.offset -= first;
    rebased_layout_.emplace(engine::Layout{layout->block, layout->dims, runs});
    *layout = rebased_layout_->view();
    return reinterpret_cast<std::byte*>(first);
  }

  std::optional<engine::OwnedLayout> rebased_layout_;
};

}  // namespace mpixrma

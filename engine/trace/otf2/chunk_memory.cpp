#include "engine/trace/otf2/chunk_memory.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace mpixrma::engine {

namespace {

/// The chunks of one file.
class Chunks {
 public:
  /// Returns nullptr without memory, or if all chunks are in use, so that OTF2 writes them to the file.
  void* take(std::size_t bytes) noexcept {
    if (used_ == chunks_.size()) return nullptr;
    auto& chunk = chunks_[used_];
    if (chunk == nullptr) chunk.reset(new (std::nothrow) std::byte[bytes]);
    if (chunk != nullptr) ++used_;
    return chunk.get();
  }
  void release_all() noexcept { used_ = 0; }

 private:
  std::array<std::unique_ptr<std::byte[]>, 2> chunks_;
  std::size_t used_ = 0;
};

void* allocate(void*, OTF2_FileType, OTF2_LocationRef, void** of_file, std::uint64_t bytes) noexcept {
  if (*of_file == nullptr) *of_file = new (std::nothrow) Chunks;
  return *of_file != nullptr ? static_cast<Chunks*>(*of_file)->take(bytes) : nullptr;
}

void free_all(void*, OTF2_FileType, OTF2_LocationRef, void** of_file, bool is_last) noexcept {
  auto* const chunks = static_cast<Chunks*>(*of_file);
  if (chunks == nullptr) return;
  chunks->release_all();
  if (!is_last) return;
  delete chunks;
  *of_file = nullptr;
}

}  // namespace

OTF2_ErrorCode limit_chunk_memory(OTF2_Archive* archive) noexcept {
  static OTF2_MemoryCallbacks const callbacks{allocate, free_all};
  return OTF2_Archive_SetMemoryCallbacks(archive, &callbacks, nullptr);
}

}  // namespace mpixrma::engine

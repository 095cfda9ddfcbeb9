/// The memory of a grant: anonymous, of huge pages, or a file that is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/segment/shared_memory.hpp"

namespace mpix::nam {

enum class StorageKind { memory, huge, file };

/// Throws Error(bad_request).
StorageKind parse_storage(std::string const& name);
char const* to_string(StorageKind kind) noexcept;

class Storage {
 public:
  Storage() = default;
  /// Makes it. `file` only matters for StorageKind::file: an existing file is used as it is, and must have
  /// `bytes` bytes. Throws Error(no_space) where there is not enough of it.
  Storage(StorageKind kind, std::uint64_t bytes, std::filesystem::path const& file);
  /// The one that another process has made.
  Storage(StorageKind kind, std::uint64_t bytes, engine::FileDescriptor descriptor);

  int descriptor() const noexcept { return descriptor_.get(); }
  std::byte* base() const noexcept { return mapping_.base(); }
  std::uint64_t bytes() const noexcept { return mapping_.length(); }

  /// Whether all of it was zero when this process got it.
  bool is_fresh() const noexcept { return fresh_; }
  /// Makes [offset, offset + length), whole pages, zero, and gives memory back where that is no risk.
  void clear(std::uint64_t offset, std::uint64_t length);
  /// Returns when these bytes are on storage, if it is a file. Throws Error.
  void sync(std::uint64_t offset, std::uint64_t length) const;

 private:
  void map(std::uint64_t bytes);

  StorageKind kind_ = StorageKind::memory;
  bool fresh_ = false;
  engine::FileDescriptor descriptor_;
  engine::Mapping mapping_;
};

}  // namespace mpix::nam

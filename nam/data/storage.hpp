/// The memory of a grant: an anonymous file of ordinary or huge pages, whose length nobody can change.
/// Clients map it. With a storage file (StorageFile) it is the copy that clients work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

enum class StorageKind { memory, huge, file };

/// Throws Error(bad_request).
StorageKind parse_storage(std::string const& name);
char const* to_string(StorageKind kind) noexcept;

/// The memory of the machine that `bytes` bytes take: whole pages.
std::uint64_t bytes_of_pages(StorageKind kind, std::uint64_t bytes) noexcept;

class Storage {
 public:
  Storage() = default;
  /// New memory. Throws Error(no_space) if the system has too little.
  Storage(StorageKind kind, std::uint64_t bytes);
  /// Memory that another process has made. Throws Error(unavailable) if it is shorter.
  Storage(StorageKind kind, std::uint64_t bytes, engine::FileDescriptor descriptor);

  int descriptor() const noexcept { return descriptor_.get(); }
  std::byte* base() const noexcept { return mapping_.base(); }
  std::uint64_t bytes() const noexcept { return mapping_.length(); }

  /// Takes the next part of new memory from the machine, so that using it cannot fail. Returns true when all
  /// of it is there. Throws Error(no_space) if the machine, or a control group, has too little; then gives
  /// back what it has taken.
  bool reserve_next();
  /// Makes clear() keep the memory from now on.
  void keep_pages() noexcept { keeps_pages_ = true; }
  /// Gives all memory back to the system: it is zero for processes that still map it.
  void discard() noexcept;

  /// Whether the memory was new, and zero, when this process got it.
  bool is_fresh() const noexcept { return fresh_; }
  /// Makes [offset, offset + length), whole pages, zero. Gives ordinary pages back to the system unless
  /// keep_pages() was called.
  void clear(std::uint64_t offset, std::uint64_t length);
  /// Copies between the memory and a buffer. The caller has checked the range. Throws Error(unavailable) if
  /// the system has no memory behind it (SIGBUS); then a part may have been copied.
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  void write(std::uint64_t offset, std::span<std::byte const> from);
  /// Calls `access`, which accesses [offset, offset + length). Throws as read(); `access` has then ended in
  /// the middle, without destructors.
  void access(std::uint64_t offset, std::uint64_t length, std::function<void()> const& access) const;

 private:
  void map(std::uint64_t bytes);

  StorageKind kind_ = StorageKind::memory;
  bool fresh_ = false;
  bool keeps_pages_ = false;
  std::uint64_t reserved_ = 0;
  engine::FileDescriptor descriptor_;
  engine::Mapping mapping_;
};

}  // namespace mpixrma::nam

/// The data process's side of a storage file: reads windows from it, and writes changed pages back. Nothing
/// maps the file, so that no change of its length is a fault; no client has a descriptor of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/base/shared_memory.hpp"
#include "nam/data/storage_identity.hpp"

namespace mpixrma::nam {

class StorageFile {
 public:
  /// `descriptor`: opened by the control process for this process alone. A new file gets all of its blocks
  /// and its identity. Throws Error(exists) while another process uses the file, Error(no_space) or
  /// Error(internal).
  StorageFile(engine::FileDescriptor descriptor, StorageIdentity const& identity, bool is_new);

  /// Copies [offset, offset + length) of the file into the same range of file `memory`. Throws Error.
  void load(int memory, std::uint64_t offset, std::uint64_t length) const;

  /// The pages that store() writes. A page that a failed sync has lost reads as if it were on the disk: only
  /// `all` writes it again.
  enum class Pages { changed, all };
  /// Writes the pages of [offset, offset + length) in which file `memory` differs, or all of them, until it
  /// has looked at `most` bytes; returns where it has stopped, offset + length at the end. What is written
  /// survives the processes of the server; after sync() a crash of the machine, too. Throws Error: the file
  /// is gone, was cut, or cannot be written.
  std::uint64_t store(Pages pages, int memory, std::uint64_t offset, std::uint64_t length,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  void sync() const;

  /// Makes [offset, offset + length) zero. Throws Error.
  void clear(std::uint64_t offset, std::uint64_t length) const;

 private:
  void check_length() const;
  void store_piece(std::byte const* wanted, std::byte const* present, std::uint64_t offset,
                   std::size_t length) const;

  engine::FileDescriptor descriptor_;
  std::uint64_t bytes_ = 0;
};

}  // namespace mpixrma::nam

/// Identity of a grant's storage file: the last page of the file, behind the memory of the grant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mpixrma::nam {

struct StorageIdentity {
  std::string grant;
  std::uint64_t bytes = 0;  ///< of the grant's memory

  bool operator==(StorageIdentity const&) const = default;
};

inline constexpr std::uint64_t identity_page_bytes = 4096;

/// Length of the file of a grant of `bytes` bytes.
constexpr std::uint64_t storage_file_bytes(std::uint64_t bytes) noexcept {
  return bytes + identity_page_bytes;
}

/// Writes the identity page into file `descriptor`. Returns false, with errno set, on failure.
bool write_identity(int descriptor, StorageIdentity const& identity) noexcept;

/// Whether file `descriptor` has the identity page of `identity`.
bool has_identity(int descriptor, StorageIdentity const& identity) noexcept;

}  // namespace mpixrma::nam

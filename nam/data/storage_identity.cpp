#include "nam/data/storage_identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mpixrma::nam {

namespace {

constexpr std::array<char, 16> page_mark{"mpix-nam memory"};
constexpr std::uint64_t page_version = 1;

/// In the byte order of the host, like the memory before it.
struct IdentityPage {
  std::array<char, 16> mark;
  std::uint64_t version;
  std::uint64_t bytes;
  std::array<char, 128> grant;  ///< ends with a null character
  std::uint64_t checksum;       ///< of all members before it
};
static_assert(sizeof(IdentityPage) <= identity_page_bytes);

std::uint64_t checksum_of(IdentityPage const& page) noexcept {
  std::uint64_t sum = 14695981039346656037u;  // FNV-1a
  auto const* const bytes = reinterpret_cast<unsigned char const*>(&page);
  for (std::size_t i = 0; i < offsetof(IdentityPage, checksum); ++i) sum = (sum ^ bytes[i]) * 1099511628211u;
  return sum;
}

IdentityPage page_of(StorageIdentity const& identity) noexcept {
  IdentityPage page{};
  page.mark = page_mark;
  page.version = page_version;
  page.bytes = identity.bytes;
  std::memcpy(page.grant.data(), identity.grant.data(),
              std::min(identity.grant.size(), page.grant.size() - 1));
  page.checksum = checksum_of(page);
  return page;
}

}  // namespace

bool write_identity(int descriptor, StorageIdentity const& identity) noexcept {
  std::array<std::byte, identity_page_bytes> written{};
  IdentityPage const page = page_of(identity);
  std::memcpy(written.data(), &page, sizeof page);
  return ::pwrite(descriptor, written.data(), written.size(), static_cast<off_t>(identity.bytes)) ==
         static_cast<ssize_t>(written.size());
}

bool has_identity(int descriptor, StorageIdentity const& identity) noexcept {
  IdentityPage found{};
  IdentityPage const expected = page_of(identity);
  return ::pread(descriptor, &found, sizeof found, static_cast<off_t>(identity.bytes)) ==
             static_cast<ssize_t>(sizeof found) &&
         std::memcmp(&found, &expected, sizeof found) == 0;
}

}  // namespace mpixrma::nam

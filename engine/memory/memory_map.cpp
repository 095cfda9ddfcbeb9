#include "engine/memory/memory_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/base/shared_memory.hpp"
#include "engine/memory/touch.hpp"

namespace mpixrma::engine {

namespace {

/// One mapping of /proc/self/maps.
struct MapEntry {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
  std::uint64_t offset = 0;  ///< file offset of `begin`
  unsigned major = 0;        ///< device of the file
  unsigned minor = 0;
  std::uint64_t inode = 0;     ///< 0: no file
  char const* path = nullptr;  ///< may be truncated
};

/// Parses "begin-end rwxp offset major:minor inode path". Returns false if the line has another form.
bool parse(char const* line, MapEntry* out) noexcept {
  char* at = nullptr;
  MapEntry entry;
  entry.begin = std::strtoull(line, &at, 16);
  if (*at != '-') return false;
  entry.end = std::strtoull(at + 1, &at, 16);
  if (*at != ' ' || std::strlen(at) < 6) return false;
  entry.readable = at[1] == 'r';
  entry.writable = at[2] == 'w';
  entry.offset = std::strtoull(at + 6, &at, 16);
  entry.major = static_cast<unsigned>(std::strtoul(at, &at, 16));
  if (*at != ':') return false;
  entry.minor = static_cast<unsigned>(std::strtoul(at + 1, &at, 16));
  entry.inode = std::strtoull(at, &at, 10);
  entry.path = at + std::strspn(at, " ");
  *out = entry;
  return true;
}

FileDescriptor open_map() noexcept { return FileDescriptor(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)); }

/// Reads the lines of /proc/self/maps, in address order.
class MapText {
 public:
  explicit MapText(FileDescriptor file) noexcept : file_(std::move(file)) {}

  /// Finds the mapping at the address, which is not below those of earlier calls. Returns false if there is
  /// none. `out->path` is valid until the next call.
  bool find(std::uintptr_t at, MapEntry* out) noexcept {
    while (next(out)) {
      if (out->end > at) return out->begin <= at;
    }
    return false;
  }

  /// Reads the next mapping. Returns false at the end.
  bool next(MapEntry* out) noexcept {
    for (;;) {
      char* const end = static_cast<char*>(std::memchr(text_.data() + begin_, '\n', end_ - begin_));
      if (end == nullptr) {
        if (!read_more()) return false;
        continue;
      }
      *end = '\0';
      char const* const line = text_.data() + begin_;
      begin_ = static_cast<std::size_t>(end - text_.data()) + 1;
      if (parse(line, out)) return true;
    }
  }

 private:
  /// Longer than any line: a path has at most 4096 characters.
  static constexpr std::size_t buffer_bytes = 8192;

  bool read_more() noexcept {
    std::memmove(text_.data(), text_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == text_.size()) return false;
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), text_.data() + end_, text_.size() - end_);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
  }

  FileDescriptor file_;
  std::array<char, buffer_bytes> text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Queries the kernel for single mappings. The time does not depend on the number of all mappings.
class MapQueries {
 public:
  explicit MapQueries(FileDescriptor file) noexcept : file_(std::move(file)) {}

  /// As MapText::find(). Returns false also if the query fails: see is_supported().
  bool find(std::uintptr_t at, MapEntry* out) noexcept {
    Query query{};
    query.size = sizeof query;
    query.address = at;
    query.name_bytes = static_cast<std::uint32_t>(name_.size());
    query.name = reinterpret_cast<std::uintptr_t>(name_.data());
    name_[0] = '\0';
    if (::ioctl(file_.get(), _IOWR('f', 17, Query), &query) != 0) {
      is_supported_ = errno == ENOENT;
      return false;
    }
    *out = {static_cast<std::uintptr_t>(query.begin),
            static_cast<std::uintptr_t>(query.end),
            (query.rights & readable) != 0,
            (query.rights & writable) != 0,
            query.offset,
            query.major,
            query.minor,
            query.inode,
            name_.data()};
    return true;
  }
  bool is_supported() const noexcept { return is_supported_; }

 private:
  /// The kernel's struct procmap_query, which headers before Linux 6.11 lack.
  struct Query {
    std::uint64_t size, flags, address;
    std::uint64_t begin, end, rights, page_bytes, offset, inode;
    std::uint32_t major, minor, name_bytes, build_id_bytes;
    std::uint64_t name, build_id;
  };
  static constexpr std::uint64_t readable = 1;
  static constexpr std::uint64_t writable = 2;

  FileDescriptor file_;
  std::array<char, 4096> name_;
  bool is_supported_ = true;
};

/// Finds the rights of the range by touching its pages; not by accessible(), which calls rights_of() itself.
/// Returns no rights if this thread would not survive a fault (Touched::unknown).
MemoryRights touched_rights(std::uintptr_t begin, std::uintptr_t end) noexcept {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  bool const is_readable = touch(begin, end, page, Access::read) == Touched::all;
  return {is_readable, is_readable, is_readable && touch(begin, end, page, Access::write) == Touched::all};
}

/// Finds the file of the mapping: by its link, which needs privileges, or by its path, which may be gone.
bool find_file(MapEntry const& entry, struct stat* out) noexcept {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/map_files/%llx-%llx",
                static_cast<unsigned long long>(entry.begin), static_cast<unsigned long long>(entry.end));
  if (::stat(link, out) == 0) return true;
  return entry.path[0] == '/' && ::stat(entry.path, out) == 0 && out->st_ino == entry.inode &&
         out->st_dev == makedev(entry.major, entry.minor);
}

/// Whether the file of the mapping extends to `end`, an address within the mapping: an access beyond the
/// file's last page raises SIGBUS.
bool file_reaches(MapEntry const& entry, std::uintptr_t end) noexcept {
  struct stat file {};
  if (!find_file(entry, &file)) return touched_rights(end - 1, end).readable;
  if (!S_ISREG(file.st_mode)) return true;
  auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t const pages = (static_cast<std::uint64_t>(file.st_size) + page - 1) / page;
  return entry.offset + (end - entry.begin) <= pages * page;
}

/// Combines the rights of the mappings in [at, end).
template <typename Map>
MemoryRights rights_in(Map& map, std::uintptr_t at, std::uintptr_t end) noexcept {
  MemoryRights rights{true, true, true};
  MapEntry entry;
  while (at < end) {
    if (!map.find(at, &entry)) return {};
    at = std::min(entry.end, end);
    rights.readable = rights.readable && entry.readable;
    rights.writable = rights.writable && entry.writable;
    if (entry.inode != 0 && entry.readable && !file_reaches(entry, at)) return {};
  }
  return rights;
}

}  // namespace

std::optional<MemoryRights> detail::query_rights(void const* begin, std::size_t bytes) noexcept {
  static std::atomic<bool> is_supported{true};
  if (!is_supported.load(std::memory_order_relaxed)) return std::nullopt;
  FileDescriptor file = open_map();
  if (!file) return std::nullopt;
  MapQueries map(std::move(file));
  auto const at = reinterpret_cast<std::uintptr_t>(begin);
  MemoryRights const rights = rights_in(map, at, at + bytes);
  if (map.is_supported()) return rights;
  is_supported.store(false, std::memory_order_relaxed);
  return std::nullopt;
}

MemoryRights detail::read_rights(void const* begin, std::size_t bytes) noexcept {
  FileDescriptor file = open_map();
  auto const at = reinterpret_cast<std::uintptr_t>(begin);
  if (!file) return touched_rights(at, at + bytes);
  MapText map(std::move(file));
  return rights_in(map, at, at + bytes);
}

MemoryRights rights_of(void const* begin, std::size_t bytes) noexcept {
  auto const at = reinterpret_cast<std::uintptr_t>(begin);
  if (at + bytes < at) return {};
  std::optional<MemoryRights> const asked = detail::query_rights(begin, bytes);
  return asked ? *asked : detail::read_rights(begin, bytes);
}

Status reason_for_fault(void const* begin, std::size_t bytes, Access access) noexcept {
  MemoryRights const rights = rights_of(begin, bytes);
  bool const is_write_missing = access == Access::write && rights.readable && !rights.writable;
  return is_write_missing ? Status::not_writable : Status::bad_address;
}

std::uintptr_t first_unmapped(std::uintptr_t begin, std::uintptr_t end, std::size_t bytes,
                              std::size_t alignment) noexcept {
  auto const aligned = [alignment](std::uintptr_t address) {
    return (address + (alignment - 1)) & ~(alignment - 1);
  };
  FileDescriptor file = open_map();
  if (!file) return 0;
  MapText text(std::move(file));
  MapEntry entry;
  std::uintptr_t at = aligned(begin);
  while (text.next(&entry)) {
    if (entry.end <= at) continue;
    if (entry.begin >= at && entry.begin - at >= bytes) break;
    at = aligned(entry.end);
  }
  return at >= begin && at < end && bytes <= end - at ? at : 0;
}

}  // namespace mpixrma::engine

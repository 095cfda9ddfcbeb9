#include "engine/memory/memory_map.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/base/shared_memory.hpp"
#include "engine/memory/probe.hpp"

namespace mpixrma::engine {

namespace {

/// One line of /proc/self/maps.
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

/// Reads the lines of /proc/self/maps, in address order.
class MapReader {
 public:
  bool is_open() const noexcept { return static_cast<bool>(file_); }

  /// Returns false at the end. `out->path` is valid until the next call.
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
    if (end_ == text_.size() || !file_) return false;
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), text_.data() + end_, text_.size() - end_);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
  }

  FileDescriptor file_{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  std::array<char, buffer_bytes> text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Finds the file of the mapping: by its link, which needs privileges, or by its path, which it may lack.
bool find_file(MapEntry const& entry, struct stat* out) noexcept {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/map_files/%llx-%llx",
                static_cast<unsigned long long>(entry.begin), static_cast<unsigned long long>(entry.end));
  if (::stat(link, out) == 0) return true;
  return entry.path[0] == '/' && ::stat(entry.path, out) == 0 && out->st_ino == entry.inode &&
         out->st_dev == makedev(entry.major, entry.minor);
}

/// Whether the file of the mapping extends to `end`, an address within the mapping: an access behind the
/// file's last page raises SIGBUS.
bool file_reaches(MapEntry const& entry, std::uintptr_t end) noexcept {
  struct stat file {};
  if (!find_file(entry, &file)) return accessible(reinterpret_cast<void const*>(end - 1), 1, false);
  if (!S_ISREG(file.st_mode)) return true;
  auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t const pages = (static_cast<std::uint64_t>(file.st_size) + page - 1) / page;
  return entry.offset + (end - entry.begin) <= pages * page;
}

}  // namespace

MemoryRights rights_of(void const* begin, std::size_t bytes) noexcept {
  auto at = reinterpret_cast<std::uintptr_t>(begin);
  std::uintptr_t const end = at + bytes;
  if (end < at) return {};
  MemoryRights rights{true, true, true};
  MapReader maps;
  if (!maps.is_open()) {
    bool const readable = accessible(begin, bytes, false);
    return {readable, readable, readable && accessible(begin, bytes, true)};
  }
  MapEntry entry;
  while (at < end) {
    if (!maps.next(&entry)) return {};
    if (entry.end <= at) continue;
    if (entry.begin > at) return {};
    at = std::min(entry.end, end);
    rights.readable = rights.readable && entry.readable;
    rights.writable = rights.writable && entry.writable;
    if (entry.inode != 0 && entry.readable && !file_reaches(entry, at)) return {};
  }
  return rights;
}

Status reason_for_fault(void const* begin, std::size_t bytes, bool write) noexcept {
  MemoryRights const rights = rights_of(begin, bytes);
  return write && rights.readable && !rights.writable ? Status::not_writable : Status::bad_address;
}

}  // namespace mpixrma::engine

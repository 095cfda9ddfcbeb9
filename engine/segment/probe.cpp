#include "engine/segment/probe.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "engine/segment/touch.hpp"

namespace mpix::engine {

namespace {

// Values of the kernel's interface; libc headers older than Linux 5.14 do not name them.
constexpr int populate_read = 22;
constexpr int populate_write = 23;

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
  bool of_file = false;
};

/// Calls permits(mapping) for what of each mapping is in the range. False: one is not permitted, or there is
/// a gap.
template <typename Permits>
bool are_mapped(std::uintptr_t begin, std::uintptr_t end, Permits permits) noexcept {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  if (!maps) return false;
  char line[512];
  while (begin < end && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char permissions[5] = {};
    unsigned long file = 0;
    // Offset and device stand before the number of the file.
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &from, &to, permissions, &file) != 4)
      continue;
    if (to <= begin) continue;
    if (from > begin) return false;  // the list is sorted: a gap
    Mapping const mapping{begin, std::min(to, end), permissions[0] == 'r', permissions[1] == 'w', file != 0};
    if (!permits(mapping)) return false;
    begin = to;
  }
  return begin >= end;
}

/// The slow way, for kernels without MADV_POPULATE_* and for special mappings.
bool mapped_with_permission(std::uintptr_t begin, std::uintptr_t end, bool write) noexcept {
  return are_mapped(begin, end, [write](Mapping const& mapping) {
    return mapping.readable && (!write || mapping.writable);
  });
}

}  // namespace

bool accessible(void const* address, std::size_t bytes, bool write) noexcept {
  if (bytes == 0) return true;
  static auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const begin = reinterpret_cast<std::uintptr_t>(address);
  if (begin + bytes < begin) return false;
  std::uintptr_t const first = begin & ~(page - 1);
  std::uintptr_t const last = (begin + bytes + page - 1) & ~(page - 1);
  if (last < first) return false;
  // A system call takes as long as the touch of many pages that are there, and of few that are not.
  constexpr std::size_t few_pages = 8;  // a fragment of mail, wherever it begins
  if (last - first <= few_pages * page) {
    Touched const touched = touch(begin, begin + bytes, page, write);
    if (touched != Touched::unknown) return touched == Touched::all;
  }
  for (;;) {
    // Reading is asked for in both cases by the kernel's definition of a writable mapping.
    if (::madvise(reinterpret_cast<void*>(first), last - first, write ? populate_write : populate_read) ==
        0) {
      return true;
    }
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) return mapped_with_permission(begin, begin + bytes, write);
    return false;
  }
}

bool is_there(void const* address, std::size_t bytes) noexcept {
  // The list of mappings takes as long as the look at so many pages that are there.
  constexpr std::size_t large = std::size_t{16} << 20;
  if (bytes < large) return accessible(address, bytes, false);
  auto const begin = reinterpret_cast<std::uintptr_t>(address);
  if (begin + bytes < begin) return false;
  return are_mapped(begin, begin + bytes, [](Mapping const& mapping) {
    // A file may have ended before its mapping.
    if (!mapping.of_file) return mapping.readable;
    return accessible(reinterpret_cast<void const*>(mapping.begin), mapping.end - mapping.begin, false);
  });
}

}  // namespace mpix::engine

#include "engine/memory/probe.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "engine/memory/memory_map.hpp"
#include "engine/memory/touch.hpp"

namespace mpixrma::engine {

namespace {

// Values of the kernel's interface that libc headers older than Linux 5.14 do not define.
constexpr int populate_read = 22;
constexpr int populate_write = 23;

bool permits(MemoryRights const& rights, Access access) noexcept {
  return rights.readable && (access == Access::read || rights.writable);
}

}  // namespace

bool accessible(void const* address, std::size_t bytes, Access access) noexcept {
  if (bytes == 0) return true;
  static auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const begin = reinterpret_cast<std::uintptr_t>(address);
  if (begin + bytes < begin) return false;
  std::uintptr_t const first = begin & ~(page - 1);
  std::uintptr_t const last = (begin + bytes + page - 1) & ~(page - 1);
  if (last < first) return false;
  // A system call takes as long as touching many resident pages, or few absent ones.
  constexpr std::size_t few_pages = 8;  // enough for a staged fragment at any alignment
  if (last - first <= few_pages * page) {
    Touched const touched = touch(begin, begin + bytes, page, access);
    if (touched != Touched::unknown) return touched == Touched::all;
  }
  for (;;) {
    // populate_write covers reading as well: the kernel lets a process read all memory that it may write.
    int const advice = access == Access::write ? populate_write : populate_read;
    if (::madvise(reinterpret_cast<void*>(first), last - first, advice) == 0) return true;
    if (errno == EINTR || errno == EAGAIN) continue;
    // A kernel without MADV_POPULATE_*, or a special mapping.
    if (errno == EINVAL) return permits(rights_of(address, bytes), access);
    return false;
  }
}

}  // namespace mpixrma::engine

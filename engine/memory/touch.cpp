#include "engine/memory/touch.hpp"

#include <algorithm>

#include "engine/memory/fault_guard.hpp"

namespace mpixrma::engine {

namespace {

/// Reads the byte. In assembler, here and below, so that no compiler or sanitizer adds or omits accesses.
void touch_read(std::uintptr_t address) noexcept {
#if defined(__x86_64__)
  unsigned char byte;
  asm volatile("movb (%1), %0" : "=r"(byte) : "r"(address) : "memory");
#elif defined(__aarch64__)
  unsigned byte;
  asm volatile("ldrb %w0, [%1]" : "=r"(byte) : "r"(address) : "memory");
#else
  (void)*reinterpret_cast<unsigned char const volatile*>(address);
#endif
}

/// Writes the byte's own value, atomically.
void touch_write(std::uintptr_t address) noexcept {
#if defined(__x86_64__)
  asm volatile("lock orb $0, (%0)" : : "r"(address) : "memory", "cc");
#elif defined(__aarch64__)
  unsigned byte;
  unsigned failed;
  do {
    asm volatile("ldxrb %w0, [%2]\n stxrb %w1, %w0, [%2]"
                 : "=&r"(byte), "=&r"(failed)
                 : "r"(address)
                 : "memory");
  } while (failed != 0);
#else
  (void)__atomic_fetch_or(reinterpret_cast<unsigned char*>(address), 0, __ATOMIC_RELAXED);
#endif
}

/// Adjacent pages that this thread has touched while its faults were admitted. One word, because thread-local
/// memory is scarce (tests/c_abi/static_tls.py): the address of the first page and, in its low bits, the
/// number of pages that follow.
class KnownPages {
 public:
  bool include(std::uintptr_t first, std::uintptr_t last, std::size_t page) const noexcept {
    return word_ != 0 && first >= begin() && last <= end(page);
  }
  /// Joins an adjoining or overlapping range with the range that is kept; any other range replaces it.
  void add(std::uintptr_t first, std::uintptr_t last, std::size_t page) noexcept {
    bool const adjoins = word_ != 0 && first <= end(page) + page && last + page >= begin();
    std::uintptr_t const low = adjoins ? std::min(first, begin()) : first;
    std::uintptr_t const high = adjoins ? std::max(last, end(page)) : last;
    bool const fits = (high - low) / page <= max_following;
    word_ = fits ? low | (high - low) / page : first | std::min((last - first) / page, max_following);
  }
  void forget() noexcept { word_ = 0; }

 private:
  static constexpr std::uintptr_t max_following = 4095;  ///< no page is smaller than 4 KiB

  std::uintptr_t begin() const noexcept { return word_ & ~max_following; }
  std::uintptr_t end(std::size_t page) const noexcept { return begin() + (word_ & max_following) * page; }

  std::uintptr_t word_ = 0;  ///< 0: none
};

struct ThreadPages {
  KnownPages read;
  KnownPages written;
};
constinit thread_local ThreadPages known_pages __attribute__((tls_model("initial-exec"))) = {};

}  // namespace

Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, Access access) noexcept {
  bool const write = access == Access::write;
  std::uintptr_t const first = begin & ~(page - 1);
  std::uintptr_t const last = (end - 1) & ~(page - 1);
  ThreadPages& known = known_pages;
  // The system call costs as much as the rest of a small operation, and is not needed for memory that the
  // thread has touched before.
  bool const is_known =
      known.written.include(first, last, page) || (!write && known.read.include(first, last, page));
  if (!is_known && !are_faults_admitted()) return Touched::unknown;
  auto const fault = run_guarded({begin, end}, [=] {
    for (std::uintptr_t at = begin; at < end; at = (at & ~(page - 1)) + page)
      write ? touch_write(at) : touch_read(at);
  });
  if (fault) {
    known.read.forget();
    known.written.forget();
    return Touched::not_all;
  }
  if (!is_known) (write ? known.written : known.read).add(first, last, page);
  return Touched::all;
}

}  // namespace mpixrma::engine

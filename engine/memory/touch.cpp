#include "engine/memory/touch.hpp"

#include "engine/memory/fault_guard.hpp"

namespace mpixrma::engine {

namespace {

/// Reads the byte. In assembler, here and below: no compiler or sanitizer is to add or leave out anything.
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

/// Writes the byte that is there, in one step.
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

/// The page that this thread touched last, and how: 0, or its address with the lowest bits set.
constinit thread_local std::uintptr_t known_page __attribute__((tls_model("initial-exec"))) = 0;

constexpr std::uintptr_t page_was_read = 1;
constexpr std::uintptr_t page_was_written = 3;

}  // namespace

Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, bool write) noexcept {
  std::uintptr_t const last = (end - 1) & ~(page - 1);
  std::uintptr_t const mark = last | (write ? page_was_written : page_was_read);
  // The question to the system costs as much as the rest of a small operation, and who uses the same memory
  // again does not need the answer.
  bool const known = known_page == mark && (begin & ~(page - 1)) == last;
  if (!known && !are_faults_admitted()) return Touched::unknown;
  auto const fault = run_guarded({begin, end}, [=] {
    for (std::uintptr_t at = begin; at < end; at = (at & ~(page - 1)) + page)
      write ? touch_write(at) : touch_read(at);
  });
  known_page = fault ? 0 : mark;
  return fault ? Touched::not_all : Touched::all;
}

}  // namespace mpixrma::engine

#include "hosts/common/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace mpixrma {

namespace {

constexpr std::size_t max_handlers = 8;
std::array<void (*)() noexcept, max_handlers> handlers{};
std::atomic<std::size_t> count{0};

void run_handlers() noexcept {
  for (std::size_t i = 0; i < count.load(std::memory_order_acquire); ++i) handlers[i]();
}

}  // namespace

void call_in_children(void (*handler)() noexcept) {
  static bool const registered = ::pthread_atfork(nullptr, nullptr, &run_handlers) == 0;
  std::size_t const place = count.load(std::memory_order_relaxed);
  if (!registered || place == max_handlers) return;
  handlers[place] = handler;
  count.store(place + 1, std::memory_order_release);
}

}  // namespace mpixrma

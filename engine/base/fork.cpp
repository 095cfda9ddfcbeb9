#include "engine/base/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace mpixrma::engine {

namespace {

constexpr std::size_t max_child_handlers = 8;
std::array<void (*)() noexcept, max_child_handlers> child_handlers{};
std::atomic<std::size_t> child_handler_count{0};

void run_child_handlers() noexcept {
  for (std::size_t i = 0; i < child_handler_count.load(std::memory_order_acquire); ++i) child_handlers[i]();
}

}  // namespace

void call_in_children(void (*handler)() noexcept) {
  static bool const registered = ::pthread_atfork(nullptr, nullptr, &run_child_handlers) == 0;
  std::size_t const place = child_handler_count.load(std::memory_order_relaxed);
  if (!registered || place == max_child_handlers) return;
  child_handlers[place] = handler;
  child_handler_count.store(place + 1, std::memory_order_release);
}

}  // namespace mpixrma::engine

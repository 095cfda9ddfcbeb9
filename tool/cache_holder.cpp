#include "tool/cache_holder.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "tool/error.hpp"

namespace mpixrma::tool {

namespace {

/// Runs the calling process on the n-th of the cores that it may use, if there are as many.
void run_on(int number) noexcept {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) <= number) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || number-- != 0) continue;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(core, &chosen);
    (void)::sched_setaffinity(0, sizeof chosen, &chosen);
    return;
  }
}

}  // namespace

CacheHolder::CacheHolder(std::byte* memory) : memory_(memory) {
  void* const page =
      ::mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error("no memory for the measurement");
  orders_ = new (page) Orders;
  process_ = ::fork();
  if (process_ == 0) serve();
  if (process_ < 0) throw Error("no second process for the measurement");
  run_on(0);
}

CacheHolder::~CacheHolder() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::munmap(orders_, sizeof(Orders));
}

void CacheHolder::take(std::size_t bytes) {
  orders_->bytes.store(bytes, std::memory_order_relaxed);
  std::size_t const order = orders_->given.fetch_add(1, std::memory_order_release) + 1;
  while (orders_->done.load(std::memory_order_acquire) != order) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0) {
      process_ = -1;
      throw Error("the second process of the measurement has ended");
    }
    ::sched_yield();
  }
}

void CacheHolder::serve() {
  constexpr std::size_t line = 64;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  run_on(1);
  for (std::size_t done = 0;;) {
    if (orders_->given.load(std::memory_order_acquire) == done) {
      ::sched_yield();
      continue;
    }
    std::size_t const bytes = orders_->bytes.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < bytes; at += line) memory_[at] = std::byte{1};
    orders_->done.store(++done, std::memory_order_release);
  }
}

}  // namespace mpixrma::tool

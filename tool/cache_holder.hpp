/// A process that holds shared memory in its processor's cache, as the target of an operation often does.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>

namespace mpixrma::tool {

class CacheHolder {
 public:
  /// `memory` is shared between processes.
  explicit CacheHolder(std::byte* memory);
  ~CacheHolder();
  CacheHolder(CacheHolder const&) = delete;
  CacheHolder& operator=(CacheHolder const&) = delete;

  /// Makes the other process write to each cache line of the first `bytes` bytes, and waits until this is
  /// done. Throws Error if the other process has ended.
  void take(std::size_t bytes);

 private:
  struct Orders {
    std::atomic<std::size_t> given{0};
    std::atomic<std::size_t> done{0};
    std::atomic<std::size_t> bytes{0};
  };

  [[noreturn]] void serve();

  std::byte* memory_;
  Orders* orders_;
  pid_t process_ = -1;
};

}  // namespace mpixrma::tool

/// Sets the umask of the process for a scope. All threads share it: not for use while others create files.
#pragma once

#include <sys/stat.h>

namespace mpixrma::nam {

class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) noexcept : before_(::umask(mask)) {}
  ~ScopedUmask() { (void)::umask(before_); }
  ScopedUmask(ScopedUmask const&) = delete;
  ScopedUmask& operator=(ScopedUmask const&) = delete;

 private:
  mode_t before_;
};

}  // namespace mpixrma::nam

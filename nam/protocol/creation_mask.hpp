/// The mask of modes of files, directories and sockets that this process makes. Not for several threads.
#pragma once

#include <sys/stat.h>

namespace mpixrma::nam {

class CreationMask {
 public:
  explicit CreationMask(mode_t mask) noexcept : before_(::umask(mask)) {}
  ~CreationMask() { (void)::umask(before_); }
  CreationMask(CreationMask const&) = delete;
  CreationMask& operator=(CreationMask const&) = delete;

 private:
  mode_t before_;
};

}  // namespace mpixrma::nam

/// Two hosts for the soak test: this process's network namespace and another one, with a link between them.
#pragma once

#include <sys/types.h>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam::soak {

inline constexpr char const* server_host = "10.99.0.1";

class TwoHosts {
 public:
  /// Moves the calling process into a network namespace and a mount namespace of its own, and makes the other host. False
  /// where the system does not permit it.
  bool make();
  ~TwoHosts();

  /// Moves the calling process to the other host.
  bool enter_other() const;

 private:
  pid_t keeper_ = -1;  ///< keeps the other namespace
  engine::FileDescriptor other_;
};

}  // namespace mpixrma::nam::soak

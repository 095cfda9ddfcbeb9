/// Two hosts for the soak test: this process's network namespace and another one, with a link between them.
#pragma once

#include <memory>

#include "tests/nam/network_host.hpp"

namespace mpixrma::nam::soak {

inline constexpr char const* server_address = "10.99.0.1";

class TwoHosts {
 public:
  /// Moves the calling process to a host of its own, and makes the other host. False where the system does
  /// not permit it.
  bool make();

  /// Moves the calling process to the other host.
  bool enter_other() const { return other_->enter(); }

 private:
  std::unique_ptr<NetworkHost> other_;
};

}  // namespace mpixrma::nam::soak

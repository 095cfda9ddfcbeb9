#include "tests/nam/soak/hosts.hpp"

#include <string>

namespace mpixrma::nam::soak {

bool TwoHosts::make() {
  if (!become_host()) return false;
  other_ = NetworkHost::make();
  return other_ &&
         run_command("ip link add soak0 type veth peer name soak1 netns " +
                     std::to_string(other_->keeper())) &&
         run_command("ip addr add " + std::string(server_address) + "/24 dev soak0") &&
         run_command("ip link set soak0 up") && other_->run("ip addr add 10.99.0.2/24 dev soak1") &&
         other_->run("ip link set soak1 up");
}

}  // namespace mpixrma::nam::soak

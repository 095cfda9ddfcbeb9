#include "tests/nam/soak/hosts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mpixrma::nam::soak {

namespace {

bool run(std::string const& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

}  // namespace

bool TwoHosts::make() {
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return false;
  int made[2];
  if (::pipe2(made, O_CLOEXEC) != 0) return false;
  keeper_ = ::fork();
  if (keeper_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char const done = ::unshare(CLONE_NEWNET) == 0 ? 1 : 0;
    (void)!::write(made[1], &done, 1);
    for (;;) ::pause();
  }
  char done = 0;
  bool const separate = keeper_ > 0 && ::read(made[0], &done, 1) == 1 && done == 1;
  ::close(made[0]);
  ::close(made[1]);
  if (!separate) return false;
  std::string const pid = std::to_string(keeper_);
  std::string const inside = "nsenter --net=/proc/" + pid + "/ns/net ";
  other_ = engine::FileDescriptor(::open(("/proc/" + pid + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  return other_ && run("ip link set lo up") && run("ip link add soak0 type veth peer name soak1 netns " + pid) &&
         run("ip addr add " + std::string(server_host) + "/24 dev soak0") && run("ip link set soak0 up") &&
         run(inside + "ip addr add 10.99.0.2/24 dev soak1") && run(inside + "ip link set soak1 up") &&
         run(inside + "ip link set lo up");
}

TwoHosts::~TwoHosts() {
  if (keeper_ <= 0) return;
  ::kill(keeper_, SIGKILL);
  ::waitpid(keeper_, nullptr, 0);
}

bool TwoHosts::enter_other() const { return ::setns(other_.get(), CLONE_NEWNET) == 0; }

}  // namespace mpixrma::nam::soak

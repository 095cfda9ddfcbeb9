#include "tests/nam/network_host.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace mpixrma::nam {

namespace {

/// UCX finds network devices in /sys. A mount of sysfs shows those of the network namespace in which it was
/// made.
bool mount_devices() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
}

}  // namespace

bool become_host() {
  return ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 && mount_devices() && run_command("ip link set lo up");
}

bool run_command(std::string const& command) {
  return std::system((command + " > /dev/null 2>&1").c_str()) == 0;
}

std::unique_ptr<NetworkHost> NetworkHost::make() {
  int made[2];
  if (::pipe2(made, O_CLOEXEC) != 0) return nullptr;
  pid_t const keeper = ::fork();
  if (keeper == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char const done = ::unshare(CLONE_NEWNET) == 0 ? 1 : 0;
    (void)!::write(made[1], &done, 1);
    for (;;) ::pause();
  }
  char done = 0;
  bool const is_separate = keeper > 0 && ::read(made[0], &done, 1) == 1 && done == 1;
  ::close(made[0]);
  ::close(made[1]);
  if (keeper <= 0) return nullptr;
  std::unique_ptr<NetworkHost> host(new NetworkHost(keeper));
  std::string const path = "/proc/" + std::to_string(keeper) + "/ns/net";
  host->namespace_ = engine::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return is_separate && host->namespace_ && host->run("ip link set lo up") ? std::move(host) : nullptr;
}

NetworkHost::~NetworkHost() {
  ::kill(keeper_, SIGKILL);
  ::waitpid(keeper_, nullptr, 0);
}

bool NetworkHost::enter() const { return ::setns(namespace_.get(), CLONE_NEWNET) == 0; }

bool NetworkHost::enter_as_process() const {
  return enter() && ::unshare(CLONE_NEWNS) == 0 && mount_devices();
}

bool NetworkHost::run(std::string const& command) const {
  return run_command("nsenter --net=/proc/" + std::to_string(keeper_) + "/ns/net " + command);
}

}  // namespace mpixrma::nam

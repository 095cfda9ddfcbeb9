#include "nam/process/sandbox.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "nam/process/call_filter.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

using CapabilitySet = std::uint64_t;

struct CapabilitySets {
  CapabilitySet effective = 0;
  CapabilitySet permitted = 0;
  CapabilitySet inheritable = 0;
};

__user_cap_header_struct capability_header() noexcept { return {_LINUX_CAPABILITY_VERSION_3, 0}; }

CapabilitySets own_capabilities() noexcept {
  auto of = capability_header();
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &of, data.data()) != 0) return {};
  auto const whole = [](std::uint32_t low, std::uint32_t high) {
    return low | static_cast<CapabilitySet>(high) << 32;
  };
  return {whole(data[0].effective, data[1].effective), whole(data[0].permitted, data[1].permitted),
          whole(data[0].inheritable, data[1].inheritable)};
}

void set_capabilities(CapabilitySets const& sets) noexcept {
  auto of = capability_header();
  std::array<__user_cap_data_struct, 2> data{};
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i].effective = static_cast<std::uint32_t>(sets.effective >> (32 * i));
    data[i].permitted = static_cast<std::uint32_t>(sets.permitted >> (32 * i));
    data[i].inheritable = static_cast<std::uint32_t>(sets.inheritable >> (32 * i));
  }
  (void)::syscall(SYS_capset, &of, data.data());
}

CapabilitySet set_of(std::vector<int> const& capabilities) noexcept {
  CapabilitySet set = 0;
  for (int const each : capabilities) set |= CapabilitySet{1} << each;
  return set;
}

void lower_limit(__rlimit_resource resource, rlim_t value) noexcept {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_max = std::min(limits.rlim_max, value);
  limits.rlim_cur = std::min(limits.rlim_cur, value);
  (void)::setrlimit(resource, &limits);
}

}  // namespace

bool can_change_user() noexcept {
  CapabilitySet const needed = set_of({CAP_SETUID, CAP_SETGID});
  return (own_capabilities().effective & needed) == needed;
}

bool has_users(uid_t first, std::uint32_t count) {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t length = 0;
  while (map >> inside >> outside >> length) {
    if (first >= inside && std::uint64_t{first} + count <= inside + length) return true;
  }
  return false;
}

void become(ProcessUser const& user) {
  bool const grouped =
      user.name.empty() ? ::setgroups(0, nullptr) == 0 : ::initgroups(user.name.c_str(), user.gid) == 0;
  if (grouped && ::setresgid(user.gid, user.gid, user.gid) == 0 &&
      ::setresuid(user.uid, user.uid, user.uid) == 0)
    return;
  throw Error(ErrorCode::denied,
              "cannot run as user " + std::to_string(user.uid) + ": " + std::strerror(errno));
}

void keep_capabilities(std::vector<int> const& capabilities, std::vector<int> const& bounding) noexcept {
  // Memory that a network device reads and writes by itself is locked.
  rlimit const unlimited{RLIM_INFINITY, RLIM_INFINITY};
  (void)::setrlimit(RLIMIT_MEMLOCK, &unlimited);
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each) >= 0; ++each) {
    if (std::find(bounding.begin(), bounding.end(), each) == bounding.end())
      (void)::prctl(PR_CAPBSET_DROP, each);
  }
  CapabilitySets sets = own_capabilities();
  CapabilitySet const kept = set_of(capabilities);
  set_capabilities({sets.permitted & kept, sets.permitted & kept, sets.inheritable & kept});
}

void drop_privileges() noexcept {
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  set_capabilities({});
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  lower_limit(RLIMIT_CORE, 0);
}

void confine_data_process(DataProcessUser user) {
  // The limit includes threads of the engine and of UCX.
  if (user == DataProcessUser::own) lower_limit(RLIMIT_NPROC, 64);
  filter_calls();
}

void limit_file_size(std::uint64_t bytes) noexcept {
  // The signal would end the process; the error is enough.
  (void)::signal(SIGXFSZ, SIG_IGN);
  lower_limit(RLIMIT_FSIZE, bytes);
}

}  // namespace mpixrma::nam

#include "nam/process/sandbox.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

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

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW)) {
    if (!context_) fail(ENOMEM);
  }

  template <typename... Conditions>
  void refuse(int error, int call, Conditions... conditions) {
    // A call that the architecture does not have is no failure.
    if (call == __NR_SCMP_ERROR) return;
    int const status = ::seccomp_rule_add(context_.get(), SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)),
                                          call, static_cast<unsigned>(sizeof...(conditions)), conditions...);
    if (status != 0 && status != -EDOM) fail(-status);
  }
  void refuse_named(char const* name) { refuse(EPERM, ::seccomp_syscall_resolve_name(name)); }

  void load() {
    if (int const status = ::seccomp_load(context_.get()); status != 0) fail(-status);
  }

 private:
  [[noreturn]] static void fail(int error) {
    throw Error(ErrorCode::unsupported,
                std::string("cannot filter the system calls of a data process: ") + std::strerror(error));
  }
  struct Release {
    void operator()(void* context) const noexcept { ::seccomp_release(context); }
  };
  std::unique_ptr<void, Release> context_;
};

/// Other programs and processes, other processes' memory, the system as a whole, and interfaces of the kernel
/// that neither the server nor UCX uses.
constexpr std::array refused_calls{
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp",
    "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "process_madvise",
    "process_mrelease", "migrate_pages", "move_pages",
    // File systems and namespaces.
    "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "unshare", "setns", "open_by_handle_at", "name_to_handle_at",
    "quotactl", "quotactl_fd", "swapon", "swapoff", "acct", "fanotify_init", "chown", "fchown", "lchown",
    "fchownat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat", "setxattr", "lsetxattr",
    "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
    // The kernel and the machine.
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog",
    "iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "lookup_dcookie", "nfsservctl", "uselib", "ustat",
    "sysfs", "_sysctl", "vhangup", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime",
    "sethostname", "setdomainname",
    // Keys and identities.
    "add_key", "request_key", "keyctl", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
    "setfsuid", "setfsgid", "setgroups", "capset", "personality", "setsid", "setpgid"};

constexpr std::array refused_families{AF_PACKET, AF_KEY,  AF_ALG,      AF_VSOCK, AF_BLUETOOTH,
                                      AF_CAN,    AF_TIPC, AF_PPPOX,    AF_RDS,   AF_AX25,
                                      AF_X25,    AF_IPX,  AF_APPLETALK};

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
  // Memory that a network reads and writes by itself is locked.
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

void confine_data_process(bool has_own_user) {
  // Threads of the engine and of UCX count.
  if (has_own_user) lower_limit(RLIMIT_NPROC, 64);
  Filter filter;
  for (char const* const call : refused_calls) filter.refuse_named(call);
  // A new thread, but no new process. The flags of clone3 are in memory: glibc goes back to clone.
  filter.refuse(ENOSYS, SCMP_SYS(clone3));
  filter.refuse(EPERM, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  // Signal 0 looks whether a process is there.
  filter.refuse(EPERM, SCMP_SYS(kill), SCMP_A1(SCMP_CMP_NE, 0));
  for (int const family : refused_families)
    filter.refuse(EAFNOSUPPORT, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
  filter.load();
}

void limit_file_size(std::uint64_t bytes) noexcept {
  // The signal would end the process; the error is enough.
  (void)::signal(SIGXFSZ, SIG_IGN);
  lower_limit(RLIMIT_FSIZE, bytes);
}

}  // namespace mpixrma::nam

#include "nam/process/call_filter.hpp"

#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

class Filter {
 public:
  explicit Filter(std::uint32_t action_of_others) : context_(::seccomp_init(action_of_others)) {
    if (!context_) fail(ENOMEM);
  }

  template <typename... Conditions>
  void allow(int call, Conditions... conditions) {
    add(SCMP_ACT_ALLOW, call, conditions...);
  }
  template <typename... Conditions>
  void refuse(int error, int call, Conditions... conditions) {
    add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, conditions...);
  }

  void load() {
    if (int const status = ::seccomp_load(context_.get()); status != 0) fail(-status);
  }

 private:
  template <typename... Conditions>
  void add(std::uint32_t action, int call, Conditions... conditions) {
    // A call that this architecture, or libseccomp, does not know is ignored.
    if (call == __NR_SCMP_ERROR) return;
    int const status = ::seccomp_rule_add(context_.get(), action, call,
                                          static_cast<unsigned>(sizeof...(conditions)), conditions...);
    // EACCES: the action equals the default action.
    if (status != 0 && status != -EDOM && status != -EACCES) fail(-status);
  }
  [[noreturn]] static void fail(int error) {
    throw Error(ErrorCode::unsupported,
                std::string("cannot filter the system calls of a data process: ") + std::strerror(error));
  }
  struct Release {
    void operator()(void* context) const noexcept { ::seccomp_release(context); }
  };
  std::unique_ptr<void, Release> context_;
};

/// System calls that a data process needs: those of mpix-namd, glibc (tested with 2.36), libstdc++, and UCX
/// with its transports TCP, shared memory and verbs.
constexpr std::array allowed_calls{
    // Memory.
    "brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2",
    "munlock", "mlockall", "munlockall", "memfd_create", "pkey_alloc", "pkey_free", "pkey_mprotect", "mbind",
    "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node", "map_shadow_stack", "shmget", "shmat",
    "shmdt", "shmctl", "membarrier", "mseal", "cachestat",
    // Threads and time.
    "exit", "exit_group", "futex", "futex_time64", "futex_waitv", "futex_wake", "futex_wait", "futex_requeue",
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "set_thread_area",
    "set_tls", "gettid", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam",
    "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_getattr", "sched_setattr",
    "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "getcpu", "getpriority",
    "setpriority", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "clock_gettime",
    "clock_gettime64", "clock_getres", "clock_getres_time64", "gettimeofday", "time", "times", "alarm",
    "getitimer", "setitimer", "timer_create", "timer_settime", "timer_settime64", "timer_gettime",
    "timer_gettime64", "timer_getoverrun", "timer_delete",
    // Signals, only to this process (see below).
    "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_sigtimedwait_time64", "rt_sigreturn", "sigreturn", "sigaction", "sigprocmask", "sigaltstack",
    "signal", "signalfd", "signalfd4", "tgkill", "pause", "restart_syscall",
    // Files.
    "open", "openat", "openat2", "close", "close_range", "read", "readv", "pread64", "preadv", "preadv2",
    "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "_llseek", "fstat", "fstat64", "stat",
    "stat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx", "statfs", "statfs64", "fstatfs",
    "fstatfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents", "getdents64",
    "getcwd", "fallocate", "ftruncate", "ftruncate64", "fsync", "fdatasync", "sync_file_range", "fadvise64",
    "fadvise64_64", "readahead", "flock", "fcntl", "fcntl64", "dup", "dup2", "dup3", "pipe", "pipe2", "ioctl",
    "unlink", "unlinkat", "umask", "fgetxattr", "getxattr", "inotify_init1", "inotify_add_watch",
    "inotify_rm_watch",
    // Waiting.
    "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2",
    "timerfd_create", "timerfd_settime", "timerfd_settime64", "timerfd_gettime", "timerfd_gettime64",
    "pidfd_open",
    // Sockets, of the families below.
    "socketcall", "socketpair", "bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname",
    "getpeername", "getsockopt", "setsockopt", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom",
    "recvmsg", "recvmmsg", "recvmmsg_time64",
    // The current process, and its identity.
    "getpid", "getppid", "getpgrp", "getpgid", "getsid", "getuid", "getuid32", "geteuid", "geteuid32",
    "getgid", "getgid32", "getegid", "getegid32", "getresuid", "getresuid32", "getresgid", "getresgid32",
    "getgroups", "getgroups32", "capget", "prctl", "getrlimit", "ugetrlimit", "setrlimit", "prlimit64",
    "getrusage", "uname", "sysinfo", "getrandom", "riscv_hwprobe", "riscv_flush_icache", "cacheflush"};

/// Calls used by attacks or by mistake: other programs and processes, other processes' memory, the system as
/// a whole, and interfaces of the kernel that neither the server nor UCX needs.
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

constexpr std::array allowed_families{AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

std::uint32_t action_of_unknown_calls() {
  char const* const given = std::getenv("MPIX_NAMD_UNKNOWN_CALLS");
  std::string_view const action = given == nullptr ? "refuse" : given;
  if (action == "refuse") return SCMP_ACT_ERRNO(ENOSYS);
  if (action == "log") return SCMP_ACT_LOG;
  if (action == "kill") return SCMP_ACT_KILL_PROCESS;
  throw Error(ErrorCode::bad_request, "MPIX_NAMD_UNKNOWN_CALLS must be refuse, log or kill");
}

void filter_families(Filter& filter) {
  for (int family = 0; family < AF_MAX; ++family) {
    auto const is_family = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family));
    bool const is_allowed =
        std::find(allowed_families.begin(), allowed_families.end(), family) != allowed_families.end();
    if (is_allowed) {
      filter.allow(SCMP_SYS(socket), is_family);
    } else {
      filter.refuse(EAFNOSUPPORT, SCMP_SYS(socket), is_family);
    }
  }
  filter.refuse(EAFNOSUPPORT, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_GE, static_cast<scmp_datum_t>(AF_MAX)));
}

}  // namespace

void filter_calls() {
  Filter filter(action_of_unknown_calls());
  for (char const* const call : allowed_calls) filter.allow(::seccomp_syscall_resolve_name(call));
  for (char const* const call : refused_calls) filter.refuse(EPERM, ::seccomp_syscall_resolve_name(call));
  // A new thread, but no new process. The flags of clone3 are in memory: glibc goes back to clone.
  filter.refuse(ENOSYS, SCMP_SYS(clone3));
  filter.allow(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  filter.refuse(EPERM, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  // Signal 0 checks whether a process exists.
  filter.allow(SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, 0));
  filter.refuse(EPERM, SCMP_SYS(kill), SCMP_A1(SCMP_CMP_NE, 0));
  // fchmod may set mode 0600 only, so that other users cannot open the memory of clients.
  filter.allow(SCMP_SYS(fchmod), SCMP_A1(SCMP_CMP_EQ, S_IRUSR | S_IWUSR));
  filter.refuse(EPERM, SCMP_SYS(fchmod), SCMP_A1(SCMP_CMP_NE, S_IRUSR | S_IWUSR));
  filter_families(filter);
  filter.load();
}

}  // namespace mpixrma::nam

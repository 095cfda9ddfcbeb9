#include "tool/machine.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mpixrma::tool {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t mebibyte = std::uintmax_t{1} << 20;

long number_in(fs::path const& file, long otherwise) {
  std::ifstream stream(file);
  long number = otherwise;
  return stream >> number ? number : otherwise;
}

/// Runs `action(pid)` in a process that has a sibling process `pid`: of the same user, and neither an
/// ancestor of the other, as between two ranks. Returns its result: 0 or an error number.
template <typename Action>
int run_beside_sibling(Action action) {
  pid_t const sibling = ::fork();
  if (sibling == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::pause();
    ::_exit(0);
  }
  pid_t const other = sibling > 0 ? ::fork() : -1;
  if (other == 0) ::_exit(action(sibling) & 0x7f);
  int status = EAGAIN << 8;
  if (other > 0) ::waitpid(other, &status, 0);
  if (sibling > 0) {
    ::kill(sibling, SIGKILL);
    ::waitpid(sibling, nullptr, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

std::string error_text(int error) { return std::strerror(error); }

}  // namespace

Finding shared_files() {
  Finding finding{"shared memory of processes (memfd and /proc/PID/fd)", Verdict::yes, "", ""};
  static int file = -1;
  file = ::memfd_create("mpix-rma-info", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, 4096) != 0) {
    finding.verdict = Verdict::no;
    finding.reason = "memfd_create: " + error_text(errno);
    finding.remedy = "permit memfd_create in the seccomp profile";
    return finding;
  }
  int const error = run_beside_sibling([](pid_t target) {
    std::string path = "/proc/";
    path.append(std::to_string(target)).append("/fd/").append(std::to_string(file));
    int const opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0) return errno;
    void* const base = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    return base == MAP_FAILED ? errno : 0;
  });
  ::close(file);
  if (error == 0) return finding;
  finding.verdict = Verdict::no;
  finding.reason = "a process of the same user cannot be opened through /proc: " + error_text(error);
  finding.remedy =
      "mount /proc without hidepid, and start all ranks of a host in one container and as one user";
  return finding;
}

Finding cross_memory() {
  Finding finding{"cross-memory copies (process_vm_readv)", Verdict::yes, "", ""};
  static long word = 42;
  int const error = run_beside_sibling([](pid_t target) {
    long copied = 0;
    iovec const local{&copied, sizeof copied};
    iovec const remote{&word, sizeof word};
    return ::process_vm_readv(target, &local, 1, &remote, 1, 0) == sizeof copied ? 0 : errno;
  });
  if (error == 0) return finding;
  finding.verdict = Verdict::no;
  finding.reason = "process_vm_readv: " + error_text(error);
  long const scope = number_in("/proc/sys/kernel/yama/ptrace_scope", 0);
  if (error == ENOSYS || scope == 0) {
    finding.remedy = "permit process_vm_readv and process_vm_writev in the container's seccomp profile";
    finding.remedy += " (docker run --cap-add SYS_PTRACE)";
  } else {
    finding.reason += "; kernel.yama.ptrace_scope is " + std::to_string(scope);
    finding.remedy = "sysctl kernel.yama.ptrace_scope=0, or allocate what others reach with the library";
  }
  return finding;
}

Finding network_devices() {
  Finding finding{"network with put and get in hardware", Verdict::no, "no device in /sys/class/infiniband",
                  "none is needed on one host; between hosts messages take TCP"};
  std::error_code error;
  std::string devices;
  for (auto const& device : fs::directory_iterator("/sys/class/infiniband", error))
    devices += (devices.empty() ? "" : ", ") + device.path().filename().string();
  if (devices.empty()) return finding;
  bool const usable = fs::exists("/dev/infiniband", error);
  finding.reason = devices;
  finding.verdict = usable ? Verdict::yes : Verdict::no;
  finding.remedy = usable ? "" : "/dev/infiniband is missing: give the devices to the container";
  return finding;
}

Finding shared_memory_size() {
  Finding finding{
      "/dev/shm", Verdict::no, "",
      "mount a tmpfs on /dev/shm; without it UCX uses the network between processes of one host, too"};
  struct statvfs file_system {};
  if (::statvfs("/dev/shm", &file_system) != 0) {
    finding.reason = error_text(errno);
    return finding;
  }
  std::uintmax_t const free = std::uintmax_t{file_system.f_bavail} * file_system.f_frsize / mebibyte;
  std::uintmax_t const size = std::uintmax_t{file_system.f_blocks} * file_system.f_frsize / mebibyte;
  finding.reason = std::to_string(free) + " MiB free of " + std::to_string(size) + " MiB";
  // A UCX worker takes about 4 MiB; programs with MPI_THREAD_MULTIPLE have several channels if 1 GiB is free.
  finding.verdict = free < 1024 ? Verdict::limited : Verdict::yes;
  if (free >= 1024)
    finding.remedy = "";
  else
    finding.remedy =
        "about 4 MiB for each rank, and threads share one channel below 1024 MiB: docker run --shm-size=2g";
  return finding;
}

Finding locked_memory() {
  Finding finding{"locked memory (ulimit -l)", Verdict::yes, "unlimited", ""};
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return finding;
  finding.verdict = Verdict::limited;
  finding.reason = std::to_string(limit.rlim_cur / 1024) + " KiB";
  finding.remedy = "ulimit -l unlimited, for InfiniBand and RoCE only";
  return finding;
}

Finding open_files() {
  Finding finding{"open files (ulimit -n)", Verdict::yes, "", ""};
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  finding.reason = std::to_string(limit.rlim_cur);
  constexpr rlim_t usual = 1024;
  if (limit.rlim_cur >= usual) return finding;
  finding.verdict = Verdict::limited;
  finding.remedy = "ulimit -n 65536: one for each region of memory and each connection (docs/scale.md)";
  return finding;
}

Finding huge_pages() {
  Finding finding{"huge pages", Verdict::no, "", "sysctl vm.nr_hugepages, for allocations that ask for them"};
  long const reserved = number_in("/proc/sys/vm/nr_hugepages", 0);
  std::ifstream stream("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string transparent;
  std::getline(stream, transparent);
  std::size_t const begin = transparent.find('[');
  std::string const chosen = begin == transparent.npos
                                 ? "unknown"
                                 : transparent.substr(begin + 1, transparent.find(']') - begin - 1);
  finding.reason = std::to_string(reserved) + " reserved; transparent ones for shared memory: " + chosen;
  if (reserved == 0 && (chosen == "never" || chosen == "unknown" || chosen == "deny")) return finding;
  finding.verdict = Verdict::yes;
  finding.remedy = "";
  return finding;
}

Finding memory_nodes() {
  Finding finding{"memory on the rank's NUMA node", Verdict::yes, "", ""};
  std::error_code unreadable;
  auto const entries = fs::directory_iterator("/sys/devices/system/node", unreadable);
  auto const nodes = std::count_if(
      fs::begin(entries), fs::end(entries),
      [](fs::directory_entry const& entry) { return entry.path().filename().native().starts_with("node"); });
  finding.reason = nodes < 2 ? "one node" : std::to_string(nodes) + " nodes, for ranks that are bound to one";
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr int default_policy = 0;
  if (nodes < 2 || page == MAP_FAILED || ::syscall(SYS_mbind, page, 4096, default_policy, nullptr, 0, 0) == 0)
    return finding;
  finding.verdict = Verdict::no;
  finding.reason = "mbind: " + error_text(errno);
  finding.remedy = "permit mbind in the container's seccomp profile (docker run --cap-add SYS_NICE)";
  return finding;
}

std::vector<Finding> look_at_machine() {
  return {shared_files(),  cross_memory(), network_devices(), shared_memory_size(),
          locked_memory(), open_files(),   huge_pages(),      memory_nodes()};
}

}  // namespace mpixrma::tool

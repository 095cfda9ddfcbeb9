/// Counts the instructions of a call by single-stepping, without hardware counters. x86-64 only.
#pragma once

#include <link.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/support/harness.hpp"

namespace bench {

/// The executable memory whose instructions count. The library's is that of its shared objects and of Open
/// MPI's component.
class Text {
 public:
  static Text of_library() {
    Text found;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          std::string_view const path = info->dlpi_name;
          std::string_view const name = path.substr(path.rfind('/') + 1);
          bool const ours = name.starts_with("libmpix_") || name.starts_with("libarmci") ||
                            name.starts_with("mca_osc_mpix");
          for (int i = 0; ours && i < info->dlpi_phnum; ++i) {
            ElfW(Phdr) const& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
            std::uint64_t const begin = info->dlpi_addr + header.p_vaddr;
            static_cast<Text*>(self)->ranges_.push_back({begin, begin + header.p_memsz});
          }
          return 0;
        },
        &found);
    return found;
  }
  /// Every instruction of the process, in whatever library.
  static Text everything() {
    Text all;
    all.ranges_.push_back({0, UINT64_MAX});
    return all;
  }
  bool contains(std::uint64_t address) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [address](Range const& range) {
      return address >= range.begin && address < range.end;
    });
  }

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::vector<Range> ranges_;
};

/// Single-steps a stopped process to its next SIGUSR1; returns the number of instructions in `text`, or -1.
inline long step_to_signal(pid_t process, Text const& text) {
  for (long count = 0;;) {
    if (::ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr) != 0) return -1;
    int status = 0;
    if (::waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) return -1;
    if (WSTOPSIG(status) == SIGUSR1) return count;
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, process, nullptr, &registers);
    if (text.contains(registers.rip)) ++count;
  }
}

/// Runs in a child that traces its parent between two SIGUSR1, because the library does not work in children.
inline long watch(pid_t parent, Text const& text, int ready) {
  int status = 0;
  if (::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) != 0) return -1;
  if (::waitpid(parent, &status, 0) != parent) return -1;
  ::ptrace(PTRACE_CONT, parent, nullptr, nullptr);
  char const go = 1;
  (void)!::write(ready, &go, sizeof go);
  if (::waitpid(parent, &status, 0) != parent) return -1;  // stopped by the first signal
  long const count = step_to_signal(parent, text);
  ::ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
  return count;
}

/// Returns the instructions in `text` of one call of `operation`, or -1 if the system does not permit ptrace.
template <typename Operation>
long count_instructions(Text const& text, Operation operation) {
  for (int i = 0; i < 100; ++i) operation();
  pid_t const parent = ::getpid();
  int ready[2];
  int result[2];
  if (::pipe(ready) != 0 || ::pipe(result) != 0) return -1;
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(ready[0]);
    long const count = watch(parent, text, ready[1]);
    (void)!::write(result[1], &count, sizeof count);
    ::_exit(0);
  }
  ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(child), 0, 0, 0);
  ::close(ready[1]);
  char go = 0;
  // Without a tracer the signals would end the process.
  if (::read(ready[0], &go, sizeof go) == 1) {
    ::raise(SIGUSR1);
    operation();
    ::raise(SIGUSR1);
  }
  long count = -1;
  (void)!::read(result[0], &count, sizeof count);
  ::waitpid(child, nullptr, 0);
  for (int const end : {ready[0], result[0], result[1]}) ::close(end);
  return count;
}

/// Measures at rank 0, while the other ranks wait, and prints the instructions of `call` in user space and in
/// every library, without those of an empty call.
template <typename Operation>
void report_instructions(Case const& what, Operation call) {
  if (!is_wanted(what)) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    Text const everything = Text::everything();
    long const empty = count_instructions(everything, [] {});
    long const instructions = count_instructions(everything, call);
    if (empty < 0 || instructions < 0) {
      std::fprintf(stderr, "the system does not permit ptrace\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    print(what, static_cast<double>(instructions - empty));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace bench

/// Observes a call by single-stepping, without hardware counters; counts its instructions. x86-64 only.
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
#include <type_traits>
#include <vector>

#include "bench/support/harness.hpp"

namespace bench {

/// The executable memory whose instructions count. of_library() covers this library's shared objects and its
/// component of Open MPI.
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

/// Single-steps a stopped process to its next SIGUSR1, and calls step(registers) before each instruction.
/// Returns false if the system does not permit it.
template <typename Step>
bool step_to_signal(pid_t process, Step step) {
  for (;;) {
    if (::ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr) != 0) return false;
    int status = 0;
    if (::waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) return false;
    if (WSTOPSIG(status) == SIGUSR1) return true;
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, process, nullptr, &registers);
    step(registers);
  }
}

/// Traces the parent between two SIGUSR1. Runs in the child, because the library does not work in children.
template <typename Step>
bool watch(pid_t parent, int ready, Step step) {
  int status = 0;
  if (::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) != 0) return false;
  if (::waitpid(parent, &status, 0) != parent) return false;
  ::ptrace(PTRACE_CONT, parent, nullptr, nullptr);
  char const go = 1;
  (void)!::write(ready, &go, sizeof go);
  if (::waitpid(parent, &status, 0) != parent) return false;  // stopped by the first signal
  bool const stepped = step_to_signal(parent, step);
  ::ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
  return stepped;
}

/// Calls `operation` single-stepped. A child, in which the process's memory can be read as it was before the
/// call, calls observer.step(registers) before each instruction. Returns observer.results() afterwards;
/// nothing if the system does not permit ptrace.
template <typename Operation, typename Observer>
auto observe(Operation operation, Observer observer) {
  using Result = typename std::remove_cvref_t<decltype(observer.results())>::value_type;
  std::vector<Result> results;
  pid_t const parent = ::getpid();
  int ready[2];
  int answer[2];
  if (::pipe(ready) != 0 || ::pipe(answer) != 0) return results;
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(ready[0]);
    if (watch(parent, ready[1], [&](user_regs_struct const& registers) { observer.step(registers); })) {
      std::vector<Result> const found = observer.results();
      (void)!::write(answer[1], found.data(), found.size() * sizeof(Result));
    }
    ::_exit(0);
  }
  ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(child), 0, 0, 0);
  ::close(ready[1]);
  ::close(answer[1]);
  char go = 0;
  // Without a tracer the signals would end the process.
  if (::read(ready[0], &go, sizeof go) == 1) {
    ::raise(SIGUSR1);
    operation();
    ::raise(SIGUSR1);
  }
  Result result;
  while (::read(answer[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result))
    results.push_back(result);
  ::waitpid(child, nullptr, 0);
  for (int const end : {ready[0], answer[0]}) ::close(end);
  return results;
}

/// Counts instructions in `text`.
class InstructionCounter {
 public:
  explicit InstructionCounter(Text const& text) : text_(text) {}
  void step(user_regs_struct const& registers) {
    if (text_.contains(registers.rip)) ++count_;
  }
  std::vector<long> results() const { return {count_}; }

 private:
  Text const& text_;
  long count_ = 0;
};

/// Returns the instructions in `text` of one call of `operation`, or -1 if the system does not permit ptrace.
template <typename Operation>
long count_instructions(Text const& text, Operation operation) {
  for (int i = 0; i < 100; ++i) operation();
  std::vector<long> const counted = observe(operation, InstructionCounter(text));
  return counted.empty() ? -1 : counted[0];
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

/// Instructions that one call executes in the library, counted by stepping through it: an 8-byte put to
/// allocated memory, the same bound, and a fetch-and-add. Needs no hardware counters. x86-64 only.
///
/// usage: bench_instructions    (1 rank)
#include <link.h>
#include <mpi.h>
#include <mpix_rma.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>

#include "bench/support/harness.hpp"

namespace {

MPI_Comm self = MPI_COMM_SELF;

/// The executable memory of the library.
struct Text {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Text text_of_library() {
  Text text;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        auto const inside = reinterpret_cast<std::uint64_t>(&MPIX_RMA_Register);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          ElfW(Phdr) const& header = info->dlpi_phdr[i];
          std::uint64_t const begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type != PT_LOAD || inside < begin || inside >= begin + header.p_memsz) continue;
          *static_cast<Text*>(found) = {begin, begin + header.p_memsz};
        }
        return 0;
      },
      &text);
  return text;
}

/// Steps through a stopped process to its next SIGUSR1; returns the number of instructions in `text`, or -1.
long step_to_signal(pid_t process, Text const& text) {
  for (long count = 0;;) {
    if (::ptrace(PTRACE_SINGLESTEP, process, nullptr, nullptr) != 0) return -1;
    int status = 0;
    if (::waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) return -1;
    if (WSTOPSIG(status) == SIGUSR1) return count;
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, process, nullptr, &registers);
    if (registers.rip >= text.begin && registers.rip < text.end) ++count;
  }
}

/// What a child does that watches its parent between two SIGUSR1: the library serves no children.
long watch(pid_t parent, Text const& text, int ready) {
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

template <typename Operation>
long count_instructions(Operation operation) {
  for (int i = 0; i < 100; ++i) operation();
  Text const text = text_of_library();
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

void report(std::string const& operation, long instructions) {
  if (instructions < 0) {
    std::fprintf(stderr, "bench_instructions: the system does not permit ptrace\n");
    return;
  }
  bench::print({"instructions", "mpix", operation, "allocated", 1, 8}, static_cast<double>(instructions));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* base = nullptr;
  MPIX_RMA_Allocate_local(4096, MPI_INFO_NULL, &base);
  static double value = 1;
  static long one = 1;
  static long result = 0;
  static MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
  MPIX_RMA_Bound bound = MPIX_RMA_BOUND_NULL;
  MPIX_RMA_bind(MPIX_RMA_PUT, MPI_DOUBLE, 0, MPI_DOUBLE, &self, nullptr, &bound);
  report("put", count_instructions([&] {
           MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_DOUBLE, 0, base, 1, MPI_DOUBLE, nullptr, &self,
                         nullptr);
         }));
  report("put_bound", count_instructions([&] { MPIX_RMA_xfer_bound(bound, &value, 1, base, 1, nullptr); }));
  report("complete", count_instructions([&] { MPIX_RMA_Complete(&self, 0); }));
  report("fetch_add", count_instructions([&] {
           MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &result, 0, reinterpret_cast<MPI_Aint>(base),
                        nullptr, &self, &blocking);
         }));
  MPIX_RMA_unbind(&bound);
  MPIX_RMA_Free_local(base);
  MPI_Finalize();
  return 0;
}

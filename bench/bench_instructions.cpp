/// Instructions that one small call executes in the library, counted by single-stepping: operations on 8
/// bytes of allocated memory of the last rank, by MPIX_RMA, MPI windows and ARMCI. Needs no hardware
/// counters. x86-64 only.
///
/// usage: bench_instructions    (1 or 2 ranks)
#include <armci.h>
#include <link.h>
#include <mpi.h>
#include <mpix_rma.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

/// The executable memory of the library: of its shared objects and of Open MPI's component.
class Text {
 public:
  Text() {
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
        this);
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
long step_to_signal(pid_t process, Text const& text) {
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
  Text const text;
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

/// Prints at rank 0. `family` is the interface.
template <typename Operation>
void report(char const* family, char const* operation, Operation call) {
  bench::Case const what{"instructions", "mpix", operation, family, 1, 8};
  if (bench::rank() != 0 || !bench::is_wanted(what)) return;
  long const instructions = count_instructions(call);
  if (instructions < 0) {
    std::fprintf(stderr, "bench_instructions: the system does not permit ptrace\n");
    return;
  }
  bench::print(what, static_cast<double>(instructions));
}

int last_rank() {
  int size = 0;
  MPI_Comm_size(world, &size);
  return size - 1;
}

double value = 1;
double other = 2;
double result = 0;
long one = 1;
long fetched = 0;

void count_mpix(int target) {
  std::vector<void*> bases(static_cast<std::size_t>(target) + 1);
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, nullptr, bases.data());
  void* const base = bases[static_cast<std::size_t>(target)];
  auto const address = reinterpret_cast<MPI_Aint>(base);
  MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, target, MPI_DOUBLE, world, nullptr, &plan);
  auto const transfer = [&](MPIX_RMA_Op operation) {
    return [&, operation] {
      MPIX_RMA_xfer(operation, &value, 1, MPI_DOUBLE, target, base, 1, MPI_DOUBLE, nullptr, &world, nullptr);
    };
  };
  report("rma", "put", transfer(MPIX_RMA_PUT));
  report("rma", "get", transfer(MPIX_RMA_GET));
  report("rma", "accumulate", transfer(MPIX_RMA_ACCUMULATE));
  report("rma", "put_planned", [&] { MPIX_RMA_Plan_issue(plan, &value, 1, base, 1, nullptr); });
  report("rma", "complete", [&] { MPIX_RMA_Complete(&world, target); });
  report("rma", "fence", [&] { MPIX_RMA_Fence(&world, target); });
  report("rma", "fetch_add", [&] {
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &fetched, target, address, nullptr, &world, &blocking);
  });
  report("rma", "compare_swap", [&] {
    MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &one, 1, MPI_LONG, &one, &fetched, target, address, nullptr, &world,
                  &blocking);
  });
  MPIX_RMA_Plan_free(&plan);
  MPI_Barrier(world);
  MPIX_RMA_Free(bases[static_cast<std::size_t>(bench::rank())], world);
}

void count_windows(int target) {
  char* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &mine, &window);
  MPI_Win_lock_all(0, window);
  report("window", "put", [&] { MPI_Put(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, window); });
  report("window", "get", [&] { MPI_Get(&result, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, window); });
  report("window", "accumulate",
         [&] { MPI_Accumulate(&value, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_SUM, window); });
  report("window", "fetch_and_op",
         [&] { MPI_Fetch_and_op(&one, &fetched, MPI_LONG, target, 0, MPI_SUM, window); });
  report("window", "compare_swap",
         [&] { MPI_Compare_and_swap(&one, &one, &fetched, MPI_LONG, target, 0, window); });
  report("window", "flush", [&] { MPI_Win_flush(target, window); });
  report("window", "flush_local", [&] { MPI_Win_flush_local(target, window); });
  MPI_Win_unlock_all(window);
  report("window", "lock_unlock", [&] {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Win_unlock(target, window);
  });
  MPI_Barrier(world);
  MPI_Win_free(&window);
}

void count_armci(int target) {
  ARMCI_Init();
  std::vector<void*> bases(static_cast<std::size_t>(target) + 1);
  ARMCI_Malloc(bases.data(), 4096);
  void* const base = bases[static_cast<std::size_t>(target)];
  report("armci", "put", [&] { ARMCI_Put(&value, base, sizeof value, target); });
  report("armci", "get", [&] { ARMCI_Get(base, &result, sizeof result, target); });
  report("armci", "acc", [&] { ARMCI_Acc(ARMCI_ACC_DBL, &other, &value, base, sizeof value, target); });
  report("armci", "rmw", [&] { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, base, 1, target); });
  report("armci", "fence", [&] { ARMCI_Fence(target); });
  ARMCI_Barrier();
  ARMCI_Free(bases[static_cast<std::size_t>(bench::rank())]);
  ARMCI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  count_mpix(last_rank());
  count_windows(last_rank());
  count_armci(last_rank());
  MPI_Finalize();
  return 0;
}

/// Windows of each kind in a job in which the component's engine fails to start at one process, or in which
/// the parameters of the processes differ: all processes take the same component, and the windows work. With
/// MPIX_TEST_LIBRARY the program uses the library too, and its collective calls succeed or fail at all ranks.
///
/// usage: mpirun -np 2 one_differs; MPIX_TEST_REFUSED: this process must not create "files" in memory, or
/// "threads" of the engine
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#ifdef MPIX_TEST_LIBRARY
#include "tests/support/communicatable.hpp"
#endif

namespace {

constexpr int not_permitted = 77;

bool is_refused(std::string_view what) {
  char const* const given = std::getenv("MPIX_TEST_REFUSED");
  return given != nullptr && given == what;
}

void require(bool holds, char const* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

/// From now on memfd_create fails in this process.
void refuse_memory_files() {
  sock_filter calls[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog const program{std::size(calls), calls};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::_Exit(not_permitted);
}

enum class Kind { allocated, created, shared, dynamic, count_ };

MPI_Win window_of(Kind kind, MPI_Comm comm, long* own, long** base) {
  MPI_Win window = MPI_WIN_NULL;
  int code = MPI_SUCCESS;
  constexpr MPI_Aint bytes = sizeof(long);
  *base = own;
  switch (kind) {
    case Kind::allocated: code = MPI_Win_allocate(bytes, bytes, MPI_INFO_NULL, comm, base, &window); break;
    case Kind::created: code = MPI_Win_create(own, bytes, bytes, MPI_INFO_NULL, comm, &window); break;
    case Kind::shared:
      code = MPI_Win_allocate_shared(bytes, bytes, MPI_INFO_NULL, comm, base, &window);
      break;
    default: code = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
  }
  require(code == MPI_SUCCESS, "a window is created");
  return window;
}

void use_window(Kind kind, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  long own = -1;
  long* base = nullptr;
  MPI_Win window = window_of(kind, comm, &own, &base);
  if (kind != Kind::dynamic) {
    long const value = 100 + rank;
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    require(*base == 100 + (rank + size - 1) % size, "the put has arrived");
  }
  MPI_Win_free(&window);
}

#ifdef MPIX_TEST_LIBRARY
/// Whether an allocation succeeds, which must be the same at all ranks.
bool allocates() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<void*> bases(static_cast<std::size_t>(size));
  void* base = nullptr;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int const code = mpixrma::test::rma_allocate(64, MPI_INFO_NULL, MPI_COMM_WORLD, &base, bases.data());
  int const succeeded = code == MPI_SUCCESS ? 1 : 0;
  if (succeeded != 0) mpixrma::test::rma_free(base, MPI_COMM_WORLD);
  int others = 0;
  MPI_Allreduce(&succeeded, &others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(others == 0 || others == size, "an allocation succeeds or fails at all ranks");
  return succeeded != 0;
}
#endif

}  // namespace

/// Replaces the system's function. The engine's threads are those that start with blocked signals.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     pthread_attr_t const* attributes,
                                                                     void* (*body)(void*), void* argument) {
  static auto* const system =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (sigismember(&blocked, SIGTERM) == 1 && is_refused("threads")) return EAGAIN;
  return system(thread, attributes, body, argument);
}

int main(int argc, char** argv) {
  if (is_refused("files")) refuse_memory_files();
  MPI_Init(&argc, &argv);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int round = 0; round < 2; ++round) {
    for (int kind = 0; kind < static_cast<int>(Kind::count_); ++kind)
      use_window(static_cast<Kind>(kind), MPI_COMM_WORLD);
    for (int kind = static_cast<int>(Kind::count_) - 1; kind >= 0; --kind)
      use_window(static_cast<Kind>(kind), copy);
  }
#ifdef MPIX_TEST_LIBRARY
  MPI_Barrier(copy);
  std::printf("memory is %s\n", allocates() ? "allocated" : "refused");
#endif
  std::puts("all windows work");
  std::fflush(stdout);
  MPI_Comm_free(&copy);
  MPI_Finalize();
}

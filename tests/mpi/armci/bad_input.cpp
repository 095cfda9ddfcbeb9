/// Makes one wrong call, named by the argument, or with --returning all that return. For bad_input.sh.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"

namespace {

void* bases[64];
double value = 1;
int stride = 8;
int count[2] = {8, 2};

struct Case {
  char const* name;
  char const* message;
  bool ends;                   ///< whether the call has no error code and ends the job
  int (*call)();               ///< makes the call, and returns its return value
  char const* path = nullptr;  ///< the only protocol that the library may use
};

/// For calls without a return value, which are not expected to come back.
template <typename Call>
int none(Call call) {
  call();
  return 0;
}

int lock_twice() {
  ARMCI_Create_mutexes(1);
  return none([] {
    ARMCI_Lock(0, 1);
    ARMCI_Lock(0, 1);
  });
}

Case const cases[] = {
    {"process too high", "ARMCI_Put: process 2 is not in 0..1", false,
     [] { return ARMCI_Put(&value, bases[1], 8, 2); }},
    {"process negative", "ARMCI_Get: process -1 is not in 0..1", false,
     [] { return ARMCI_Get(bases[1], &value, 8, -1); }},
    {"no bytes to nobody", "ARMCI_Put: process 2 is not in 0..1", false,
     [] { return ARMCI_Put(&value, bases[1], 0, 2); }},
    {"size negative", "of process 1: size -8 is negative", false,
     [] { return ARMCI_Put(&value, bases[1], -8, 1); }},
    {"null local", "of process 1: the local address is null", false,
     [] { return ARMCI_Put(nullptr, bases[1], 8, 1); }},
    {"null remote", "ARMCI_Get with process 1: the remote address is null", false,
     [] { return ARMCI_Get(nullptr, &value, 8, 1); }},
    {"accumulate type", "of process 1: unknown accumulate type 99", false,
     [] { return ARMCI_Acc(99, &value, &value, bases[1], 8, 1); }},
    {"null scale", "of process 1: scale is null", false,
     [] { return ARMCI_Acc(ARMCI_ACC_DBL, nullptr, &value, bases[1], 8, 1); }},
    {"levels negative", "of process 1: stride_levels -1 is not in 0..8", false,
     [] { return ARMCI_PutS(&value, &stride, bases[1], &stride, count, -1, 1); }},
    {"levels too many", "of process 1: stride_levels 9 is not in 0..8", false,
     [] { return ARMCI_PutS(&value, &stride, bases[1], &stride, count, 9, 1); }},
    {"null strides", "of process 1: the local stride array is null", false,
     [] { return ARMCI_PutS(&value, nullptr, bases[1], &stride, count, 1, 1); }},
    {"negative count", "of process 1: count[1] is -2", false,
     [] {
       int wrong[] = {8, -2};
       return ARMCI_GetS(bases[1], &stride, &value, &stride, wrong, 1, 1);
     }},
    {"stride below block", "of process 1: the local stride 8 is smaller than the block of 16 bytes", false,
     [] {
       int wrong[] = {16, 2};
       return ARMCI_PutS(&value, &stride, bases[1], &stride, wrong, 1, 1);
     }},
    {"counts of 2^64 bytes", "of process 1: the counts give 2^63 bytes or more", false,
     [] {
       int strides[] = {8, 16, 32};
       int many[] = {8, 1 << 30, 1 << 30, 2};
       return ARMCI_PutS(&value, strides, bases[1], strides, many, 3, 1);
     }},
    {"vector length", "ARMCI_PutV with process 1: number of descriptors is -1", false,
     [] { return ARMCI_PutV(nullptr, -1, 1); }},
    {"vector segments", "ARMCI_GetV with process 1: descriptor 0 has segments of -4 bytes", false,
     [] {
       armci_giov_t set{nullptr, nullptr, -4, 1};
       return ARMCI_GetV(&set, 1, 1);
     }},
    {"null segment here", "ARMCI_PutV with process 1: the address of segment 1 is null", false,
     [] {
       void* here[] = {&value, nullptr};
       void* there[] = {bases[1], bases[1]};
       armci_giov_t set{here, there, 8, 2};
       return ARMCI_PutV(&set, 1, 1);
     }},
    {"null segment there", "ARMCI_GetV with process 1: the address of segment 0 is null", false,
     [] {
       void* here[] = {&value};
       void* there[] = {nullptr};
       armci_giov_t set{there, here, 8, 1};
       return ARMCI_GetV(&set, 1, 1);
     }},
    {"packing of too many levels", "armci_write_strided: stride_levels 99", true,
     [] {
       return none([] { armci_write_strided(&value, 99, &stride, count, reinterpret_cast<char*>(&value)); });
     }},
    {"unpacking of a negative count", "armci_read_strided: count[1] is -2", true,
     [] {
       return none([] {
         int wrong[] = {8, -2};
         armci_read_strided(&value, 1, &stride, wrong, reinterpret_cast<char*>(&value));
       });
     }},
    {"mutexes", "ARMCI_Create_mutexes: ", false,
     [] { return ARMCI_Create_mutexes(armci_msg_me() == 0 ? -1 : 1); }},
    {"rmw operation", "of process 1: unknown operation 17", false,
     [] { return ARMCI_Rmw(17, &value, bases[1], 1, 1); }},
    {"rmw address", "ARMCI_Rmw with process 1: the remote address is null", false,
     [] { return ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &value, nullptr, 1, 1); }},
    {"allocation", "ARMCI_Malloc: ", false,
     [] {
       void* mine[64];
       return ARMCI_Malloc(mine, armci_msg_me() == 0 ? -8 : 8);
     }},
    {"address without memory", "ARMCI_Get at 0xdead0000 of process 1: the target memory is not mapped", false,
     [] { return ARMCI_Get(reinterpret_cast<void*>(0xdead0000), &value, 8, 1); }},
    {"overrun", "of process 1: only 56 of 64 bytes lie inside the allocation at 0x", false,
     [] {
       char many[64] = "";
       return ARMCI_Put(many, static_cast<char*>(bases[1]) + 8, 64, 1);
     }},
    {"access mode", "ARMCIX_Mode_set: mode 64 is unknown", false,
     [] {
       ARMCI_Group all;
       ARMCI_Group_get_world(&all);
       return ARMCIX_Mode_set(64, bases[armci_msg_me()], &all);
     }},
    {"access mode of no allocation", "is not the base of an allocation", false,
     [] {
       ARMCI_Group all;
       ARMCI_Group_get_world(&all);
       return ARMCIX_Mode_set(ARMCIX_MODE_ALL, &value, &all);
     }},
    {"freed twice", "was freed before", false,
     [] {
       void* mine[64];
       ARMCI_Malloc(mine, 64);
       void* const base = mine[armci_msg_me()];
       ARMCI_Free(base);
       return ARMCI_Free(base);
     }},
    {"freed memory", "of process 1: the target memory is not mapped", false,
     [] {
       void* mine[64];
       ARMCI_Malloc(mine, 1 << 20);
       void* const remote = mine[1];
       ARMCI_Free(mine[armci_msg_me()]);
       return ARMCI_Get(remote, &value, 8, 1);
     }},
    {"local freed twice", "ARMCI_Free_local: ", false,
     [] {
       void* const base = ARMCI_Malloc_local(64);
       ARMCI_Free_local(base);
       return ARMCI_Free_local(base);
     }},
    {"destroy nothing", "ARMCI_Destroy_mutexes: the mutexes are not created", false,
     [] { return ARMCI_Destroy_mutexes(); }},
    {"no mutexes", "ARMCI_Lock: the mutexes are not created", true,
     [] { return none([] { ARMCI_Lock(0, 1); }); }},
    {"no such mutex", "ARMCI_Lock: mutex 3 does not exist", true,
     [] {
       ARMCI_Create_mutexes(1);
       return none([] { ARMCI_Lock(3, 1); });
     }},
    {"mutex not held", "ARMCI_Unlock: mutex 0 of process 1 is not held", true,
     [] {
       ARMCI_Create_mutexes(1);
       return none([] { ARMCI_Unlock(0, 1); });
     }},
    {"mutex held by the caller", "ARMCI_Lock: mutex 0 of process 1 is held by the caller", true, lock_twice},
    {"mutex held by the caller, by message", "ARMCI_Lock: mutex 0 of process 1 is held by the caller", true,
     lock_twice, "message"},
    {"fence", "ARMCI_Fence: process 7 is not in 0..1", true, [] { return none([] { ARMCI_Fence(7); }); }},
    {"fence of a refused put",
     "ARMCI_Fence: a put of 8 bytes at 0xdead0000 of process 1 failed: the target memory is not mapped", true,
     [] {
       return none([] {
         // Process 1 only waits: if it ended the job itself, the put might meet a process that has ended.
         if (armci_msg_me() == 1) ARMCI_Barrier();
         ARMCI_Put(&value, reinterpret_cast<void*>(0xdead0000), 8, 1);
         ARMCI_Fence(1);
       });
     },
     "message"},
    {"barrier after a refused accumulate",
     "ARMCI_Barrier: an accumulate of 8 bytes at 0xdead0000 of process 1 failed: the target memory is not "
     "mapped",
     true,
     [] {
       return none([] {
         if (armci_msg_me() == 0) {
           ARMCI_Acc(ARMCI_ACC_DBL, &value, &value, reinterpret_cast<void*>(0xdead0000), 8, 1);
         }
         ARMCI_Barrier();
       });
     },
     "message"},
    {"local copy", "ARMCI_Copy: size -1 is negative", true,
     [] { return none([] { ARMCI_Copy(&value, &stride, -1); }); }},
    {"null handle", "ARMCI_INIT_HANDLE: the handle is null", true,
     [] { return none([] { ARMCI_INIT_HANDLE(nullptr); }); }},
    {"free no group", "ARMCI_Group_free: the group is null", true,
     [] { return none([] { ARMCI_Group_free(nullptr); }); }},
    {"free a group too late", "ARMCI_Group_free: called before ARMCI_Init or after ARMCI_Finalize", true,
     [] {
       return none([] {
         ARMCI_Group group;
         int both[] = {0, 1};
         ARMCI_Group_create(2, both, &group);
         ARMCI_Finalize();
         ARMCI_Group_free(&group);
       });
     }},
    {"default group", "ARMCI_Group_set_default: the group is null", true,
     [] {
       return none([] {
         ARMCI_Group zeroed{};
         ARMCI_Group_set_default(&zeroed);
       });
     }},
    {"member twice", "ARMCI_Group_create: process 1 is in the list twice", true,
     [] {
       return none([] {
         ARMCI_Group group;
         int twice[] = {1, 1};
         ARMCI_Group_create(2, twice, &group);
       });
     }},
    {"id without a group", "ARMCI_Absolute_id: the group is null", true,
     [] { return ARMCI_Absolute_id(nullptr, 0) * 0; }},
    {"tree", "armci_msg_bintree: the address of a result is null", true,
     [] { return none([] { armci_msg_bintree(SCOPE_ALL, count, count, count, nullptr); }); }},
    {"broadcast of nothing", "armci_msg_brdcst: the buffer is null", true,
     [] { return none([] { armci_msg_brdcst(nullptr, 8, 0); }); }},
    {"reduction", "armci_msg_dgop: unknown operation \"mean\"", true,
     [] {
       return none([] {
         char mean[] = "mean";
         armci_msg_dgop(&value, 1, mean);
       });
     }},
    {"logical reduction of floats", "armci_msg_dgop: unknown operation \"&&\" for this type", true,
     [] {
       return none([] {
         char both[] = "&&";
         armci_msg_dgop(&value, 1, both);
       });
     }},
    {"reduction type", "armci_msg_gop_scope: unknown type 77", true,
     [] {
       return none([] {
         char plus[] = "+";
         armci_msg_gop_scope(SCOPE_ALL, &value, 1, plus, 77);
       });
     }},
    {"reduction type in the caller's domain", "armci_msg_gop_scope: unknown type 77", true,
     [] {
       return none([] {
         char plus[] = "+";
         armci_msg_gop_scope(SCOPE_NODE, &value, 1, plus, 77);
       });
     }},
    {"message with any tag", "armci_msg_rcvany: tag -1 is negative", true,
     [] {
       return none([] {
         armci_msg_snd(3, &value, sizeof value, armci_msg_me());
         armci_msg_rcvany(-1, &value, sizeof value, nullptr);
       });
     }},
    {"broadcast from nobody", "armci_msg_group_bcast_scope: process 9 is not in the group", true,
     [] {
       return none([] {
         ARMCI_Group all;
         ARMCI_Group_get_world(&all);
         armci_msg_group_bcast_scope(SCOPE_ALL, &value, sizeof value, 9, &all);
       });
     }},
    {"send to nobody", "armci_msg_snd: process 9 is not in 0..1", true,
     [] { return none([] { armci_msg_snd(1, &value, sizeof value, 9); }); }},
    {"error", "the text that ends it 7", true,
     [] { return none([] { ARMCI_Error("the text that ends it", 7); }); }},
    {"value of nobody", "ARMCI_GetValueInt: process 9 is not in 0..1", true,
     [] { return ARMCI_GetValueInt(bases[1], 9) * 0; }},
};

Case const* find(char const* name) {
  for (Case const& one : cases) {
    if (std::strcmp(one.name, name) == 0) return &one;
  }
  return nullptr;
}

/// Writes a value to the other process and reads it there.
void use_library() {
  int const other = 1 - armci_msg_me();
  double back = 0;
  value = 2.5;
  if (ARMCI_Put(&value, bases[other], 8, other) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
  ARMCI_Barrier();
  if (ARMCI_Get(bases[other], &back, 8, other) != 0 || back != 2.5) MPI_Abort(MPI_COMM_WORLD, 5);
  ARMCI_Barrier();
}

void call_and_continue(Case const& one) {
  if (one.call() == 0) {
    std::printf("%s: the call returned 0\n", one.name);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  use_library();
}

/// Makes the call, and returns whether this process wrote the message of the case to stderr.
bool writes_its_message(Case const& one) {
  std::FILE* const file = std::tmpfile();
  int const usual = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  call_and_continue(one);
  std::fflush(stderr);
  ::dup2(usual, STDERR_FILENO);
  ::close(usual);
  static char text[65536];
  std::rewind(file);
  text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
  std::fclose(file);
  std::fputs(text, stderr);
  return std::strstr(text, one.message) != nullptr;
}

/// Makes all calls that return, one after the other. Each process must write the message of each call.
int make_returning_calls() {
  int wrong = 0;
  int checked = 0;
  for (Case const& one : cases) {
    if (one.ends) continue;
    ARMCI_Malloc(bases, 64);
    int found = writes_its_message(one) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (found == 0) {
      std::fprintf(stderr, "bad input \"%s\": no message with \"%s\"\n", one.name, one.message);
      ++wrong;
    }
    ++checked;
    ARMCI_Free(bases[armci_msg_me()]);
  }
  if (armci_msg_me() == 0) std::printf("%d calls returned\n", checked);
  return wrong == 0 && checked > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (Case const& one : cases) std::puts(one.name);
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--expect") == 0) {
    std::puts(find(argv[2])->message);
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--ends") == 0) return find(argv[2])->ends ? 0 : 1;
  bool const all = argc == 2 && std::strcmp(argv[1], "--returning") == 0;
  Case const* const chosen = argc == 2 ? find(argv[1]) : nullptr;
  if (chosen == nullptr && !all) return 2;
  if (chosen != nullptr && chosen->path != nullptr) ::setenv("OMPI_MCA_osc_mpix_path", chosen->path, 1);
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  int status = 0;
  if (all) {
    status = make_returning_calls();
  } else {
    ARMCI_Malloc(bases, 64);
    call_and_continue(*chosen);
  }
  ARMCI_Finalize();
  MPI_Finalize();
  return status;
}

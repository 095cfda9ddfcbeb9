/// Makes one wrong call, named by the argument. For bad_input.sh.
#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "include/armci/armci.h"

namespace {

void* bases[64];
double value = 1;
int stride = 8;
int count[2] = {8, 2};

struct Case {
  char const* name;
  char const* message;
  void (*call)();
};

Case const cases[] = {
    {"process too high", "ARMCI_Put: process 2 is not in 0..1", [] { ARMCI_Put(&value, bases[1], 8, 2); }},
    {"process negative", "ARMCI_Get: process -1 is not in 0..1", [] { ARMCI_Get(bases[1], &value, 8, -1); }},
    {"size negative", "ARMCI_Put: size -8 is negative", [] { ARMCI_Put(&value, bases[1], -8, 1); }},
    {"null local", "ARMCI_Put: local address is null", [] { ARMCI_Put(nullptr, bases[1], 8, 1); }},
    {"null remote", "ARMCI_Get: remote address is null", [] { ARMCI_Get(nullptr, &value, 8, 1); }},
    {"accumulate type", "ARMCI_Acc: unknown accumulate type 99",
     [] { ARMCI_Acc(99, &value, &value, bases[1], 8, 1); }},
    {"levels negative", "ARMCI_PutS: stride_levels -1",
     [] { ARMCI_PutS(&value, &stride, bases[1], &stride, count, -1, 1); }},
    {"levels too many", "ARMCI_PutS: stride_levels 9",
     [] { ARMCI_PutS(&value, &stride, bases[1], &stride, count, 9, 1); }},
    {"null strides", "ARMCI_PutS: a stride array is null",
     [] { ARMCI_PutS(&value, nullptr, bases[1], &stride, count, 1, 1); }},
    {"vector length", "ARMCI_PutV: number of descriptors is -1", [] { ARMCI_PutV(nullptr, -1, 1); }},
    {"rmw operation", "ARMCI_Rmw: unknown operation 17", [] { ARMCI_Rmw(17, &value, bases[1], 1, 1); }},
    {"no mutexes", "ARMCI_Lock: the mutexes are not created", [] { ARMCI_Lock(0, 1); }},
    {"no such mutex", "ARMCI_Lock: mutex 3 does not exist",
     [] {
       ARMCI_Create_mutexes(1);
       ARMCI_Lock(3, 1);
     }},
    {"mutex not held", "ARMCI_Unlock: mutex 0 of process 1 is not held",
     [] {
       ARMCI_Create_mutexes(1);
       ARMCI_Unlock(0, 1);
     }},
    {"address without memory", "no memory stands at the target address",
     [] { ARMCI_Put(&value, reinterpret_cast<void*>(0xdead0000), 8, 1); }},
    {"freed twice", "is free already",
     [] {
       void* mine[64];
       ARMCI_Malloc(mine, 64);
       void* const base = mine[armci_msg_me()];
       ARMCI_Free(base);
       ARMCI_Free(base);
     }},
};

Case const* find(char const* name) {
  for (Case const& one : cases) {
    if (std::strcmp(one.name, name) == 0) return &one;
  }
  return nullptr;
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
  Case const* const chosen = argc == 2 ? find(argv[1]) : nullptr;
  if (chosen == nullptr) return 2;
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  ARMCI_Malloc(bases, 64);
  chosen->call();
  ARMCI_AllFence();
  MPI_Finalize();
  return 0;
}

/// ARMCI: wrong arguments of calls that return, and their error line on stderr.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::nowhere;
using mpixrma::test::Remote;
using mpixrma::test::size;

/// Returns the text that `call` writes to stderr; the return value of `call` goes to `*code`.
template <typename Call>
std::string said_by(Call call, int* code) {
  testing::internal::CaptureStderr();
  *code = call();
  return testing::internal::GetCapturedStderr();
}

template <typename Call>
void expect_refused(std::string const& text, Call call) {
  int code = 0;
  EXPECT_EQ(said_by(call, &code), std::to_string(me()) + ": " + text + "\n");
  EXPECT_NE(code, 0) << text;
}

/// Returns an address of a process in the form that error lines have.
std::string at(void const* address, int process) {
  char text[64];
  std::snprintf(text, sizeof text, " at %p of process %d", address, process);
  return text;
}

struct Arguments : testing::Test {
  Arguments()
      : nobody(size()), not_there(std::to_string(nobody) + " is not in 0.." + std::to_string(nobody - 1)) {}
  long read(std::ptrdiff_t offset) const { return ARMCI_GetValueLong(remote.at(next, offset), next); }

  int nobody;
  std::string not_there;
  int next = (me() + 1) % size();
  Remote remote{256};
  long value = 5;
};

TEST_F(Arguments, InvalidProcessesAreRefused) {
  int stride = 8;
  int count[] = {8, 0};
  armci_hdl_t handle{};
  expect_refused("ARMCI_WaitProc: process " + not_there, [&] { return ARMCI_WaitProc(nobody); });
  expect_refused("ARMCI_WaitProc: process -1 is not in 0.." + std::to_string(nobody - 1),
                 [] { return ARMCI_WaitProc(-1); });
  // Wrong processes are errors even without data to transfer.
  expect_refused("ARMCI_PutV: process " + not_there, [&] { return ARMCI_PutV(nullptr, 0, nobody); });
  expect_refused("ARMCI_GetS: process " + not_there,
                 [&] { return ARMCI_GetS(nowhere, &stride, &value, &stride, count, 1, nobody); });
  expect_refused("ARMCI_NbAccV: process " + not_there,
                 [&] { return ARMCI_NbAccV(ARMCI_ACC_LNG, &value, nullptr, 0, nobody, &handle); });
  expect_refused("ARMCI_PutValueDouble: process " + not_there,
                 [&] { return ARMCI_PutValueDouble(1, remote.at(next), nobody); });
  EXPECT_EQ(ARMCI_WaitProc(me()), 0);
}

TEST_F(Arguments, AddressesOfReadModifyWritesAreMultiplesOfTheWordsSize) {
  struct {
    int operation;
    int bytes;
  } const cases[] = {
      {ARMCI_FETCH_AND_ADD, 4}, {ARMCI_SWAP, 4}, {ARMCI_FETCH_AND_ADD_LONG, 8}, {ARMCI_SWAP_LONG, 8}};
  for (auto const& one : cases) {
    for (int const offset : {1, one.bytes / 2, one.bytes - 1}) {
      void* const place = remote.at(next, offset);
      expect_refused("ARMCI_Rmw" + at(place, next) + ": the remote address is not a multiple of " +
                         std::to_string(one.bytes),
                     [&] { return ARMCI_Rmw(one.operation, &value, place, 1, next); });
      EXPECT_EQ(value, 5);
    }
    ARMCI_Barrier();
    for (int offset = 0; offset < 16; offset += 8) EXPECT_EQ(read(offset), 0);
    ARMCI_Barrier();
  }
}

TEST_F(Arguments, FlagsAreCheckedBeforeTheTransfer) {
  int stride = 8;
  int count[] = {8, 1};
  std::string const text = "_flag with process " + std::to_string(next) + ": the address of the flag is null";
  expect_refused("ARMCI_Put" + text,
                 [&] { return ARMCI_Put_flag(&value, remote.at(next), 8, nullptr, 1, next); });
  expect_refused("ARMCI_PutS" + text, [&] {
    return ARMCI_PutS_flag(&value, &stride, remote.at(next), &stride, count, 1, nullptr, 1, next);
  });
  ARMCI_Fence(next);
  EXPECT_EQ(read(0), 0);
}

TEST_F(Arguments, InvalidSizesAndShapesAreRefused) {
  int stride = 8;
  int count[] = {16, 2};
  double const scale = 1;
  auto* const factor = const_cast<double*>(&scale);
  std::string const there = at(remote.at(next), next);
  expect_refused("ARMCI_NbPut" + there + ": size -1 is negative",
                 [&] { return ARMCI_NbPut(&value, remote.at(next), -1, next, nullptr); });
  expect_refused("ARMCI_Acc" + there + ": a segment is not a multiple of the element's 8 bytes",
                 [&] { return ARMCI_Acc(ARMCI_ACC_DBL, factor, &value, remote.at(next), 7, next); });
  expect_refused("ARMCI_AccS" + there + ": the local stride 8 is smaller than the block of 16 bytes", [&] {
    return ARMCI_AccS(ARMCI_ACC_DBL, factor, &value, &stride, remote.at(next), &stride, count, 1, next);
  });
  ARMCI_Fence(next);
  EXPECT_EQ(read(0), 0);
}

TEST_F(Arguments, AllocationsNameTheRequestThatFailed) {
  constexpr armci_size_t excessive = armci_size_t{1} << 60;
  std::vector<void*> bases(static_cast<std::size_t>(size()));
  for (armci_size_t const others : {0, 64}) {
    int code = 0;
    std::string const text =
        said_by([&] { return ARMCI_Malloc(bases.data(), me() == 0 ? excessive : others); }, &code);
    EXPECT_NE(code, 0);
    EXPECT_EQ(text.find(std::to_string(me()) + ": ARMCI_Malloc: "), 0U) << text;
#ifdef OPEN_MPI  // MPICH 4.0 keeps no texts for codes of predefined classes
    std::string const reason = me() == 0 ? std::to_string(excessive) + " bytes" : "at rank 0: ";
    EXPECT_NE(text.find(reason), std::string::npos) << text;
    EXPECT_EQ(text.find(" bytes") != std::string::npos, me() == 0) << text;
#endif
  }
}

TEST_F(Arguments, MemoryOfAllIsNotFreedByOne) {
  char base[32];
  std::snprintf(base, sizeof base, "%p", static_cast<void*>(remote.mine()));
  expect_refused(std::string("ARMCI_Free_local: ") + base + " was allocated by ARMCI_Malloc",
                 [&] { return ARMCI_Free_local(remote.mine()); });
  EXPECT_EQ(ARMCI_PutValueLong(7, remote.at(next), next), 0);
  ARMCI_Fence(next);
  EXPECT_EQ(read(0), 7);
}

TEST_F(Arguments, InvalidGroupsAreRefused) {
  ARMCI_Group world;
  ARMCI_Group made{};
  int rank = 0;
  ARMCI_Group_get_world(&world);
  expect_refused("ARMCI_Group_rank: the group is null", [&] { return ARMCI_Group_rank(nullptr, &rank); });
  expect_refused("ARMCI_Group_rank: the group is null", [&] { return ARMCI_Group_rank(&made, &rank); });
  expect_refused("ARMCI_Group_rank: the address of the result is null",
                 [&] { return ARMCI_Group_rank(&world, nullptr); });
  // Collective calls fail at all processes.
  ARMCI_Group* const place = me() == 0 ? nullptr : &made;
  std::string const reason =
      me() == 0 ? "the address of the result is null" : "the call failed at another process";
  expect_refused("ARMCIX_Group_dup: " + reason, [&] { return ARMCIX_Group_dup(&world, place); });
  expect_refused("ARMCIX_Group_split: " + reason, [&] { return ARMCIX_Group_split(&world, 0, 0, place); });
  expect_refused(std::string("ARMCIX_Group_split: ") +
                     (me() == size() - 1 ? "color -7 is negative" : "the call failed at another process"),
                 [&] { return ARMCIX_Group_split(&world, me() == size() - 1 ? -7 : 0, 0, &made); });
  ASSERT_EQ(ARMCIX_Group_split(&world, 0, -me(), &made), 0);
  ASSERT_EQ(ARMCI_Group_rank(&made, &rank), 0);
  EXPECT_EQ(rank, size() - 1 - me());
  // After the default group is freed, the world is the default again.
  ARMCI_Group_set_default(&made);
  ARMCI_Group_free(&made);
  ARMCI_Group usual;
  ARMCI_Group_get_default(&usual);
  EXPECT_EQ(usual.comm, world.comm);
}

TEST_F(Arguments, WaitsNameTheOperationThatFailed) {
  int code = 0;
  std::string const text =
      "ARMCI_NbGet" + at(nowhere, next) + ": the target memory is not mapped, or was freed";
  armci_hdl_t handle{};
  for (armci_hdl_t* const chosen : {&handle, static_cast<armci_hdl_t*>(nullptr)}) {
    auto const get = [&] { return ARMCI_NbGet(nowhere, &value, sizeof value, next, chosen); };
    (void)said_by(get, &code);  // fails at once or late, depending on the protocol
    expect_refused("ARMCI_Wait: " + text, [&] { return ARMCI_Wait(chosen); });
    (void)said_by(get, &code);
    expect_refused("ARMCI_WaitAll: " + text, [] { return ARMCI_WaitAll(); });
    EXPECT_EQ(ARMCI_Wait(chosen), 0);
  }
  (void)said_by([&] { return ARMCI_NbGet(nowhere, &value, sizeof value, next, nullptr); }, &code);
  expect_refused("ARMCI_WaitProc: " + text, [&] { return ARMCI_WaitProc(next); });
}

TEST_F(Arguments, CompletionNamesTheProcessThatRefused) {
  int code = 0;
  void* bases[64];
  ASSERT_EQ(ARMCI_Malloc(bases, 64), 0);
  std::string const put = said_by([&] { return ARMCI_Put(&value, nowhere, sizeof value, next); }, &code);
  std::string const reason = "the target memory is not mapped, or was freed\n";
  std::string const prefix = std::to_string(me()) + ": ";
  if (code != 0) {
    EXPECT_EQ(put, prefix + "ARMCI_Put" + at(nowhere, next) + ": " + reason);
  }
  bool const late = code == 0;
  std::string const freed = said_by([&] { return ARMCI_Free(bases[me()]); }, &code);
  EXPECT_EQ(code != 0, late);
  EXPECT_EQ(freed,
            late ? prefix + "ARMCI_Free: a put of 8 bytes" + at(nowhere, next) + " failed: " + reason : "");
}

}  // namespace

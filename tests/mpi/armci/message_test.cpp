/// ARMCI: barriers and the message passing that Global Arrays uses.
#include <gtest/gtest.h>
#include <mpi.h>

#include <climits>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

TEST(Barriers, BarriersSynchronizeAllProcessesAndCompletePuts) {
  std::size_t const slot = sizeof(long);
  Remote remote(static_cast<armci_size_t>(slot) * size());
  ARMCI_Group all;
  ARMCI_Group_get_world(&all);
  auto const barrier = [&](int kind) {
    if (kind == 0) return ARMCI_Barrier();
    ARMCI_AllFence();
    kind == 1 ? armci_msg_barrier() : armci_msg_group_barrier(&all);
  };
  for (int round = 1; round <= 300; ++round) {
    for (int i = 0; i < size(); ++i) {
      long const value = 1000L * round + me();
      int const to = (me() + i) % size();
      ARMCI_PutValueLong(value, remote.at(to, static_cast<std::ptrdiff_t>(slot) * me()), to);
    }
    barrier(round % 3);
    for (int i = 0; i < size(); ++i)
      ASSERT_EQ(reinterpret_cast<long*>(remote.mine())[i], 1000L * round + i) << "round " << round;
    barrier((round + 1) % 3);
  }
}

/// Returns a group of the processes whose number is a multiple of `step`; a group of size 0 at the others.
ARMCI_Group group_of_every(int step) {
  std::vector<int> members;
  for (int i = 0; i < size(); i += step) members.push_back(i);
  ARMCI_Group group;
  ARMCI_Group_create(static_cast<int>(members.size()), members.data(), &group);
  return group;
}

TEST(Barriers, OverlappingGroupsHaveSeparateBarriers) {
  Remote remote(static_cast<armci_size_t>(sizeof(long)) * size());
  ARMCI_Group all = group_of_every(1);
  ARMCI_Group even = group_of_every(2);
  ARMCI_Group copy = all;  // names the same group
  for (int round = 1; round <= 300; ++round) {
    for (int i = 0; i < size(); ++i)
      ARMCI_PutValueLong(round, remote.at(i, static_cast<std::ptrdiff_t>(sizeof(long)) * me()), i);
    ARMCI_AllFence();
    int const step = round % 2 + 1;
    if (step == 1) {
      armci_msg_group_barrier(round % 3 == 0 ? &copy : &all);
    } else if (me() % 2 == 0) {
      armci_msg_group_barrier(&even);
    }
    for (int i = 0; i < size() && me() % step == 0; i += step)
      ASSERT_GE(reinterpret_cast<long volatile*>(remote.mine())[i], round) << "of process " << i;
    armci_msg_group_barrier(&all);
  }
  if (me() % 2 == 0) ARMCI_Group_free(&even);
  ARMCI_Group_free(&all);
  // Communicators are freed and made: a new one may have the handle of a freed one.
  for (int i = 0; i < 20; ++i) {
    ARMCI_Group again = group_of_every(1);
    for (int wait = 0; wait < i % 3; ++wait) armci_msg_group_barrier(&again);
    ARMCI_Group_free(&again);
  }
}

TEST(Barriers, MessagesProgressWhileProcessWaitsInBarrier) {
  std::vector<char> message(8 << 20,
                            static_cast<char>(me() + 1));  // its sender has to take part in the transfer
  MPI_Request request = MPI_REQUEST_NULL;
  if (me() == 0 && size() > 1)
    MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
  if (me() == 1) {
    MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, 7, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    EXPECT_EQ(message.back(), 1);
  }
  ARMCI_Barrier();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Every reduction of -1, -2, -3, ...
template <typename T>
void reduces_by_every_name(int type) {
  int const n = size();
  T const factorial = static_cast<T>(std::tgamma(n + 1) * (n % 2 == 0 ? 1 : -1));
  std::vector<std::pair<char const*, T>> expected = {
      {"+", static_cast<T>(-n * (n + 1) / 2)}, {"*", factorial}, {"max", T(-1)}, {"min", static_cast<T>(-n)},
      {"absmax", static_cast<T>(n)},           {"absmin", T(1)}};
  if constexpr (std::is_integral_v<T>) {
    T both = -1;
    T any = 0;
    for (int i = 1; i <= n; ++i) {
      both &= static_cast<T>(-i);
      any |= static_cast<T>(-i);
    }
    expected.insert(expected.end(), {{"&&", T(1)},
                                     {"land", T(1)},
                                     {"||", T(1)},
                                     {"lor", T(1)},
                                     {"&", both},
                                     {"band", both},
                                     {"|", any},
                                     {"bor", any},
                                     {"or", any}});
  }
  ARMCI_Group all;
  ARMCI_Group_get_world(&all);
  for (auto const& [name, result] : expected) {
    T values[2] = {static_cast<T>(-1 - me()), static_cast<T>(-1 - me())};
    std::string padded = std::string(name) + "  ";  // as Fortran passes it
    armci_msg_gop_scope(SCOPE_ALL, values, 1, padded.data(), type);
    armci_msg_group_gop_scope(SCOPE_ALL, values + 1, 1, padded.data(), type, &all);
    for (T const value : values) EXPECT_EQ(value, result) << name << ", type " << type;
  }
}

TEST(Messages, ReductionsHaveAllNamesThatCallersUse) {
  reduces_by_every_name<int>(ARMCI_INT);
  reduces_by_every_name<long>(ARMCI_LONG);
  reduces_by_every_name<long long>(ARMCI_LONG_LONG);
  reduces_by_every_name<float>(ARMCI_FLOAT);
  reduces_by_every_name<double>(ARMCI_DOUBLE);
  char both[] = "&&";
  int zero_at_last = me() == size() - 1 ? 0 : 5;
  armci_msg_igop(&zero_at_last, 1, both);
  EXPECT_EQ(zero_at_last, 0);
}

TEST(Messages, ReductionsOfASingleProcess) {
  if (armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1) > 1) GTEST_SKIP() << "needs domains of one process";
  char absmax[] = "absmax";
  char absmin[] = "absmin";
  char land[] = "land";
  int whole = -5;
  double real = -2.5;
  ARMCI_Group all;
  ARMCI_Group_get_world(&all);
  armci_msg_gop_scope(SCOPE_NODE, &whole, 1, absmax, ARMCI_INT);
  EXPECT_EQ(whole, 5);
  armci_msg_group_gop_scope(SCOPE_NODE, &whole, 1, land, ARMCI_INT, &all);
  EXPECT_EQ(whole, 1);
  armci_msg_reduce_scope(SCOPE_NODE, &real, 1, absmin, ARMCI_DOUBLE);
  EXPECT_EQ(real, 2.5);
  armci_msg_bcast_scope(SCOPE_NODE, &real, sizeof real, me());
  armci_msg_group_bcast_scope(SCOPE_NODE, &real, sizeof real, me(), &all);
  armci_msg_bcast_scope(SCOPE_NODE, &real, sizeof real, 0);  // ARMCI-MPI ignores the root
  armci_msg_group_bcast_scope(SCOPE_NODE, &real, sizeof real, 0, &all);
  char max[] = "max";
  armci_msg_sel_scope(SCOPE_NODE, &real, sizeof real, max, ARMCI_DOUBLE, 1);
  EXPECT_EQ(real, 2.5);
}

TEST(Messages, ReductionsBroadcastsAndSelection) {
  char plus[] = "+";
  char absmax[] = "absmax";
  char min[] = "min";
  long values[3] = {me(), 1, -me()};
  armci_msg_lgop(values, 3, plus);
  EXPECT_EQ(values[0], size() * (size() - 1) / 2);
  EXPECT_EQ(values[1], size());
  double magnitude = me() == 0 ? -50.0 : me();
  armci_msg_dgop(&magnitude, 1, absmax);
  EXPECT_EQ(magnitude, 50.0);
  int least = INT_MIN;  // has no positive counterpart
  armci_msg_igop(&least, 1, absmax);
  EXPECT_EQ(least, INT_MIN);
  float low = static_cast<float>(size() - me());
  armci_msg_fgop(&low, 1, min);
  EXPECT_EQ(low, 1.0f);
  int broadcast = me() == size() - 1 ? 42 : 0;
  armci_msg_brdcst(&broadcast, sizeof broadcast, size() - 1);
  EXPECT_EQ(broadcast, 42);
  struct {
    double value;
    long who;
  } chosen = {static_cast<double>((me() * 7 + 3) % 11), me()};
  double best = chosen.value;
  MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  armci_msg_sel(&chosen, sizeof chosen, min, ARMCI_DOUBLE, 1);
  EXPECT_EQ(chosen.value, best);
  EXPECT_EQ((chosen.who * 7 + 3) % 11, static_cast<long>(best));
  long const limit = 1L << 53;  // the next number is not a double
  long selected = me() == size() - 1 ? limit + 1 : limit;
  char max[] = "max";
  armci_msg_sel(&selected, sizeof selected, max, ARMCI_LONG, 1);
  EXPECT_EQ(selected, limit + 1);
  selected = me() == 0 && size() > 1 ? limit + 1 : limit;
  armci_msg_sel(&selected, sizeof selected, min, ARMCI_LONG, 1);
  EXPECT_EQ(selected, limit);
  if (size() > 1) {
    if (me() == 0) armci_msg_snd(5, &broadcast, sizeof broadcast, 1);
    if (me() == 1) {
      int got = 0;
      int length = 0;
      armci_msg_rcv(5, &got, sizeof got, &length, 0);
      EXPECT_EQ(got, 42);
      EXPECT_EQ(length, 4);
    }
  }
}

}  // namespace

/// Large gets of allocated memory by messages: the reply refers to that memory until it is sent, and nothing
/// that follows the get changes the data.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/runtime/engine.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::size_t large_bytes = 4 << 20;  // more than UCX accepts before the origin receives
constexpr int get_rounds = 20;
enum : int { memory_slot, phase_slot };

void by_messages(mpix_engine_config& config, int) { config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE; }

/// Memory of rank 1 with a counter behind it.
class ReadTarget {
 public:
  explicit ReadTarget(Rank& rank) : rank_(rank) {
    EXPECT_EQ(rank.engine().memory.allocate(large_bytes + sizeof(std::uint64_t), &memory_), Status::ok);
    std::memset(memory_, 0, large_bytes + sizeof(std::uint64_t));
    rank.publish(memory_slot, memory_);
    rank.barrier();
  }
  ~ReadTarget() { rank_.barrier(); }
  ReadTarget(ReadTarget const&) = delete;
  ReadTarget& operator=(ReadTarget const&) = delete;

  void issue(OpKind kind, std::vector<char>& buffer, OpFlags flags, bool notifies = false) {
    RmaOp operation = contiguous(kind, buffer.data(), rank_.published(1, memory_slot), large_bytes);
    operation.flags = flags;
    if (notifies) operation.notify = operation.target + large_bytes;
    EXPECT_EQ(rank_.engine().issue(rank_.peer(1), operation).status, Status::ok);
  }
  void fence() { rank_.engine().order.fence(rank_.peer(1), UINT64_MAX); }
  void complete() { rank_.engine().order.complete(rank_.peer(1), UINT64_MAX); }
  /// At rank 1.
  void fill(int value) { std::memset(memory_, value, large_bytes); }
  std::uint64_t counter() const {
    return __atomic_load_n(
        reinterpret_cast<std::uint64_t const*>(static_cast<char const*>(memory_) + large_bytes),
        __ATOMIC_ACQUIRE);
  }

 private:
  Rank& rank_;
  void* memory_ = nullptr;
};

/// Returns the number of bytes that differ from `value`.
std::ptrdiff_t others(std::vector<char> const& buffer, int value) {
  return static_cast<std::ptrdiff_t>(buffer.size()) -
         std::count(buffer.begin(), buffer.end(), static_cast<char>(value));
}

std::uint64_t messages_executed(Rank& rank) {
  return rank.engine().traffic.statistics().traffic.messages_executed;
}

/// Returns the number of the process that rank 0 signals.
std::uint64_t wait_for_process(Rank& rank) {
  for (;;) {
    if (std::uint64_t const process = __atomic_load_n(rank.place(0, phase_slot), __ATOMIC_ACQUIRE))
      return process;
    ::usleep(1000);
  }
}

class BorrowedReply : public ::testing::TestWithParam<OpFlags> {};

INSTANTIATE_TEST_SUITE_P(Orders, BorrowedReply,
                         ::testing::Values(OpFlags::none, OpFlags::ordered, OpFlags::overlap_ordered),
                         [](auto const& instance) {
                           return instance.param == OpFlags::none      ? "fence"
                                  : instance.param == OpFlags::ordered ? "ordered"
                                                                       : "overlap_ordered";
                         });

TEST_P(BorrowedReply, LaterPutDoesNotChangeItsData) {
  OpFlags const flags = GetParam();
  run_job(2, by_messages, [flags](Rank& rank) {
    ReadTarget target(rank);
    std::vector<char> in(large_bytes), out(large_bytes);
    for (int round = 1; rank.rank() == 0 && round <= get_rounds; ++round) {
      std::fill(in.begin(), in.end(), static_cast<char>(-1));
      std::fill(out.begin(), out.end(), static_cast<char>(round));
      target.issue(OpKind::get, in, flags);
      if (flags == OpFlags::none) target.fence();
      target.issue(OpKind::put, out, flags);
      target.complete();
      EXPECT_EQ(others(in, round - 1), 0) << "in round " << round;
    }
  });
}

TEST(BorrowedReplies, TargetMayOverwriteTheMemoryOnceItIsNotified) {
  run_job(2, by_messages, [](Rank& rank) {
    ReadTarget target(rank);
    std::vector<char> in(large_bytes);
    for (int round = 1; round <= get_rounds; ++round) {
      auto const number = static_cast<std::uint64_t>(round);
      if (rank.rank() == 0) {
        std::fill(in.begin(), in.end(), static_cast<char>(-1));
        target.issue(OpKind::get, in, OpFlags::none, true);
        target.complete();
        EXPECT_EQ(others(in, round - 1), 0) << "in round " << round;
        EXPECT_TRUE(rank.wait_for_value(1, phase_slot, number));
      } else {
        while (target.counter() < number) {
        }
        target.fill(round);
        rank.signal(phase_slot, number);
      }
    }
  });
}

TEST(BorrowedReplies, AtomicGetReadsBeforeTheNextAtomicPut) {
  run_job(3, by_messages, [](Rank& rank) {
    ReadTarget target(rank);
    std::vector<char> buffer(large_bytes, static_cast<char>(rank.rank()));
    for (int round = 1; rank.rank() != 1 && round <= get_rounds; ++round) {
      target.issue(rank.rank() == 0 ? OpKind::get : OpKind::put, buffer, OpFlags::atomic);
      target.complete();
      if (rank.rank() == 0) {
        EXPECT_EQ(others(buffer, buffer[0]), 0) << "in round " << round;
      }
      if (rank.rank() == 2) std::fill(buffer.begin(), buffer.end(), static_cast<char>(10 + round));
    }
  });
}

/// Rank 0 stops before it receives the data of a get; rank 1 frees the memory and uses it again then.
TEST(BorrowedReplies, FreedMemoryIsReadBefore) {
  constexpr std::size_t bytes = 16 << 20;  // more than fits into buffers of the transport
  auto const in_one_message = [](mpix_engine_config& config, int rank) {
    by_messages(config, rank);
    config.fragment_bytes = bytes;
    config.credit_bytes = 2 * bytes;
  };
  run_job(2, in_one_message, [](Rank& rank) {
    void* memory = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(bytes, &memory), Status::ok);
    std::memset(memory, 7, bytes);
    rank.publish(memory_slot, memory);
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<char> in(bytes);
      RmaOp get = contiguous(OpKind::get, in.data(), rank.published(1, memory_slot), 8);
      EXPECT_EQ(run(rank.engine(), rank.peer(1), get), Status::ok);
      rank.signal(phase_slot, static_cast<std::uint64_t>(::getpid()));
      EXPECT_TRUE(rank.wait_for_value(1, phase_slot, 1));
      get = contiguous(OpKind::get, in.data(), get.target, bytes);
      EXPECT_EQ(rank.engine().issue(rank.peer(1), get).status, Status::ok);
      ::raise(SIGSTOP);
      rank.engine().order.complete(rank.peer(1), UINT64_MAX);
      EXPECT_EQ(rank.engine().failures.take(rank.peer(1), 0), Status::ok);
      EXPECT_EQ(others(in, 7), 0);
    } else {
      std::uint64_t const origin = wait_for_process(rank);
      std::uint64_t const before = messages_executed(rank);
      rank.signal(phase_slot, 1);
      while (messages_executed(rank) == before) ::usleep(1000);
      std::thread continues([=] {
        ::usleep(100000);
        EXPECT_EQ(::kill(static_cast<pid_t>(origin), SIGCONT), 0);
      });
      EXPECT_EQ(rank.engine().memory.free(memory), Status::ok);
      void* next = nullptr;  // probably the same memory
      ASSERT_EQ(rank.engine().memory.allocate(bytes, &next), Status::ok);
      std::memset(next, 9, bytes);
      continues.join();
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine

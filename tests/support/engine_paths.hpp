/// The common part of the tests of whole engine operations: the automatic choice of paths, each path alone
/// and a mixture; three kinds of memory.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "engine/runtime/engine.hpp"
#include "tests/support/job.hpp"

namespace mpixrma::engine {

using test::Rank;
using test::run_job;

struct PathCase {
  char const* name;
  unsigned paths;
  int network_without_hardware;
  bool odd_ones_remote = false;
};

class EnginePath : public ::testing::TestWithParam<PathCase> {
 protected:
  static void configure(mpix_engine_config& config, int rank) {
    config.protocols = GetParam().paths;
    config.network_without_hardware = GetParam().network_without_hardware;
    // Some processes treat their neighbours as processes of other hosts.
    bool const remote = GetParam().odd_ones_remote && rank % 2 == 1;
    if (remote) config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.fragment_bytes = 4096;  // operations of moderate size need several messages
    config.credit_bytes = 16384;
  }
};

inline auto every_path() {
  std::vector<PathCase> cases{{"automatic", MPIX_ENGINE_PROTOCOL_ALL, 0},
                              {"mixed", MPIX_ENGINE_PROTOCOL_ALL, 0, true}};
  for (std::size_t path = 0; path < protocol_count; ++path) {
    bool const emulated = Protocol{static_cast<std::uint8_t>(path)} == Protocol::network;
    cases.push_back({protocol_names[path], 1U << path, emulated ? 1 : 0});
  }
  return ::testing::ValuesIn(cases);
}
inline std::string path_name(::testing::TestParamInfo<PathCase> const& instance) {
  return instance.param.name;
}

inline RmaOp contiguous(OpKind direction, void* origin, RemoteAddress target, std::size_t bytes) {
  RmaOp transfer;
  transfer.kind = direction;
  transfer.origin = static_cast<std::byte*>(origin);
  transfer.target = target;
  transfer.origin_layout = transfer.target_layout = Layout::contiguous(bytes);
  return transfer;
}

/// Returns an update of contiguous elements; each element is atomic.
inline RmaOp contiguous(ReduceOp operation, ElementType type, void const* origin, RemoteAddress target,
                        std::size_t bytes, void* result = nullptr) {
  RmaOp update = update_with(operation, type);
  update.flags = OpFlags::element_atomic;
  update.origin = read_only(origin);
  update.result = static_cast<std::byte*>(result);
  update.target = target;
  update.origin_layout = update.result_layout = update.target_layout = Layout::contiguous(bytes);
  return update;
}

/// A completion that a test can wait for.
struct Waiter : Completion {
  Waiter() {
    done = [](Completion& self, Status result, std::size_t moved) noexcept {
      auto& waiter = static_cast<Waiter&>(self);
      waiter.status = result;
      waiter.bytes = moved;
      waiter.complete.store(true, std::memory_order_release);
    };
  }
  std::atomic<bool> complete{false};
  Status status = Status::ok;
  std::size_t bytes = 0;
};

inline Status run(Engine& engine, Peer& peer, RmaOp operation) {
  Waiter waiter;
  operation.completion = &waiter;
  operation.flags = operation.flags | OpFlags::remote_completion;
  Issued const issued = engine.issue(peer, operation);
  if (failed(issued.status) || issued.complete) return issued.status;
  engine.waits.until(peer, [&] { return waiter.complete.load(std::memory_order_acquire); });
  return waiter.status;
}

/// Repeats a get until operations at `address` of process `target` use UCX put and get: the target's engine
/// makes a key only when it is first asked for one.
inline void await_key(Rank& rank, int target, RemoteAddress address) {
  auto const by_key = [&] {
    return rank.engine().traffic.with(Rank::process_of(target)).operations_by(Protocol::network);
  };
  std::byte byte{};
  for (std::uint64_t const before = by_key(); by_key() == before;)
    ASSERT_EQ(run(rank.engine(), rank.peer(target), contiguous(OpKind::get, &byte, address, 1)), Status::ok);
}

/// Three kinds of memory at every process.
struct Buffers {
  static constexpr std::size_t bytes = 100000;
  void* allocated = nullptr;
  std::vector<char> attached = std::vector<char>(bytes);
  std::vector<char> plain = std::vector<char>(bytes);

  explicit Buffers(Rank& rank) {
    EXPECT_EQ(rank.engine().memory.allocate(bytes, &allocated), Status::ok);
    EXPECT_EQ(rank.engine().memory.attach(attached.data(), bytes), Status::ok);
    std::memset(allocated, 0, bytes);
    rank.publish(0, allocated);
    rank.publish(1, attached.data());
    rank.publish(2, plain.data());
    rank.barrier();
  }
  char* kind(int k) {
    return k == 0 ? static_cast<char*>(allocated) : k == 1 ? attached.data() : plain.data();
  }
};

}  // namespace mpixrma::engine

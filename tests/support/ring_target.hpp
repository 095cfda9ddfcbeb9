/// Jobs in which one process polls its ring, and others operate on its memory, which they have not mapped.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::test {

/// Words of target memory, unless a test needs more.
inline constexpr int words = 64;

/// Sets the timeout for a request that is not taken to a minute, which no test reaches.
inline void long_ring_timeout(mpix_engine_config& config) { config.ring_us = 60'000'000; }

/// The paths of the operations: the ring alone, the ring and also messages, or any.
enum class Ways : std::uint8_t { ring_only, ring_and_messages, any };

struct RingTarget {
  int words = test::words;
  Ways ways = Ways::ring_only;
  std::function<void(engine::Engine&)> look = [](engine::Engine& engine) { engine.waits.progress(); };
};

/// Calls `body` in the origins while the last process polls its ring, and then `check` in the last process.
inline void with_target(int origins, Configure const& configure,
                        std::function<void(Rank&, engine::Peer&, std::int64_t*)> body,
                        std::function<void(std::int64_t const*)> check, RingTarget const& options = {}) {
  run_job(origins + 1, configure, [&](Rank& rank) {
    auto const memory = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(options.words));
    int const target = origins;
    rank.publish(0, memory.get());
    rank.barrier();
    if (rank.rank() == target) {
      for (int origin = 0; origin < origins; ++origin) {
        while (__atomic_load_n(rank.place(origin, 1), __ATOMIC_ACQUIRE) == 0) options.look(rank.engine());
      }
      check(memory.get());
      if (options.ways == Ways::any) return;
      bool const messages = options.ways == Ways::ring_and_messages;
      EXPECT_EQ(rank.engine().traffic.statistics().traffic.messages_executed != 0, messages);
    } else {
      auto* const there = reinterpret_cast<std::int64_t*>(rank.published(target, 0));
      body(rank, rank.peer(target), there);
      auto const traffic = rank.engine().traffic.with(Rank::process_of(target));
      bool const only = traffic.operations_by(engine::Protocol::cross_memory) == 0 &&
                        traffic.operations_by(engine::Protocol::ring) != 0;
      EXPECT_TRUE(only || options.ways == Ways::any);
      EXPECT_EQ(traffic.operations_by(engine::Protocol::message) != 0 && options.ways == Ways::ring_only,
                false);
      rank.signal(1, 1);
    }
  });
}

inline engine::RemoteAddress at(std::int64_t* base, std::size_t index) {
  return reinterpret_cast<engine::RemoteAddress>(base + index);
}

}  // namespace mpixrma::test

/// Sessions whose clients ignore the credit: the engine's memory for them is bounded, and freed at their end.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/resident_memory.hpp"
#include "tests/support/session_client.hpp"
#include "tests/support/session_engine.hpp"

namespace mpixrma::engine {
namespace {

using test::SessionClient;
using test::SessionEngine;

constexpr std::size_t mib = 1u << 20;

std::size_t resident() { return test::resident_bytes(::getpid()); }

/// The interval of UCX's keepalive messages for workers that are created from now on.
void set_keepalive(char const* interval) { ::setenv("UCX_KEEPALIVE_INTERVAL", interval, 1); }

/// Disables keepalive messages: they would wake an agent that has wrongly gone to sleep with work left.
struct WithoutKeepalive {
  WithoutKeepalive() { set_keepalive("inf"); }
};

class GreedySession : public ::testing::Test {
 protected:
  static void configure(mpix_engine_config& config) {
    config.origins_memory_bytes = config.replies_memory_bytes = 32 * mib;
    config.session_processes = 2;
  }
  SessionClient client_of(SessionEngine::Session const& session, std::uint64_t process = 0x77) {
    return {session.address, server_.exposure, process};
  }
  /// Expects that another session is served.
  void expect_service() {
    SessionClient other = client_of(other_);
    EXPECT_TRUE(other.connect());
    EXPECT_EQ(server_.end_of(other_), MPIX_ENGINE_SESSION_GOES_ON);
  }
  /// Expects that the server has buffered some of the client's 30,000 requests, and refused the others.
  void expect_bound(SessionClient& client) {
    EXPECT_TRUE(client.wait([&] { return client.executed() == client.sent(); }));
    EXPECT_GT(client.failures(Status::out_of_memory), 1000u);
    EXPECT_LT(client.failures(Status::out_of_memory), 29000u);
    expect_service();
  }
  /// Sends `count` gets of 1 MiB without receiving their replies.
  static void flood(SessionClient& client, int count) {
    for (int i = 0; i < count; ++i) client.send_only(client.next(wire::RequestKind::get, mib));
  }
  /// Returns the peak resident memory of the process in the next three seconds.
  static std::size_t peak() {
    std::size_t most = 0;
    for (int i = 0; i < 300; ++i) {
      most = std::max(most, resident());
      ::usleep(10000);
    }
    return most;
  }

  WithoutKeepalive const first_{};
  SessionEngine server_{configure, mib / 8};
  SessionEngine::Session const session_ = server_.open();
  SessionEngine::Session const other_ = server_.open();
};

TEST_F(GreedySession, BoundsUnreadReplies) {
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  std::size_t const before = resident();
  flood(client, 300);
  EXPECT_LT(peak(), before + 32 * mib);
  expect_service();
  // All gets have their replies once the client receives.
  EXPECT_TRUE(client.wait([&] { return client.data_bytes() == 8 + 300 * mib; }));
  EXPECT_EQ(server_.end_of(session_), MPIX_ENGINE_SESSION_GOES_ON);
  EXPECT_TRUE(client.wait([&] { return client.executed() == client.sent(); }));
}

/// If the transport sends all replies immediately, no event announces it: the agent must not sleep while
/// requests wait for these replies to be sent.
TEST(SmallShareOfReplies, ServesRequestsAfterRepliesAreSent) {
  constexpr std::size_t bytes = 128u << 10;
  WithoutKeepalive const first;
  SessionEngine server([](mpix_engine_config& config) { config.replies_memory_bytes = 1; }, mib / 8);
  SessionEngine::Session const session = server.open();
  SessionClient client(session.address, server.exposure);
  ASSERT_TRUE(client.connect());
  for (std::size_t round = 1; round <= 200; ++round) {
    for (int i = 0; i < 8; ++i) client.send_only(client.next(wire::RequestKind::get, bytes));
    ASSERT_TRUE(client.wait([&] { return client.data_bytes() == 8 + 8 * bytes * round; })) << round;
  }
}

/// Returns how often the agents of this process have gone to sleep.
std::uint64_t sleeps_of_agents() {
  std::uint64_t sleeps = 0;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string name;
    for (std::string word; status >> word;) {
      if (word == "Name:") status >> name;
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count && name == "mpix-agent") sleeps += count;
    }
  }
  return sleeps;
}

/// No event announces that a client receives replies again: the agent polls, but rarely.
TEST_F(GreedySession, WaitsForUnsentRepliesWithoutBusyPolling) {
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  flood(client, 64);
  ::sleep(1);
  std::uint64_t const before = sleeps_of_agents();
  ASSERT_GT(before, 0u);
  ::sleep(2);
  EXPECT_LT(sleeps_of_agents() - before, 4000u);  // one in 20 us would be 100,000
  EXPECT_TRUE(client.wait([&] { return client.executed() == client.sent(); }));
}

TEST_F(GreedySession, ReleasesItsMemoryAtItsEnd) {
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  ::malloc_trim(0);
  std::size_t const before = resident();
  flood(client, 300);
  (void)peak();
  EXPECT_EQ(server_.close(session_), 0);
  std::size_t after = 0;
  for (int i = 0; i < 1000 && (i == 0 || after > before + 3 * mib); ++i) {
    ::usleep(10000);
    ::malloc_trim(0);
    after = resident();
  }
  EXPECT_LT(after, before + 3 * mib);
  expect_service();
}

/// UCX 1.13 crashes in some of these rounds without nam/data/connection_events.cpp.
TEST_F(GreedySession, SurvivesClientsThatEndBeforeTheirReplies) {
  for (int round = 0; round < 100; ++round) {
    SessionEngine::Session const session = server_.open();
    {
      SessionClient client = client_of(session);
      ASSERT_TRUE(client.connect());
      flood(client, 20);
      // Some clients end while they receive: the server is about to send when the connection is reset.
      if (round % 4 < 2) {
        ::usleep(1000u * static_cast<unsigned>(round % 20));
      } else {
        auto const taken = mib * static_cast<unsigned>(round % 20);
        EXPECT_TRUE(client.wait([&] { return client.data_bytes() >= taken; }));
      }
      if (round % 2 == 0) {
        EXPECT_EQ(server_.close(session), 0);
      }
    }
    if (round % 2 != 0) {
      EXPECT_EQ(server_.close(session), 0);
    }
  }
  expect_service();
}

TEST_F(GreedySession, EndsIfRequestsAccumulate) {
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  std::size_t const before = resident();
  for (int i = 0; i < 300 && server_.end_of(session_) == MPIX_ENGINE_SESSION_GOES_ON; ++i) {
    flood(client, 300);
    ::usleep(10000);
  }
  EXPECT_EQ(server_.end_of(session_), MPIX_ENGINE_SESSION_REPLIES);
  EXPECT_LT(resident(), before + 64 * mib);
  expect_service();
  EXPECT_EQ(server_.close(session_), 0);
}

TEST_F(GreedySession, EndsWithTooManyProcesses) {
  SessionClient first = client_of(session_, 1);
  SessionClient second = client_of(session_, 2);
  EXPECT_TRUE(first.connect());
  EXPECT_TRUE(second.connect());
  EXPECT_EQ(server_.end_of(session_), MPIX_ENGINE_SESSION_GOES_ON);
  SessionClient third = client_of(session_, 3);
  EXPECT_TRUE(third.wait([&] { return server_.end_of(session_) != MPIX_ENGINE_SESSION_GOES_ON; }));
  EXPECT_EQ(server_.end_of(session_), MPIX_ENGINE_SESSION_PROCESSES);
  expect_service();
  EXPECT_EQ(server_.close(session_), 0);
  EXPECT_EQ(server_.end_of(session_), MPIX_ENGINE_SESSION_GOES_ON) << "nothing is kept of it";
}

/// The client sends the first half of many operations with a counter, and never the second half.
TEST_F(GreedySession, HasBoundedUnfinishedCounters) {
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  for (int i = 0; i < 30000; ++i) {
    auto half = client.next(wire::RequestKind::put, 16);
    half.bytes = 8;
    half.notify = 64;
    half.notify_exposure = server_.exposure;
    client.send(half, std::vector<std::byte>(8));
  }
  expect_bound(client);
}

/// A refused request for stripes ends the connection, which a keepalive message shows to the client.
TEST_F(GreedySession, HasBoundedLocksOfUnexposedMemory) {
  set_keepalive("500ms");
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  for (int i = 0; i < 30000 && !client.has_failed(); ++i) {
    auto lock = client.next(wire::RequestKind::stripe_lock, 0);
    lock.exposure = 0;
    lock.total = 8;
    client.send(lock);
  }
  EXPECT_TRUE(client.wait([&] { return client.has_failed(); }));
  expect_service();
}

/// The client skips a stream position and sends requests for later ones.
TEST_F(GreedySession, HasBoundedPositionsAhead) {
  set_keepalive("500ms");
  SessionClient client = client_of(session_);
  ASSERT_TRUE(client.connect());
  client.skip();
  for (int i = 0; i < 30000 && !client.has_failed(); ++i)
    client.send(client.next(wire::RequestKind::put, 8), std::vector<std::byte>(8));
  EXPECT_TRUE(client.wait([&] { return client.has_failed(); }));
  expect_service();
}

}  // namespace
}  // namespace mpixrma::engine

/// The service that starts UCX on request: queries, replies, and notices of lost connections.
#include "engine/net/address_service.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace mpixrma::engine {
namespace {

constexpr std::uint64_t asked = 7;

/// A process with a service, and one that asks it.
struct Pair {
  Credentials target = Credentials::make(asked);
  Credentials origin = Credentials::make(3);
  AddressService service;
  AddressQueries queries{origin};
  std::vector<std::byte> address = std::vector<std::byte>(3000, std::byte{5});
  int starts = 0;

  Pair() { EXPECT_TRUE(service.open(nullptr)); }

  void ask(ServiceAddress const& where) {
    queries.ask(asked, target.secret, std::as_bytes(std::span(&where, 1)));
  }
  /// Drives the query and the service until the query ends, at most `turns` times.
  std::vector<AddressQueries::Result> progress(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<AddressQueries::Result> results;
      queries.take_results([&](AddressQueries::Result const& result) { results.push_back(result); });
      if (!results.empty()) return results;
      service.handle_received(target, {.start =
                                           [this] {
                                             ++starts;
                                             return std::span<std::byte const>(address);
                                           },
                                       .note_loss = {}});
    }
    return {};
  }
};

constexpr int many_turns = 1000;

TEST(AddressQueries, GetTheAddressOfAnUnawareProcess) {
  Pair pair;
  pair.ask(pair.service.address());
  std::vector<AddressQueries::Result> const results = pair.progress(many_turns);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].process, asked);
  EXPECT_EQ(results[0].failure, nullptr);
  EXPECT_EQ(results[0].address, pair.address);
  EXPECT_FALSE(pair.queries.are_pending());
}

/// A child of fork() that outlives the process does not keep its sockets.
TEST(AddressQueries, EndWithTheProcessThatIsAsked) {
  Credentials const origin = Credentials::make(3);
  ServiceAddress where;
  pid_t child = -1;
  {
    AddressService service;
    ASSERT_TRUE(service.open(nullptr));
    where = service.address();
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  where.host = 0;
  AddressQueries queries(origin);
  queries.ask(asked, Credentials::make(asked).secret, std::as_bytes(std::span(&where, 1)));
  int failures = 0;
  // The child may not have run yet: the query is repeated.
  for (int turn = 0; turn < 20 * many_turns && failures == 0; ++turn) {
    queries.take_results(
        [&](AddressQueries::Result const& result) { failures += result.failure != nullptr; });
    ::usleep(1000);
  }
  EXPECT_EQ(failures, 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(AddressQueries, UseUdpIfTheUnixSocketIsMissing) {
  Pair pair;
  ServiceAddress where = pair.service.address();
  if (where.host == 0) GTEST_SKIP() << "no network interface";
  where.name ^= 1;
  pair.ask(where);
  std::vector<AddressQueries::Result> const results = pair.progress(many_turns);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].address, pair.address);
}

TEST(AddressQueries, FailWithoutReply) {
  Pair pair;
  pair.ask(ServiceAddress{1, 0, 0});
  std::vector<AddressQueries::Result> const results = pair.progress(many_turns);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NE(results[0].failure, nullptr);
  pair.queries.ask(asked, pair.target.secret, std::vector<std::byte>(5));
  EXPECT_EQ(pair.progress(many_turns).size(), 1u) << "an address of another length";
}

TEST(AddressQueries, FailIfTheNetworkDoesNotStart) {
  Pair pair;
  pair.address.clear();
  pair.ask(pair.service.address());
  std::vector<AddressQueries::Result> const results = pair.progress(many_turns);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NE(results[0].failure, nullptr);
}

TEST(AddressQueries, DoNotStartTheNetworkWithoutTheSecret) {
  Pair pair;
  pair.target.secret[0] ^= std::byte{1};
  pair.ask(pair.service.address());
  pair.target.secret[0] ^= std::byte{1};
  EXPECT_TRUE(pair.progress(many_turns).empty());
  EXPECT_EQ(pair.starts, 0);
  EXPECT_TRUE(pair.queries.are_pending());
}

TEST(AddressQueries, MayBeCancelled) {
  Pair pair;
  pair.ask(pair.service.address());
  pair.queries.take_results([](AddressQueries::Result const&) {});
  pair.queries.forget(asked);
  EXPECT_FALSE(pair.queries.are_pending());
  EXPECT_TRUE(pair.progress(many_turns).empty());
}

TEST(AddressService, TakesLossNoticesUnderItsSecretOnly) {
  Pair pair;
  AddressService sender;
  ASSERT_TRUE(sender.open(nullptr));
  SessionOpening const opening{.origin = 3, .target = asked};
  Secret wrong = pair.target.secret;
  wrong[0] ^= std::byte{1};
  std::vector<std::pair<std::uint64_t, bool>> notices;
  auto const send = [&](Secret const& secret, bool silent) {
    sender.send(pair.service.address(), make_loss_notice(secret, opening, silent));
    pair.service.handle_received(
        pair.target, {.start = [] { return std::span<std::byte const>(); },
                      .note_loss = [&](std::uint64_t process,
                                       bool is_silent) { notices.emplace_back(process, is_silent); }});
  };
  send(wrong, true);
  EXPECT_TRUE(notices.empty());
  send(pair.target.secret, true);
  send(pair.target.secret, false);
  EXPECT_EQ(notices, (std::vector<std::pair<std::uint64_t, bool>>{{3, true}, {3, false}}));
}

}  // namespace
}  // namespace mpixrma::engine

/// A live engine, and an admitted process that sends it up to a million messages, many of which no legitimate
/// peer would send. For unauthenticated peers see unauthenticated_peer_test.cpp.
///
/// Checked guarantees: the engine neither crashes nor hangs; it serves a well-behaved peer meanwhile and
/// afterwards; its memory stays bounded; memory that no valid request addresses keeps its content.
///
/// Not guaranteed, and therefore excluded from the messages: a valid request may address any memory that the
/// process can write, whether or not it is a segment, so writing requests address the victim's own segment,
/// or addresses where nothing can be mapped; reading requests address anything. A valid stripe_lock
/// request holds its stripes until the announced bytes are executed, so none is sent. Valid requests read at
/// most a few kilobytes, replies are received, and the address in a handshake is true, because UCX trusts a
/// worker's address.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <vector>

#include "engine/net/wire.hpp"
#include "engine/target/executor.hpp"
#include "tests/engine/target/hostile_messages.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/imposture.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/resident_memory.hpp"
#include "tests/support/rogue.hpp"
#include "tests/support/slowness.hpp"
#include "tests/support/well_behaved_peer.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::chrono::seconds longest{test::sanitized ? 20 : 45};
constexpr std::size_t page = test::MessageGenerator::page;
constexpr std::size_t target_bytes = test::MessageGenerator::target_bytes;
// Sanitizers keep freed memory for a while.
constexpr std::size_t bounded_growth = test::sanitized ? std::size_t{2} << 30 : std::size_t{64} << 20;
constexpr auto pattern = std::byte{0xc3};

/// Ranks of the job, and slots of the values that they publish.
enum : int { victim, friendly, rogue, ranks };
enum : int { target_slot, friend_slot, end_slot };
constexpr LockId locks = 20;  ///< locks of the victim
constexpr std::uint64_t rogue_name = 0xbad;

/// A segment between pages whose pattern shows writes beyond it.
class PatternedSegment {
 public:
  PatternedSegment() {
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, 3 * target_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::fill_n(memory_, 3 * target_bytes, pattern);
  }
  ~PatternedSegment() { ::munmap(memory_, 3 * target_bytes); }
  PatternedSegment(PatternedSegment const&) = delete;
  PatternedSegment& operator=(PatternedSegment const&) = delete;

  std::byte* segment() const { return memory_ + target_bytes; }
  /// Expects the pattern beside the segment; names the first changed byte.
  void expect_whole_guards() const {
    for (std::byte const* const guard : {memory_, memory_ + 2 * target_bytes}) {
      auto const differs = [](std::byte value) { return value != pattern; };
      std::byte const* const changed = std::find_if(guard, guard + target_bytes, differs);
      EXPECT_EQ(changed, guard + target_bytes) << "at byte " << changed - segment() << " of the segment";
    }
  }

 private:
  std::byte* memory_;
};

using test::MessageGenerator;
using test::Text;

/// Tries a lock that the rogue may hold, if a mutation addresses it.
void try_lock(Rank& rank) {
  Peer& peer = rank.peer(victim);
  Waiter waiter;
  Issued const asked = rank.engine().locks.acquire(peer, {locks - 1, LockMode::exclusive, 0, true, &waiter});
  ASSERT_EQ(asked.status, Status::ok);
  rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
  ASSERT_TRUE(waiter.status == Status::ok || waiter.status == Status::busy);
  if (waiter.status == Status::ok) {
    ASSERT_EQ(rank.engine().locks.release(peer, locks - 1, 0).status, Status::ok);
  }
}

void run_hostile_peer(Rank& rank, std::uint64_t seed) {
  test::Target const target = test::target_of(rank, victim);
  test::Rogue sender(target.worker_for(rogue_name));
  ASSERT_TRUE(sender.is_connected());
  test::Identity const self = test::identity_beside(rank, sender, rogue_name);
  SessionOpening const opening = self.opening_to(target, 1);
  MessageGenerator generator(seed, rank.published(victim, target_slot),
                             tokens_of(target.secret, opening).request);
  unsigned const eager = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY;
  Text const opened = test::handshake_message(make_handshake(target.secret, opening, encode(self.address)));
  sender.send(wire::MessageClass::request, opened.header, opened.payload, eager);
  auto const end = std::chrono::steady_clock::now() + longest;
  std::uint64_t const messages = 1000000u / static_cast<unsigned>(test::shortened(4));
  std::uint64_t sent = 0;
  while (sent < messages && (sent % 1024 != 0 || std::chrono::steady_clock::now() < end)) {
    bool const request = generator.random_below(10) != 0;
    bool const batched = generator.random_below(40) == 0;
    Text text = batched ? generator.requests() : request ? generator.request() : generator.reply();
    auto const single_class = request ? wire::MessageClass::request : wire::MessageClass::reply;
    auto const batch_class = request ? wire::MessageClass::request_batch : wire::MessageClass::reply_batch;
    unsigned flags = eager;
    if (generator.random_below(1000) == 0)
      flags = generator.random_below(2) == 0 ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_REPLY;
    if (generator.random_below(5000) == 0) text.payload.resize(100000);
    sender.send(batched ? batch_class : single_class, std::move(text.header), std::move(text.payload), flags);
    ++sent;
  }
  std::cout << sent << " messages sent, " << sender.received() << " came back\n";
  // About one in ten gets a reply, and many replies are batched.
  EXPECT_GT(sender.received(), sent / 1000) << "the engine has executed nearly nothing";
}

void configure(mpix_engine_config& config, int rank) {
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  // Log lines for dropped messages are expected, but too many here.
  int const nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (rank == victim) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

TEST(Hostile, MessagesChangeOnlyNamedMemoryAndEndNoProcess) {
  std::uint64_t const seed = test::seed();
  run_job(ranks, configure, [seed](Rank& rank) {
    PatternedSegment memory;
    std::vector<std::byte> const bystander(1 << 20, pattern);
    std::vector<std::uint64_t> for_friends(page);
    if (rank.rank() == victim) {
      ASSERT_EQ(rank.engine().memory.attach(memory.segment(), target_bytes), Status::ok);
      ASSERT_EQ(rank.engine().memory.attach(for_friends.data(), for_friends.size() * 8), Status::ok);
      LockId first = 0;
      ASSERT_EQ(rank.engine().locks.create(locks, &first), Status::ok);
      rank.publish(target_slot, memory.segment());
      rank.publish(friend_slot, for_friends.data());
    }
    rank.publish(end_slot, std::uint64_t{0});
    rank.barrier();
    std::size_t const before = test::resident_bytes(::getpid());
    if (rank.rank() == rogue) {
      run_hostile_peer(rank, seed);
      rank.publish(end_slot, 1);
    }
    if (rank.rank() == friendly) {
      int rounds = 0;
      for (; rank.published(rogue, end_slot) == 0 && !::testing::Test::HasFailure(); ++rounds) {
        run_well_behaved_peer(rank, victim, rank.published(victim, friend_slot), 1);
        try_lock(rank);
      }
      std::printf("%d rounds of a well-behaved peer meanwhile\n", rounds);
      EXPECT_GT(rounds, 20);
    }
    rank.barrier();
    if (rank.rank() == friendly)
      run_well_behaved_peer(rank, victim, rank.published(victim, friend_slot), 100);
    rank.barrier();
    if (rank.rank() != victim) return;
    memory.expect_whole_guards();
    EXPECT_EQ(std::ranges::count(bystander, pattern), std::ssize(bystander));
    std::size_t const after = test::resident_bytes(::getpid());
    std::cout << before / 1024 << " KiB resident before, " << after / 1024 << " KiB after\n";
    EXPECT_LT(after, before + bounded_growth);
    EXPECT_EQ(rank.engine().memory.detach(memory.segment()), Status::ok);
    EXPECT_EQ(rank.engine().memory.detach(for_friends.data()), Status::ok);
  });
}

}  // namespace
}  // namespace mpixrma::engine

/// Programs that know the addresses and the protocol of a job but not its secrets: none of their messages is
/// executed or believed, all are counted, and the processes of the job continue.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "engine/net/batch.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/imposture.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/well_behaved_peer.hpp"

namespace mpixrma::engine {
namespace {

using test::Identity;
using test::Rogue;
using test::Target;
using test::Text;

/// Ranks of the job, and slots of the values that they publish.
enum : int { victim, friendly, intruder, ranks };
enum : int { memory_slot, sent_slot, end_slot };

constexpr std::size_t words = 512;
constexpr std::size_t untouched_from = 256;  ///< index of the first word that must not be written
constexpr std::uint64_t pattern_word = 0x5eed;
constexpr std::uint64_t intruder_name = 0xbad;

void only_messages(mpix_engine_config& config, int rank) {
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  // Many log lines about dropped messages are expected.
  int const nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (rank != intruder) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

/// The knowledge of an unauthenticated peer: all published data except the secret, which it guesses.
Target known_of(Rank& rank, int of) {
  Target known = test::target_of(rank, of);
  known.secret = Credentials::make(0).secret;
  return known;
}

class Sender {
 public:
  explicit Sender(Target const& target) : rogue_(target.worker_for(intruder_name)) {}

  void request(Text text) { send(wire::MessageClass::request, std::move(text)); }
  void reply(Text text) { send(wire::MessageClass::reply, std::move(text)); }
  void requests(Text text) { send(wire::MessageClass::request_batch, std::move(text)); }
  void replies(Text text) { send(wire::MessageClass::reply_batch, std::move(text)); }
  std::uint64_t sent() const { return sent_; }
  Rogue& rogue() { return rogue_; }

 private:
  void send(wire::MessageClass channel, Text text) {
    rogue_.send(channel, std::move(text.header), std::move(text.payload), UCP_AM_SEND_FLAG_EAGER);
    ++sent_;
  }

  Rogue rogue_;
  std::uint64_t sent_ = 0;
};

/// Runs the attack against `target`; meanwhile and afterwards the victim serves the friendly rank. The target
/// must have dropped exactly the messages of the attack, and the victim must have executed none of them.
void run_beside_a_friend(int target, std::function<void(Rank&, Sender&)> const& attack) {
  run_job(ranks, only_messages, [=](Rank& rank) {
    std::vector<std::uint64_t> memory(words, pattern_word);
    if (rank.rank() == victim) {
      ASSERT_EQ(rank.engine().memory.attach(memory.data(), words * 8), Status::ok);
    }
    rank.publish(memory_slot, memory.data());
    rank.publish(end_slot, std::uint64_t{0});
    rank.barrier();
    RemoteAddress const there = rank.published(victim, memory_slot);
    if (rank.rank() == friendly) run_well_behaved_peer(rank, victim, there, 1);
    rank.barrier();
    if (rank.rank() == intruder) {
      {
        Sender sender(known_of(rank, target));
        attack(rank, sender);
        rank.publish(sent_slot, sender.sent());
      }
      rank.publish(end_slot, 1);
    }
    if (rank.rank() == friendly) {
      while (rank.published(intruder, end_slot) == 0 && !::testing::Test::HasFailure())
        run_well_behaved_peer(rank, victim, there, 1);
    }
    rank.barrier();
    std::uint64_t const sent = rank.published(intruder, sent_slot);
    if (rank.rank() == target) {
      rank.engine().waits.until([&] { return rank.engine().traffic.statistics().messages_dropped >= sent; });
      EXPECT_EQ(rank.engine().traffic.statistics().messages_dropped, sent);
      EXPECT_GT(sent, 0u);
    }
    if (rank.rank() == victim) {
      EXPECT_EQ(rank.engine().traffic.statistics().endpoints, 1u);  // to the friendly rank
    }
    if (rank.rank() == friendly) {
      run_well_behaved_peer(rank, victim, there, 100);
      rank.publish(sent_slot, rank.engine().traffic.statistics().traffic.messages_sent);
    }
    rank.barrier();
    if (rank.rank() != victim) return;
    EXPECT_EQ(std::vector<std::uint64_t>(memory.begin() + untouched_from, memory.end()),
              std::vector<std::uint64_t>(words - untouched_from, pattern_word));
    EXPECT_EQ(rank.engine().traffic.statistics().traffic.messages_executed,
              rank.published(friendly, sent_slot));
    EXPECT_EQ(rank.engine().memory.detach(memory.data()), Status::ok);
  });
}

RemoteAddress forbidden(Rank& rank) { return rank.published(victim, memory_slot) + untouched_from * 8; }

TEST(UnauthenticatedPeer, BatchedRequestsAreNotExecuted) {
  std::uint64_t const seed = test::seed();
  run_beside_a_friend(victim, [seed](Rank& rank, Sender& sender) {
    std::mt19937_64 random(seed);
    for (std::uint64_t const session : {std::uint64_t{0}, random(), random()}) {
      std::vector<std::byte> room(4096);
      wire::BatchWriter<wire::RequestHeader> records(session, room);
      for (std::uint64_t i = 0; i < 10; ++i) {
        wire::RequestHeader header{};
        Text const put = test::put_of(session, i + 1, forbidden(rank) + 8 * i, 0xbad);
        std::memcpy(&header, put.header.data(), sizeof header);
        std::memcpy(records.append(header, put.payload.size()), put.payload.data(), put.payload.size());
      }
      room.resize(records.bytes());
      auto header = wire::begin_header<wire::BatchHeader>(wire::RequestKind{});
      header.session = session;
      sender.requests({test::bytes_of(header), room});
      sender.replies({test::bytes_of(header), room});
    }
  });
}

TEST(UnauthenticatedPeer, RequestsWithoutAHandshakeAreNotExecuted) {
  std::uint64_t const seed = test::seed();
  run_beside_a_friend(victim, [seed](Rank& rank, Sender& sender) {
    std::mt19937_64 random(seed);
    sender.request(test::put_of(0, 1, forbidden(rank), 1));
    sender.request(test::put_of(Rank::process_of(friendly), 1, forbidden(rank), 1));
    for (std::uint64_t i = 0; i < 100000; ++i)
      sender.request(test::put_of(random(), 1 + i % 1000, forbidden(rank), i));
  });
}

TEST(UnauthenticatedPeer, HandshakesWithoutTheSecretOpenNoSession) {
  run_beside_a_friend(victim, [](Rank& rank, Sender& sender) {
    Target const guess = known_of(rank, victim);
    // Its own identity, that of a process known to the victim, that of an unknown process, and the victim's.
    for (std::uint64_t const name :
         {intruder_name, Rank::process_of(friendly), Rank::process_of(intruder), Rank::process_of(victim)}) {
      Identity const self = test::identity_beside(rank, sender.rogue(), name);
      std::vector<std::byte> const address = encode(self.address);
      for (Secret const& secret : {guess.secret, Secret{}, test::target_of(rank, friendly).secret}) {
        SessionOpening const opening = self.opening_to(guess, 1);
        sender.request(test::handshake_message(make_handshake(secret, opening, address)));
        sender.request(test::put_of(tokens_of(secret, opening).request, 1, forbidden(rank), 2));
        sender.request(test::put_of(tokens_of(secret, opening).reply, 1, forbidden(rank), 2));
      }
      sender.request(test::handshake_message({}));
      sender.request(test::handshake_message(address));
    }
  });
}

TEST(UnauthenticatedPeer, RelayedHandshakesOpenNoSession) {
  run_beside_a_friend(victim, [](Rank& rank, Sender& sender) {
    // A handshake under the victim's secret that names the friendly rank as its target.
    Identity const self = test::identity_beside(rank, sender.rogue(), intruder_name);
    Target target = test::target_of(rank, victim);
    target.address.process = Rank::process_of(friendly);
    SessionOpening const opening = self.opening_to(target, 1);
    sender.request(test::handshake_message(make_handshake(target.secret, opening, encode(self.address))));
    sender.request(test::put_of(tokens_of(target.secret, opening).request, 1, forbidden(rank), 3));
    // A handshake that contains the address of another process.
    target = test::target_of(rank, victim);
    ProcessAddress other = self.address;
    other.process = 0xdad;
    sender.request(
        test::handshake_message(make_handshake(target.secret, self.opening_to(target, 2), encode(other))));
  });
}

TEST(UnauthenticatedPeer, RepliesWithoutTheSessionAreIgnored) {
  std::uint64_t const seed = test::seed();
  run_beside_a_friend(friendly, [seed](Rank&, Sender& sender) {
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < 100000; ++i) {
      auto const kind = static_cast<wire::ReplyKind>(1 + i % 7);
      auto header = wire::begin_header<wire::ReplyHeader>(kind);
      header.session = i % 3 == 0 ? 0 : i % 3 == 1 ? Rank::process_of(victim) : random();
      header.status = static_cast<std::uint8_t>(Status::transport);
      header.executed = header.processed_cost = i / 7;
      header.operation_id =
          (random() % 64 << 32) | random() % 4;  // of operations, as TrackedOperationPool creates them
      std::vector<std::byte> const data(kind == wire::ReplyKind::data ? 1600 : 0, std::byte{0xee});
      header.bytes = data.size();
      sender.reply({test::bytes_of(header), data});
    }
  });
}

/// With the secret, the messages above would be executed; and each handshake is accepted only once.
TEST(UnauthenticatedPeer, ReplayedHandshakeOpensNoSession) {
  run_job(ranks, only_messages, [](Rank& rank) {
    std::vector<std::uint64_t> memory(words, pattern_word);
    rank.publish(memory_slot, memory.data());
    rank.barrier();
    RemoteAddress const there = rank.published(victim, memory_slot);
    if (rank.rank() == intruder) {
      Target const target = test::target_of(rank, victim);
      Sender admitted(target);
      Identity const self = test::identity_beside(rank, admitted.rogue(), intruder_name);
      SessionOpening const opening = self.opening_to(target, 1);
      Text const recorded =
          test::handshake_message(make_handshake(target.secret, opening, encode(self.address)));
      admitted.request(recorded);
      admitted.request(test::put_of(tokens_of(target.secret, opening).request, 1, there, 4));
      while (admitted.rogue().received() == 0) admitted.rogue().progress();
      Sender again(target);
      for (int i = 0; i < 10; ++i) again.request(recorded);
      // The same identity and another nonce, which would take the session over.
      Identity another = self;
      another.nonce.fill(std::byte{9});
      SessionOpening const late = another.opening_to(target, 2);
      again.request(test::handshake_message(make_handshake(target.secret, late, encode(self.address))));
      again.request(test::put_of(tokens_of(target.secret, late).request, 1, there + 8, 4));
    }
    rank.barrier();
    if (rank.rank() == victim) {
      rank.engine().waits.until([&] { return rank.engine().traffic.statistics().messages_dropped >= 12; });
      EXPECT_EQ(rank.engine().traffic.statistics().messages_dropped, 12u);
      EXPECT_EQ(memory[0], 4u);
      EXPECT_EQ(memory[1], pattern_word);
      EXPECT_EQ(rank.engine().traffic.with(intruder_name).messages_executed, 1u);
      EXPECT_LE(rank.engine().traffic.statistics().endpoints, 1u);  // the admitted peer may have gone
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine

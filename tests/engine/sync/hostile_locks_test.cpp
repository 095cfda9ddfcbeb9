/// An origin that breaks the rule of one lock at a time per stream, or ends while its stream waits, does not
/// block others.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "engine/net/batch.hpp"
#include "engine/runtime/inspection.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/imposture.hpp"

namespace mpixrma::engine {
namespace {

using test::Text;

enum : int { victim, friendly, rogue, ranks };
enum : int { word_slot, stage_slot };

constexpr std::uint64_t value = 77;
constexpr std::uint64_t origin_name = 0xbad;

void configure(mpix_engine_config& config, int rank) {
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  // Log lines about dropped messages are expected.
  int const nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (rank == victim) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

/// The requests of an origin that is not an engine.
class Origin {
 public:
  explicit Origin(Rank& rank)
      : target_(test::target_of(rank, victim)),
        sender_(target_.worker_for(origin_name)),
        self_(test::identity_beside(rank, sender_, origin_name)) {
    sender_.on_message = [this](wire::MessageClass kind, auto header, auto payload) {
      count_refusals(kind, header, payload);
    };
    SessionOpening const opening = self_.opening_to(target_, 1);
    session_ = tokens_of(target_.secret, opening).request;
    send(test::handshake_message(make_handshake(target_.secret, opening, encode(self_.address))));
  }

  wire::RequestHeader lock_request(wire::RequestKind kind, LockId lock, std::uint32_t owner) {
    auto header = wire::begin_header<wire::RequestHeader>(kind);
    header.session = session_;
    header.sequence = next_++;
    header.address = lock;
    header.owner = owner;
    header.flags = kind == wire::RequestKind::lock_request ? wire::flag_in_stream : 0;
    return header;
  }
  /// As lock_request(), ordered behind all that was made before.
  Text ordered_lock_request(wire::RequestKind kind, LockId lock, std::uint32_t owner) {
    auto header = lock_request(kind, lock, owner);
    header.after = header.sequence - 1;
    return {test::bytes_of(header), {}};
  }
  Text put(RemoteAddress address, std::uint64_t number, std::uint64_t after) {
    Text text = test::put_of(session_, next_++, address, number);
    wire::RequestHeader header;
    std::memcpy(&header, text.header.data(), sizeof header);
    header.after = after;
    return {test::bytes_of(header), text.payload};
  }
  void send(Text text) {
    sender_.send(wire::MessageClass::request, std::move(text.header), std::move(text.payload), eager);
  }
  void send(wire::RequestHeader const& header) { send({test::bytes_of(header), {}}); }
  /// Sends several requests in one message; each text is a header and its payload.
  void send_batch(std::vector<Text> const& texts) {
    std::vector<std::byte> room(texts.size() * (wire::BatchWriter<wire::RequestHeader>::max_overhead + 8));
    wire::BatchWriter<wire::RequestHeader> records(session_, room);
    for (Text const& text : texts) {
      wire::RequestHeader header;
      std::memcpy(&header, text.header.data(), sizeof header);
      std::byte* const out = records.append(header, text.payload.size());
      ASSERT_NE(out, nullptr);
      if (!text.payload.empty()) std::memcpy(out, text.payload.data(), text.payload.size());
    }
    room.resize(records.bytes());
    auto header = wire::begin_header<wire::BatchHeader>(wire::RequestKind{});
    header.session = session_;
    sender_.send(wire::MessageClass::request_batch, test::bytes_of(header), std::move(room), eager);
  }
  void progress_until(Rank const& rank, int of, std::uint64_t stage) {
    while (__atomic_load_n(rank.place(of, stage_slot), __ATOMIC_ACQUIRE) < stage) sender_.progress();
  }
  /// Receives until the victim has refused this many requests. Returns the number of refusals.
  std::size_t await_refusals(std::size_t expected) {
    sender_.wait([&] { return refusals_ >= expected; });
    return refusals_;
  }
  std::uint64_t newest() const { return next_ - 1; }

 private:
  void count_refusals(wire::MessageClass kind, std::span<std::byte const> header,
                      std::span<std::byte const> payload) {
    wire::ReplyHeader reply{};
    if (kind == wire::MessageClass::reply && header.size() == sizeof reply) {
      std::memcpy(&reply, header.data(), sizeof reply);
      refusals_ += reply.kind == wire::ReplyKind::failed ? 1 : 0;
    }
    if (kind != wire::MessageClass::reply_batch) return;
    wire::BatchReader<wire::ReplyHeader> records(wire::batch_session_of(header), payload);
    std::span<std::byte const> rest;
    while (records.next(&reply, &rest)) refusals_ += reply.kind == wire::ReplyKind::failed ? 1 : 0;
  }

  static constexpr unsigned eager = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY;
  test::Target target_;
  test::Rogue sender_;
  test::Identity self_;
  std::uint64_t session_ = 0;
  std::uint64_t next_ = 1;
  std::size_t refusals_ = 0;
};

/// A well-behaved owner of two of the victim's locks.
struct Friend {
  explicit Friend(Rank& job) : rank(job), word(job.published(victim, word_slot)) {}

  Status lock(LockId id, bool attempt = false) const {
    Waiter waiter;
    EXPECT_EQ(rank.engine().locks.acquire(peer(), {id, LockMode::exclusive, 0, attempt, &waiter}).status,
              Status::ok);
    rank.engine().waits.until([&] { return waiter.complete.load(std::memory_order_acquire); });
    return waiter.status;
  }
  void unlock(LockId id) const { EXPECT_EQ(rank.engine().locks.release(peer(), id, 0).status, Status::ok); }
  std::uint64_t get() const {
    std::uint64_t got = 0;
    EXPECT_EQ(run(rank.engine(), peer(), contiguous(OpKind::get, &got, word, sizeof got)), Status::ok);
    return got;
  }
  bool sees(std::uint64_t wanted) const {
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (get() != wanted) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  Peer& peer() const { return rank.peer(victim); }

  Rank& rank;
  RemoteAddress word;
};

void prepare(Rank& rank) {
  static std::uint64_t word = 0;
  if (rank.rank() == victim) {
    LockId first = 1;
    ASSERT_EQ(rank.engine().locks.create(2, &first), Status::ok);
    ASSERT_EQ(first, 0u);
    rank.publish(word_slot, &word);
  }
  rank.publish(stage_slot, std::uint64_t{0});
  rank.barrier();
}

/// The description that the engine of this process gives to mpix-rma ps.
std::string description() {
  FileDescriptor const connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::string const name = Inspection::prefix + std::to_string(::getpid()) + "/0";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto const bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::connect(connection.get(), reinterpret_cast<sockaddr const*>(&address), bytes), 0);
  std::string text(1 << 16, '\0');
  ssize_t const got = ::recv(connection.get(), text.data(), text.size(), MSG_WAITALL);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Returns whether a lock request waits in this process, or none does, before a time limit.
bool comes_to_wait(bool waits) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20 * test::slowness);
  while ((description().find(" waits for it") != std::string::npos) != waits) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}

/// The friend holds lock 0 when the rogue's stream requests it, with a put of `value` behind the request.
/// Then all continue independently, the rogue to its end: as_rogue(rank, origin, position of the request),
/// as_friend(rank, friend) and as_victim(rank).
template <typename AsRogue, typename AsFriend, typename AsVictim = void (*)(Rank&)>
void compete(
    AsRogue as_rogue, AsFriend as_friend, AsVictim as_victim = [](Rank&) {}) {
  constexpr std::uint64_t ended = 3;
  run_job(
      ranks, configure,
      [=](Rank& rank) {
        prepare(rank);
        if (rank.rank() == victim) {
          as_victim(rank);
          EXPECT_TRUE(rank.wait_for_value(friendly, stage_slot, ended, 60));
        } else if (rank.rank() == rogue) {
          EXPECT_TRUE(rank.wait_for_value(friendly, stage_slot, 1));
          Origin origin(rank);
          origin.send(origin.lock_request(wire::RequestKind::lock_request, 0, 0));
          std::uint64_t const asked = origin.newest();
          origin.send(origin.put(rank.published(victim, word_slot), value, asked));
          as_rogue(rank, origin, asked);
          ::usleep(50000);
          rank.die();
        } else {
          Friend const self(rank);
          EXPECT_EQ(self.lock(0), Status::ok);
          rank.signal(stage_slot, 1);
          EXPECT_TRUE(rank.wait_for_value(rogue, stage_slot, 1));
          as_friend(rank, self);
          EXPECT_EQ(self.lock(0), Status::ok);
          self.unlock(0);
          rank.signal(stage_slot, ended);
        }
      },
      test::JobKind::mortal);
}

TEST(HostileLocks, StreamWaitsForOneLockAndLocksOfDeadAreFreed) {
  compete(
      [](Rank& rank, Origin& origin, std::uint64_t asked) {
        origin.send(origin.lock_request(wire::RequestKind::lock_request, 1, 1));
        // A position that the stream waits for already.
        auto again = origin.lock_request(wire::RequestKind::lock_request, 1, 2);
        again.sequence = asked;
        origin.send(again);
        rank.signal(stage_slot, 1);
        origin.progress_until(rank, friendly, 2);
        // Lock 1 was refused, because the stream waited. A repeated request is rejected, because the stream
        // holds the lock.
        EXPECT_EQ(origin.await_refusals(1), 1u);
        origin.send(origin.lock_request(wire::RequestKind::lock_request, 0, 0));
        EXPECT_EQ(origin.await_refusals(2), 2u);
      },
      [](Rank& rank, Friend const& self) {
        ::usleep(50000);
        EXPECT_EQ(self.get(), 0u);
        EXPECT_EQ(self.lock(1, true), Status::ok);
        self.unlock(1);
        self.unlock(0);
        EXPECT_TRUE(self.sees(value));
        EXPECT_EQ(self.lock(0, true), Status::busy);
        rank.signal(stage_slot, 2);
      });
}

TEST(HostileLocks, ProcessThatEndsWhileItsStreamWaitsIsSkipped) {
  compete(
      [](Rank& rank, Origin& origin, std::uint64_t) {
        rank.expect_death(rogue);
        origin.progress_until(rank, victim, 1);
        rank.signal(stage_slot, 1);
      },
      [](Rank& rank, Friend const& self) {
        EXPECT_TRUE(rank.wait_for_value(victim, stage_slot, 2));
        self.unlock(0);
        EXPECT_EQ(self.lock(0), Status::ok);
        EXPECT_EQ(self.get(), 0u);
        self.unlock(0);
      },
      [](Rank& rank) {
        EXPECT_TRUE(comes_to_wait(true));
        rank.signal(stage_slot, 1);
        EXPECT_TRUE(comes_to_wait(false));
        rank.signal(stage_slot, 2);
      });
}

/// Hundreds of requests in one message, executed in order, with invalid ones rejected.
TEST(HostileLocks, OneMessageMayAcquireAndReleaseLocksRepeatedly) {
  run_job(ranks, configure, [](Rank& rank) {
    constexpr std::uint64_t rounds = 50;
    prepare(rank);
    if (rank.rank() == rogue) {
      Origin origin(rank);
      std::vector<Text> texts;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        for (std::uint32_t owner : {0u, 0u, 1u})  // the second is rejected, the third is another lock
          texts.push_back(origin.ordered_lock_request(wire::RequestKind::lock_request, owner, owner));
        texts.push_back(origin.put(rank.published(victim, word_slot), round, origin.newest()));
        for (std::uint32_t owner : {0u, 0u, 1u})
          texts.push_back(origin.ordered_lock_request(wire::RequestKind::lock_release, owner, owner));
      }
      origin.send_batch(texts);
      origin.progress_until(rank, friendly, 1);
      EXPECT_EQ(origin.await_refusals(2 * rounds), 2 * rounds);
    }
    if (rank.rank() == friendly) {
      Friend const self(rank);
      EXPECT_TRUE(self.sees(rounds));
      for (LockId const id : {0u, 1u}) {
        EXPECT_EQ(self.lock(id), Status::ok);
        self.unlock(id);
      }
      rank.signal(stage_slot, 1);
    }
    rank.barrier();
  });
}

/// Messages arrive in reverse order: none is lost, and none is executed too early.
TEST(HostileLocks, RequestsInTheWrongOrderAreExecutedInOrder) {
  run_job(ranks, configure, [](Rank& rank) {
    constexpr std::uint64_t chain = 2000;
    prepare(rank);
    if (rank.rank() == rogue) {
      Origin origin(rank);
      std::vector<Text> texts;
      texts.push_back({test::bytes_of(origin.lock_request(wire::RequestKind::lock_request, 0, 0)), {}});
      for (std::uint64_t number = 1; number <= chain; ++number)
        texts.push_back(origin.put(rank.published(victim, word_slot), number, origin.newest()));
      auto release = origin.lock_request(wire::RequestKind::lock_release, 0, 0);
      release.after = release.sequence - 1;
      texts.push_back({test::bytes_of(release), {}});
      std::ranges::reverse(texts);
      for (Text const& text : texts) origin.send(text);
      origin.progress_until(rank, friendly, 1);
    }
    if (rank.rank() == friendly) {
      Friend const self(rank);
      EXPECT_TRUE(self.sees(chain));
      EXPECT_EQ(self.lock(0), Status::ok);
      self.unlock(0);
      rank.signal(stage_slot, 1);
    }
    rank.barrier();
  });
}

}  // namespace
}  // namespace mpixrma::engine

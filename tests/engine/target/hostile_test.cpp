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
#include <random>
#include <vector>

#include "engine/net/batch.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/executor.hpp"
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
constexpr std::size_t page = 4096;
constexpr std::size_t target_bytes = 16 * page;  ///< a segment between pages with a pattern
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

using test::bytes_of;
using test::Text;

/// Generates messages.
class MessageGenerator {
 public:
  MessageGenerator(std::uint64_t seed, RemoteAddress target, std::uint64_t session)
      : random_(seed), target_(target), session_(session) {}

  Text request() {
    Text text = random_below(8) == 0 ? random_bytes(random_below(300)) : valid_request();
    if (random_below(2) == 0) mutate(text);
    if (!is_harmless(text)) return request();
    return text;
  }
  /// Several requests in one message, the last of which may be truncated.
  Text requests() {
    std::vector<std::byte> room(65536);
    wire::BatchWriter<wire::RequestHeader> records(session_, room);
    for (auto count = random_below(8); count != 0; --count) {
      Text const text = request();
      wire::RequestHeader header{};
      if (text.header.size() != sizeof header) continue;
      std::memcpy(&header, text.header.data(), sizeof header);
      std::byte* const out = records.append(header, text.payload.size());
      if (out == nullptr) break;
      if (!text.payload.empty()) std::memcpy(out, text.payload.data(), text.payload.size());
      continue_run(records, header, text.payload);
    }
    if (records.bytes() != 0 && random_below(4) == 0) flip_bit({room.data(), records.bytes()});
    room.resize(random_below(4) == 0 ? random_below(records.bytes() + 1) : records.bytes());
    auto header = wire::begin_header<wire::BatchHeader>(wire::RequestKind{});
    header.session = session_;
    Text text{bytes_of(header), std::move(room)};
    if (random_below(16) == 0)
      text.header[random_below(text.header.size())] ^= std::byte{1} << random_below(8);
    if (random_below(64) == 0) text.header.resize(random_below(64));
    return text;
  }
  /// An unsolicited reply.
  Text reply() {
    wire::ReplyHeader header{};
    fill(&header, sizeof header);
    header.magic = wire::magic;
    header.version = wire::version;
    header.kind = static_cast<wire::ReplyKind>(random_below(10));
    header.status = static_cast<std::uint8_t>(random_below(12));
    if (random_below(2) == 0) header.session = random_below(2) == 0 ? session_ : 0;
    if (random_below(2) == 0) header.executed = random_below(1000);
    if (random_below(2) == 0) header.operation_id = random_below(1000);
    Text text{bytes_of(header), std::vector<std::byte>(random_below(200))};
    header.bytes = random_below(4) == 0 ? random_() : text.payload.size();
    text.header = bytes_of(header);
    if (random_below(4) == 0) mutate(text);
    return text;
  }
  std::uint64_t random_below(std::uint64_t limit) { return random_() % limit; }

 private:
  /// Appends requests that differ in position and address only, which become a run if the header permits.
  void continue_run(wire::BatchWriter<wire::RequestHeader>& records, wire::RequestHeader header,
                    std::vector<std::byte> const& payload) {
    bool const chained = random_below(2) == 0;
    for (auto more = random_below(3) == 0 ? random_below(6) : 0; more != 0; --more) {
      if (chained) header.after = header.sequence;
      ++header.sequence;
      header.address += random_below(3) * 8;
      if (!is_harmless({bytes_of(header), payload})) return;  // a run can leave the segment
      std::byte* const out = records.append(header, payload.size());
      if (out == nullptr) return;
      if (!payload.empty()) std::memcpy(out, payload.data(), payload.size());
    }
  }

  /// Flips a bit, unless a record then names other memory than the segment.
  void flip_bit(std::span<std::byte> records) {
    std::byte& place = records[random_below(records.size())];
    std::byte const bit = std::byte{1} << random_below(8);
    place ^= bit;
    wire::BatchReader<wire::RequestHeader> reader(session_, records);
    wire::RequestHeader header{};
    std::span<std::byte const> payload;
    while (reader.next(&header, &payload))
      if (!is_harmless({bytes_of(header), {payload.begin(), payload.end()}})) return void(place ^= bit);
  }

  void fill(void* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(at)[i] = static_cast<unsigned char>(random_());
  }
  wire::RequestHeader blank(wire::RequestKind kind) const {
    wire::RequestHeader header{};
    header.magic = wire::magic;
    header.version = wire::version;
    header.kind = kind;
    header.session = session_;
    header.sequence = sequence_;
    return header;
  }

  Text random_bytes(std::size_t payload) {
    Text text{std::vector<std::byte>(random_below(4) == 0 ? random_below(300) : sizeof(wire::RequestHeader)),
              std::vector<std::byte>(payload)};
    fill(text.header.data(), text.header.size());
    fill(text.payload.data(), text.payload.size());
    return text;
  }

  /// In the segment, around it, or in unmapped memory.
  RemoteAddress any_address() {
    switch (random_below(6)) {
      case 0: return random_below(page);
      case 1: return ~random_below(page);
      case 2: return (std::uint64_t{1} << 60) + random_() % (std::uint64_t{1} << 40);
      case 3: return target_ - 8 * random_below(64);
      default: return target_ + 8 * random_below(target_bytes / 8);
    }
  }

  /// A request as a peer would send it, with any address and any position in the stream.
  Text valid_request() {
    if (random_below(8) == 0) return lock_request();
    wire::RequestHeader header = blank(static_cast<wire::RequestKind>(1 + random_below(5)));
    wire::RequestKind const kind = header.kind;
    header.flags = static_cast<std::uint16_t>(random_()) & static_cast<std::uint16_t>(~wire::flag_scale);
    header.context = static_cast<std::uint32_t>(random_());
    header.operation_id = random_below(100);
    header.address = any_address();
    std::vector<Dimension> dims;
    std::size_t data = 0;
    if (kind != wire::RequestKind::find_segment && kind != wire::RequestKind::key_dropped) {
      header.block = 8 * (1 + random_below(16));
      header.bytes = header.block;
      header.element_type = static_cast<std::uint8_t>(1 + random_below(10));
      if (random_below(2) == 0) {
        dims.push_back({1 + random_below(8), 8 * static_cast<std::ptrdiff_t>(random_below(400)) - 1600});
        header.bytes *= dims[0].count;
      }
      header.total = header.bytes;
      unsigned copies = kind == wire::RequestKind::put ? 1 : 0;
      if (kind == wire::RequestKind::update) {
        header.operation =
            static_cast<std::uint8_t>(random_below(static_cast<unsigned>(ReduceOp::count_) + 2));
        copies = operand_count(static_cast<ReduceOp>(header.operation));
      }
      data = header.bytes * copies;
    }
    header.dimensions = static_cast<std::uint8_t>(dims.size());
    if (random_below(30) == 0)
      header.sequence = random_below(2) == 0 ? random_() : sequence_ + random_below(100000);
    if (random_below(30) == 0) header.after = random_() % std::max<std::uint64_t>(header.sequence, 1);
    if (header.sequence == sequence_) ++sequence_;
    Text text{bytes_of(header), std::vector<std::byte>(dims.size() * sizeof(Dimension) + data)};
    if (!dims.empty()) std::memcpy(text.payload.data(), dims.data(), dims.size() * sizeof(Dimension));
    fill(text.payload.data() + dims.size() * sizeof(Dimension), data);
    return text;
  }

  /// For existing and missing locks, by many owners, in any order.
  Text lock_request() {
    bool const acquires = random_below(3) != 0;
    auto const kind = acquires ? wire::RequestKind::lock_request : wire::RequestKind::lock_release;
    wire::RequestHeader header = blank(kind);
    header.operation = static_cast<std::uint8_t>(random_below(acquires ? 4 : 2));
    header.address = random_below(4) == 0 ? random_() >> 32 : random_below(6);
    header.owner =
        static_cast<std::uint32_t>(random_below(4) == 0 ? random_below(max_lock_owners) : random_below(10));
    header.operation_id = 1 + random_below(100);
    if (header.sequence == sequence_) ++sequence_;
    return {bytes_of(header), {}};
  }

  /// Changes, truncates or extends the message, including huge values.
  void mutate(Text& text) {
    for (auto changes = 1 + random_below(3); changes != 0; --changes) {
      std::vector<std::byte>& part =
          text.payload.empty() || random_below(3) != 0 ? text.header : text.payload;
      if (part.empty()) continue;
      std::size_t const at = random_below(part.size());
      switch (random_below(5)) {
        case 0: part.resize(at); break;
        case 1: part.resize(part.size() + random_below(64)); break;
        case 2: part[at] ^= std::byte{1} << random_below(8); break;
        case 3: part[at] = static_cast<std::byte>(random_()); break;
        default: {
          std::uint64_t const huge = random_below(2) == 0 ? ~std::uint64_t{0} >> random_below(64) : random_();
          std::size_t const word = at / 8 * 8;
          std::memcpy(part.data() + word, &huge, std::min(sizeof huge, part.size() - word));
        }
      }
    }
  }

  /// Whether the message respects the exclusions described at the head of this file.
  bool is_harmless(Text const& text) const {
    std::vector<std::uint64_t> aligned(text.payload.size() / 8 + 1);
    if (!text.payload.empty()) std::memcpy(aligned.data(), text.payload.data(), text.payload.size());
    wire::CheckedRequest request{};
    auto const* const data = reinterpret_cast<std::byte const*>(aligned.data());
    if (wire::check(text.header, {data, text.payload.size()}, &request) != nullptr) return true;
    constexpr std::size_t max_bytes = 8192;
    wire::RequestKind const kind = request.header.kind;
    if (kind == wire::RequestKind::stripe_lock || kind == wire::RequestKind::handshake) return false;
    if (kind == wire::RequestKind::find_segment || kind == wire::RequestKind::key_dropped) return true;
    if (request.header.bytes > max_bytes) return false;
    if (kind == wire::RequestKind::get) return true;
    RemoteAddress begin = 0;
    RemoteAddress end = 0;
    if (!touched_range(request, &begin, &end) || request.header.bytes == 0) return true;
    bool const inside = begin >= target_ && end <= target_ + target_bytes;
    constexpr RemoteAddress lowest = 65536;  // nothing is mapped below, nor above the user's half
    constexpr RemoteAddress highest = RemoteAddress{1} << 56;
    return inside || end <= lowest || begin >= highest;
  }

  std::mt19937_64 random_;
  RemoteAddress target_;
  std::uint64_t session_;
  std::uint64_t sequence_ = 1;
};

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

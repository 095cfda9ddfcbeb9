// Operations that exceed a slot of the ring: in fragments, also if the target stops polling in the middle.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "engine/net/ring.hpp"
#include "engine/origin/peer_state.hpp"
#include "tests/support/random_layout.hpp"
#include "tests/support/ring_target.hpp"

namespace mpixrma::engine {
namespace {

using test::at;
using test::RingTarget;
using test::Ways;
using test::with_target;

constexpr int many_words = 40000;
constexpr std::size_t word = sizeof(std::int64_t);

/// Layouts of up to 24,000 distinct words.
struct RandomWords {
  explicit RandomWords(std::mt19937_64& random) {
    auto const up_to = [&](std::size_t limit) { return 1 + random() % limit; };
    switch (random() % 3) {
      case 0: layout.block = up_to(random() % 2 == 0 ? 64 : 24000) * word; break;
      case 1: {
        std::size_t const block = up_to(6);
        std::size_t const count = up_to(2000);
        layout.block = block * word;
        dimensions.push_back({count, static_cast<std::ptrdiff_t>((block + random() % 3) * word)});
        break;
      }
      default: {
        std::size_t const count = up_to(1000);  // more than one fragment describes
        std::ptrdiff_t offset = 0;
        for (std::size_t i = 0; i < count; ++i) {
          std::size_t const length = up_to(8) * word;
          runs.push_back({offset, length});
          offset += static_cast<std::ptrdiff_t>(length + random() % 3 * word);
          layout.block += length;
        }
      }
    }
    layout.dims = dimensions;
    layout.runs = runs;
  }
  RandomWords(RandomWords const&) = delete;
  RandomWords& operator=(RandomWords const&) = delete;

  std::vector<Dimension> dimensions;
  std::vector<LayoutRun> runs;
  Layout layout{0, {}, {}};
};

/// Returns the indices of the words of the layout.
std::vector<std::size_t> words_of(Layout const& layout) {
  std::vector<std::size_t> words;
  LayoutCursor cursor(layout);
  while (cursor.remaining() != 0) {
    LayoutRun const run = cursor.next();
    for (std::size_t i = 0; i < run.length / word; ++i)
      words.push_back(static_cast<std::size_t>(run.offset) / word + i);
  }
  return words;
}

/// Random operations, and the expected content of the target's memory.
class Model {
 public:
  Model(Rank& rank, Peer& peer, std::int64_t* there, std::uint64_t seed)
      : rank_(rank), peer_(peer), there_(there), random_(seed) {}

  void operate() {
    RandomWords const target(random_);
    std::size_t const bytes = target.layout.size();
    std::vector<std::size_t> const words = words_of(target.layout);
    std::size_t const begin = random_() % (static_cast<std::size_t>(many_words) - words.back());
    // Every second word of the origin, or all of them.
    std::size_t const step = 1 + random_() % 2;
    Dimension const every{bytes / word, static_cast<std::ptrdiff_t>(step * word)};
    Layout const local = step == 1 ? Layout::contiguous(bytes) : Layout{word, {&every, 1}, {}};
    std::vector<std::int64_t> origin(words.size() * step);
    std::vector<std::int64_t> second(words.size() * step);
    std::vector<std::int64_t> result(words.size() * step);
    for (std::int64_t& value : origin) value = static_cast<std::int64_t>(random_() % 3);
    for (std::int64_t& value : second) value = static_cast<std::int64_t>(random_() % 1000);
    auto const kind = random_() % 6;
    if (kind < 2) {
      RmaOp transfer;
      transfer.kind = kind == 0 ? OpKind::put : OpKind::get;
      transfer.origin = reinterpret_cast<std::byte*>(kind == 0 ? origin.data() : result.data());
      transfer.origin_layout = local;
      transfer.target = at(there_, begin);
      transfer.target_layout = target.layout;
      if (random_() % 4 == 0) transfer.flags = OpFlags::atomic;
      ASSERT_EQ(run(rank_.engine(), peer_, transfer), Status::ok);
    } else {
      static constexpr std::int64_t factor = 3;
      RmaOp update = contiguous(kind == 5 ? ReduceOp::compare_swap_eq : ReduceOp::sum, ElementType::int64,
                                origin.data(), at(there_, begin), 0);
      if (kind != 2) update.result = reinterpret_cast<std::byte*>(result.data());
      if (kind == 4) update.scale = &factor;
      update.operand2 = reinterpret_cast<std::byte const*>(second.data());
      update.origin_layout = update.result_layout = local;
      update.target_layout = target.layout;
      switch (random_() % 4) {
        case 0: update.flags = OpFlags::atomic; break;
        // An update of a single word switches its granule of 1 KiB to the CPU's atomics.
        case 1: update.flags = OpFlags::element_atomic; break;
        default: break;
      }
      ASSERT_EQ(run(rank_.engine(), peer_, update), Status::ok);
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::int64_t& value = memory_[begin + words[i]];
      std::size_t const here = i * step;
      bool const fetched = kind != 0 && kind != 2;
      ASSERT_TRUE(!fetched || result[here] == value) << "kind " << kind << ", word " << i;
      if (kind == 0) value = origin[here];
      if (kind >= 2 && kind <= 4) value += origin[here] * (kind == 4 ? 3 : 1);
      if (kind == 5 && value == origin[here]) value = second[here];
    }
  }

  void compare() {
    std::vector<std::int64_t> found(many_words);
    ASSERT_EQ(
        run(rank_.engine(), peer_, contiguous(OpKind::get, found.data(), at(there_, 0), many_words * word)),
        Status::ok);
    EXPECT_EQ(found, memory_);
  }

 private:
  Rank& rank_;
  Peer& peer_;
  std::int64_t* there_;
  std::mt19937_64 random_;
  std::vector<std::int64_t> memory_ = std::vector<std::int64_t>(many_words);
};

/// Polls some times, and then sometimes pauses for longer than the timeout.
void look_now_and_then(Engine& engine) {
  static std::mt19937 random(20082);
  for (unsigned looks = random() % 64; looks != 0; --looks) engine.waits.progress();
  ::usleep(random() % 3 == 0 ? 200 : 0);
}

void without_kernel(mpix_engine_config& config) {
  config.protocols = MPIX_ENGINE_PROTOCOL_RING | MPIX_ENGINE_PROTOCOL_DIRECT;
}

struct Case {
  char const* name;
  bool kernel;
  bool always_polls;
};

class StagedRing : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Targets, StagedRing,
                         ::testing::Values(Case{"looks", true, true},
                                           Case{"looks_without_kernel", false, true},
                                           Case{"stops", true, false},
                                           Case{"stops_without_kernel", false, false}),
                         [](auto const& instance) { return std::string(instance.param.name); });

RingTarget target_of(Case const& test_case) {
  RingTarget target{.words = many_words, .ways = Ways::any};
  if (!test_case.always_polls) target.look = look_now_and_then;
  return target;
}

auto configuration_of(Case const& test_case) {
  return [test_case](mpix_engine_config& config) {
    if (test_case.always_polls) test::long_ring_timeout(config);
    if (!test_case.kernel) without_kernel(config);
  };
}

TEST_P(StagedRing, MatchesModel) {
  std::uint64_t const seed = test::seed();
  with_target(
      1, configuration_of(GetParam()),
      [&](Rank& rank, Peer& peer, std::int64_t* there) {
        Model model(rank, peer, there, seed);
        for (int i = 0; i < 300 / test::slowness && !::testing::Test::HasFailure(); ++i) model.operate();
        model.compare();
        auto const traffic = rank.engine().traffic.with(Rank::process_of(1));
        EXPECT_TRUE(!GetParam().always_polls || traffic.operations_by(Protocol::ring) != 0);
      },
      [](std::int64_t const*) {}, target_of(GetParam()));
}

/// Each element of each origin's arrays is added exactly once.
TEST_P(StagedRing, UpdatesOfSeveralOriginsAreExact) {
  constexpr int origins = 3;
  constexpr int updates = 60;
  constexpr int elements = 3000;
  with_target(
      origins, configuration_of(GetParam()),
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        std::vector<std::int64_t> const ones(elements, 1);
        for (int i = 0; i < updates; ++i) {
          RmaOp update = contiguous(ReduceOp::sum, ElementType::int64, ones.data(), at(there, 7), 0);
          update.origin_layout = update.target_layout = Layout::contiguous(elements * word);
          if (i % 3 == 0) update.flags = OpFlags::atomic;
          ASSERT_EQ(run(rank.engine(), peer, update), Status::ok);
        }
      },
      [](std::int64_t const* memory) {
        EXPECT_EQ(memory[6], 0);
        for (int i = 7; i < 7 + elements; ++i) ASSERT_EQ(memory[i], origins * updates) << i;
        EXPECT_EQ(memory[7 + elements], 0);
      },
      target_of(GetParam()));
}

/// An unmapped address is detected in the last fragment, too.
TEST_P(StagedRing, RefusesWrongAddresses) {
  with_target(
      1, configuration_of(GetParam()),
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        constexpr std::size_t bytes = 30000;
        std::vector<std::byte> values(bytes, std::byte{1});
        LayoutRun const pieces[] = {{0, bytes - word}, {-(std::ptrdiff_t{1} << 44), word}};
        RmaOp update = contiguous(ReduceOp::replace, ElementType::int64, values.data(), at(there, 0), bytes);
        update.target_layout = {bytes, {}, pieces};
        EXPECT_EQ(run(rank.engine(), peer, update), Status::bad_address);
        RmaOp put = contiguous(OpKind::put, values.data(), at(there, 0), bytes);
        put.target_layout = {bytes, {}, pieces};
        EXPECT_EQ(run(rank.engine(), peer, put), Status::bad_address);
        std::int64_t const one = 1;
        EXPECT_EQ(
            run(rank.engine(), peer, contiguous(ReduceOp::sum, ElementType::int64, &one, at(there, 9000), 8)),
            Status::ok);
      },
      [](std::int64_t const* memory) { EXPECT_EQ(memory[9000], 1); }, target_of(GetParam()));
}

/// Layouts of more dimensions than a staged request can describe.
TEST_P(StagedRing, FallsBackForUnsupportedLayouts) {
  with_target(
      1, configuration_of(GetParam()),
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        std::vector<Dimension> dims(max_dimensions + 2, Dimension{1, 1});
        dims.front() = {1000, 2 * word};
        dims.back() = {3, 3000 * word};
        std::vector<std::int64_t> const ones(3000, 1);
        RmaOp update = contiguous(ReduceOp::sum, ElementType::int64, ones.data(), at(there, 0), 3000 * word);
        update.target_layout = {word, dims, {}};
        ASSERT_EQ(run(rank.engine(), peer, update), Status::ok);
        std::int64_t const one = 1;
        ASSERT_EQ(
            run(rank.engine(), peer, contiguous(ReduceOp::sum, ElementType::int64, &one, at(there, 1), word)),
            Status::ok);
      },
      [](std::int64_t const* memory) {
        for (int i = 0; i < 9000; ++i)
          ASSERT_EQ(memory[i], (i % 3000 < 2000 && i % 2 == 0) || i == 1 ? 1 : 0) << i;
      },
      target_of(GetParam()));
}

/// A malformed fragment is rejected before any access.
TEST(StagedRequest, RejectsMalformedData) {
  using Spoil = void (*)(StagedRequest&);
  static constexpr Spoil spoils[] = {
      [](StagedRequest& staged) { staged.payload_bytes = UINT64_MAX; },
      [](StagedRequest& staged) { staged.payload_bytes = StagedRequest::max_payload + 1; },
      [](StagedRequest& staged) { staged.payload_bytes = 63; },
      [](StagedRequest& staged) {
        staged.header.bytes = staged.header.total = staged.header.block = 1u << 30;
      },
      [](StagedRequest& staged) { staged.header.runs = UINT32_MAX; },
      [](StagedRequest& staged) { staged.header.runs = StagedRequest::max_runs + 1; },
      [](StagedRequest& staged) { staged.header.dimensions = 255; },
      [](StagedRequest& staged) { staged.header.layout_offset = 1; },
      [](StagedRequest& staged) { staged.header.kind = wire::RequestKind::stripe_lock; },
      [](StagedRequest& staged) { staged.header.kind = wire::RequestKind::lock_release; },
      [](StagedRequest& staged) { staged.header.kind = wire::RequestKind{77}; },
      [](StagedRequest& staged) { staged.header.flags = wire::flag_separate_reply; },
      [](StagedRequest& staged) { staged.header.notify = 64; },
      [](StagedRequest& staged) { staged.header.notify_exposure = 3; },
      [](StagedRequest& staged) { staged.header.magic ^= 1; },
      // A get of more bytes than the reply can hold.
      [](StagedRequest& staged) {
        staged.header.kind = wire::RequestKind::get;
        staged.header.bytes = staged.header.total = staged.header.block = StagedRequest::max_data + 1;
        staged.payload_bytes = 0;
      }};
  with_target(
      1, test::long_ring_timeout,
      [](Rank& rank, Peer& peer, std::int64_t* there) {
        std::int64_t value = 0;
        ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, &value, at(there, 0), 8)), Status::ok);
        Ring& ring = peer.state().segments->ring();
        for (std::size_t i = 0; i <= std::size(spoils); ++i) {
          RingSlot* const slot = ring.claim(i, ::getpid());
          ASSERT_NE(slot, nullptr);
          StagedRequest& staged = ring.staged_of(*slot);
          staged.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::put);
          staged.header.sequence = 1;
          staged.header.address = at(there, 0);
          staged.header.block = staged.header.bytes = staged.header.total = staged.payload_bytes = 64;
          std::memset(staged.payload, 1, sizeof staged.payload);
          bool const spoilt = i < std::size(spoils);
          if (spoilt) spoils[i](staged);
          slot->content().staging = i % 2 == 0 ? Staging::cached : Staging::non_temporal;
          ring.post(*slot);
          while (!slot->is_complete()) rank.engine().waits.progress();
          EXPECT_EQ(slot->content().status,
                    static_cast<std::uint8_t>(spoilt ? Status::malformed : Status::ok))
              << i;
          ring.free(*slot);
          ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, &value, at(there, 0), 8)), Status::ok);
          EXPECT_EQ(value, spoilt ? 0 : 0x0101010101010101) << i;
        }
      },
      [](std::int64_t const* memory) { EXPECT_EQ(memory[8], 0); });
}

}  // namespace
}  // namespace mpixrma::engine

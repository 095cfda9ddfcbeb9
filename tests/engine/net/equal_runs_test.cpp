/// Lists of equal runs, of which requests carry the offsets alone.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/net/wire.hpp"
#include "engine/origin/message_operation.hpp"
#include "engine/target/origin.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::engine {
namespace {

using Runs = std::vector<LayoutRun>;

constexpr std::ptrdiff_t least_offset = std::numeric_limits<wire::WireOffset>::min();
constexpr std::ptrdiff_t greatest_offset = std::numeric_limits<wire::WireOffset>::max();

/// A put, and the message that carries it.
class Sent {
 public:
  explicit Sent(Runs runs, std::vector<Dimension> dims = {})
      : runs_(std::move(runs)), dims_(std::move(dims)) {
    Layout layout{0, dims_, runs_};
    for (LayoutRun const& run : runs_) layout.block += run.length;
    data.resize(layout.size());
    std::iota(reinterpret_cast<unsigned char*>(data.data()),
              reinterpret_cast<unsigned char*>(data.data() + data.size()), static_cast<unsigned char>(1));
    RmaOp put{};
    put.kind = OpKind::put;
    put.origin = data.data();
    put.origin_layout = Layout::contiguous(data.size());
    put.target = 0x10000;
    put.target_layout = layout;
    MessageOperation const operation = message_of(put);
    FragmentLimits const limits{1 << 20, runs_.size() + 1, 1};
    Fragment const fragment = fragment_at(operation.target, operation.total, 0, limits);
    Layout const described = described_by(operation, fragment);
    header = header_of(operation, fragment, described, RunForm::shortest);
    header.sequence = 1;
    payload_bytes = payload_bytes_of(operation, header);
    payload.assign(payload_bytes / sizeof(std::uint64_t) + 1, ~std::uint64_t{0});
    write_payload(reinterpret_cast<std::byte*>(payload.data()), operation, header, described);
  }

  std::span<std::byte const> header_bytes() const { return std::as_bytes(std::span(&header, 1)); }
  /// Returns the request as its receiver reads it, with the layout in `room`; nothing if it is refused.
  std::optional<wire::CheckedRequest> read(Runs& room) {
    room.resize(wire::copy_bytes_for(header_bytes(), payload_bytes) / sizeof(LayoutRun));
    wire::CheckedRequest request{};
    auto const payload_view = std::as_bytes(std::span(payload)).first(payload_bytes);
    fault = wire::check(header_bytes(), payload_view, &request, std::as_writable_bytes(std::span(room)));
    return fault == nullptr ? std::optional(request) : std::nullopt;
  }
  /// Whether the request has this operation's layout and data.
  bool equals(wire::CheckedRequest const& request) const {
    auto const same = [](auto const& a, auto const& b) {
      return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
    };
    return same(request.layout.runs, runs_) && same(request.layout.dims, dims_) && same(request.data, data);
  }

  char const* fault = nullptr;  ///< why read() refused it; nullptr: it did not
  wire::RequestHeader header{};
  std::vector<std::uint64_t> payload;
  std::size_t payload_bytes = 0;
  std::vector<std::byte> data;

 private:
  Runs runs_;
  std::vector<Dimension> dims_;
};

TEST(EqualRuns, ArriveAsTheyWere) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 2000; ++round) {
    std::size_t const length = 1 + random() % 40;
    Runs runs;
    for (std::size_t count = 2 + random() % 100; count != 0; --count)
      runs.push_back({static_cast<wire::WireOffset>(random()), length});
    std::vector<Dimension> dims;
    if (runs.size() <= wire::max_repeated_runs && random() % 2 == 0)
      dims.push_back({1 + random() % 4, static_cast<std::ptrdiff_t>(random() % 1000) - 500});
    Sent sent(runs, dims);
    ASSERT_TRUE(wire::has_equal_runs(sent.header));
    std::size_t const offsets = (runs.size() + 1) / 2 * 8;
    ASSERT_EQ(sent.payload_bytes, dims.size() * sizeof(Dimension) + offsets + sent.data.size());
    Runs room;
    auto const read = sent.read(room);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(sent.equals(*read));
  }
}

TEST(EqualRuns, AreSentAsOffsetsOnlyIfAllFit) {
  struct Case {
    Runs runs;
    bool fits;
  };
  for (auto const& [runs, fits] : {
           Case{{{0, 8}, {100, 8}}, true}, Case{{{greatest_offset, 8}, {least_offset, 8}}, true},
           Case{{{greatest_offset + 1, 8}, {0, 8}}, false}, Case{{{0, 8}, {least_offset - 1, 8}}, false},
           Case{{{0, 8}, {100, 8}, {200, 16}}, false}, Case{{{100, 8}}, false},  // one run is no shorter
       }) {
    Sent sent(runs);
    EXPECT_EQ(wire::has_equal_runs(sent.header), fits) << testing::PrintToString(runs.size());
    Runs room;
    auto const read = sent.read(room);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(sent.equals(*read));
  }
}

TEST(EqualRuns, AreBufferedWithTheirLayout) {
  Sent sent({{0, 24}, {400, 24}, {-100, 24}});
  Runs room;
  auto const read = sent.read(room);
  ASSERT_TRUE(read.has_value());
  BufferedRequest const buffered(*read, sent.payload_bytes);
  std::ranges::fill(sent.payload, 0);
  std::ranges::fill(room, LayoutRun{});
  EXPECT_TRUE(sent.equals(buffered.request()));
  EXPECT_EQ(buffered.payload_bytes(), sent.payload_bytes);
  EXPECT_GE(buffered.footprint(), 3 * sizeof(LayoutRun) + sent.data.size());
  // A copy of a copy: a buffered request may have to wait again.
  BufferedRequest const again(buffered.request(), buffered.payload_bytes());
  EXPECT_TRUE(sent.equals(again.request()));
}

TEST(EqualRuns, WithoutRoomAreRefused) {
  Sent const sent({{0, 8}, {100, 8}});
  wire::CheckedRequest request{};
  auto const payload = std::as_bytes(std::span(sent.payload)).first(sent.payload_bytes);
  EXPECT_NE(wire::check(sent.header_bytes(), payload, &request), nullptr);
  Runs room(1);
  EXPECT_NE(wire::check(sent.header_bytes(), payload, &request, std::as_writable_bytes(std::span(room))),
            nullptr);
}

TEST(EqualRuns, MalformedOnesAreRefused) {
  Sent sound({{0, 8}, {100, 8}, {300, 8}});
  Runs room;
  ASSERT_TRUE(sound.read(room).has_value());
  auto const reason = [&](auto change) {
    Sent sent = sound;
    change(sent);
    EXPECT_FALSE(sent.read(room).has_value());
    return std::string(sent.fault != nullptr ? sent.fault : "accepted");
  };
  std::string const unfit = "layout does not fit into the payload";
  std::string const unequal = "runs of unequal lengths";
  EXPECT_EQ(reason([](Sent& sent) { sent.payload_bytes = 8; }), unfit);
  EXPECT_EQ(reason([](Sent& sent) { sent.payload_bytes -= 8; }), "data does not fit the request");
  EXPECT_EQ(reason([](Sent& sent) { sent.header.runs = 0; }), unequal);
  EXPECT_EQ(reason([](Sent& sent) { sent.header.runs = 5; }), unequal);  // does not divide the block
  EXPECT_EQ(reason([](Sent& sent) { sent.header.runs = 2; }), "data does not fit the request");
  EXPECT_EQ(reason([](Sent& sent) { sent.header.runs = 12; }), unfit);
  EXPECT_EQ(reason([](Sent& sent) { sent.header.runs = UINT32_MAX; }), unequal);
  EXPECT_EQ(reason([](Sent& sent) { sent.header.block = UINT64_MAX; }), "layout overflows");
  EXPECT_EQ(reason([](Sent& sent) { sent.header.kind = wire::RequestKind::find_segment; }), unequal);
}

TEST(EqualRuns, CostTheirReceiverAsMuchAsOthers) {
  Sent const sent({{0, 8}, {100, 8}, {300, 8}, {700, 8}});
  wire::RequestHeader full = sent.header;
  full.flags = 0;
  std::size_t const full_bytes = sent.data.size() + wire::description_bytes(full);
  EXPECT_EQ(wire::cost_of(sent.header, sent.payload_bytes), wire::cost_of(full, full_bytes));
}

}  // namespace
}  // namespace mpixrma::engine

/// Messages that no legitimate peer sends: the check rejects each, and nothing is read beyond it.
#include "engine/net/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "engine/origin/tracked_operation.hpp"
#include "engine/sync/stripes.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine::wire {
namespace {

/// A valid put of 64 bytes in two rows of 32.
struct Sample {
  RequestHeader header{};
  std::vector<std::uint64_t> payload;  // aligned

  Sample() {
    header.magic = magic;
    header.version = version;
    header.kind = RequestKind::put;
    header.dimensions = 1;
    header.sequence = 1;
    header.block = 32;
    header.bytes = header.total = 64;
    header.address = 0x10000;
    payload.resize(2 + 8);
    Dimension const rows{2, 100};
    std::memcpy(payload.data(), &rows, sizeof rows);
  }

  char const* run(std::size_t header_bytes = sizeof(RequestHeader), std::ptrdiff_t payload_change = 0) {
    CheckedRequest out{};
    std::size_t const bytes = payload.size() * 8 + static_cast<std::size_t>(payload_change);
    return check({reinterpret_cast<std::byte const*>(&header), header_bytes},
                 {reinterpret_cast<std::byte const*>(payload.data()), bytes}, &out);
  }
};

TEST(WireRequest, RequestsWithoutDataAreBounded) {
  Sample sample;
  sample.header.kind = RequestKind::get;
  sample.payload.resize(2);  // the dimension only: of stride 0, so it may describe any number of bytes
  for (std::uint64_t const rows :
       {max_bytes_without_payload / 32, max_bytes_without_payload / 32 + 1, std::uint64_t{1} << 40}) {
    Dimension const dimension{rows, 0};
    std::memcpy(sample.payload.data(), &dimension, sizeof dimension);
    sample.header.bytes = sample.header.total = rows * 32;
    EXPECT_EQ(sample.run() == nullptr, rows * 32 <= max_bytes_without_payload) << rows;
  }
}

TEST(WireRequest, FetchedBytesOfAnUpdateAreBounded) {
  auto const passes = [](ReduceOp operation, bool fetch, std::uint64_t rows) {
    Sample sample;
    sample.header.kind = RequestKind::update;
    sample.header.element_type = static_cast<std::uint8_t>(ElementType::int64);
    sample.header.operation = static_cast<std::uint8_t>(operation);
    sample.header.flags = fetch ? flag_fetch : 0;
    sample.header.bytes = sample.header.total = rows * 32;
    Dimension const dimension{rows, 0};
    sample.payload.resize(2 + operand_count(operation) * rows * 4);
    std::memcpy(sample.payload.data(), &dimension, sizeof dimension);
    return sample.run() == nullptr;
  };
  constexpr std::uint64_t most = max_bytes_without_payload / 32;
  for (bool const fetch : {false, true}) {
    EXPECT_TRUE(passes(ReduceOp::increment, fetch, most));
    EXPECT_FALSE(passes(ReduceOp::increment, fetch, most + 1));
    EXPECT_FALSE(passes(ReduceOp::no_op, fetch, most + 1));
    EXPECT_TRUE(passes(ReduceOp::sum, fetch, most));
    EXPECT_EQ(passes(ReduceOp::sum, fetch, most + 1), !fetch);
    EXPECT_TRUE(passes(ReduceOp::compare_swap_eq, fetch, most));
    EXPECT_EQ(passes(ReduceOp::compare_swap_eq, fetch, most + 1), !fetch);
  }
}

TEST(WireRequest, SoundMessagePasses) { EXPECT_EQ(Sample().run(), nullptr); }

struct WrongHeader {
  char const* name;
  void (*apply)(RequestHeader&);
};

void expect_refusals(std::initializer_list<WrongHeader> wrong_headers) {
  for (WrongHeader const& wrong : wrong_headers) {
    Sample sample;
    wrong.apply(sample.header);
    // A payload that a request without bytes does not have would be refused, too.
    if (sample.header.bytes == 0) sample.payload.clear();
    EXPECT_NE(sample.run(), nullptr) << wrong.name;
  }
}

TEST(WireRequest, EachWrongFieldIsRefused) {
  expect_refusals({
      {"magic", [](RequestHeader& h) { h.magic = 0; }},
      {"version", [](RequestHeader& h) { h.version = 99; }},
      {"kind", [](RequestHeader& h) { h.kind = RequestKind{0}; }},
      {"kind beyond", [](RequestHeader& h) { h.kind = RequestKind{200}; }},
      {"sequence", [](RequestHeader& h) { h.sequence = 0; }},
      {"after itself", [](RequestHeader& h) { h.after = h.sequence; }},
      {"dimensions", [](RequestHeader& h) { h.dimensions = 17; }},
      {"many runs", [](RequestHeader& h) { h.runs = 0xffffffff; }},
      {"exposure of a query about nothing",
       [](RequestHeader& h) {
         h.kind = RequestKind::key_dropped;
         h.bytes = h.total = h.block = h.dimensions = 0;
         h.exposure = 1;
       }},
      {"layout offset", [](RequestHeader& h) { h.layout_offset = 1; }},
      {"a query about bytes", [](RequestHeader& h) { h.kind = RequestKind::find_segment; }},
      {"huge layout offset", [](RequestHeader& h) { h.layout_offset = ~std::uint64_t{0}; }},
      {"bytes", [](RequestHeader& h) { h.bytes = 63; }},
      {"huge bytes", [](RequestHeader& h) { h.bytes = ~std::uint64_t{0}; }},
      {"block", [](RequestHeader& h) { h.block = ~std::uint64_t{0}; }},
      {"operation offset", [](RequestHeader& h) { h.operation_offset = 1; }},
      {"total", [](RequestHeader& h) { h.total = 10; }},
  });
}

void turn_into_update(RequestHeader& header, ElementType type, ReduceOp operation) {
  header.kind = RequestKind::update;
  header.element_type = static_cast<std::uint8_t>(type);
  header.operation = static_cast<std::uint8_t>(operation);
}

TEST(WireRequest, EachWrongUpdateIsRefused) {
  expect_refusals({
      {"no type",
       [](RequestHeader& h) {
         h.kind = RequestKind::update;
         h.operation = static_cast<std::uint8_t>(ReduceOp::sum);
       }},
      {"undefined operation",
       [](RequestHeader& h) { turn_into_update(h, ElementType::float64, ReduceOp::bxor); }},
      {"unknown operation",
       [](RequestHeader& h) { turn_into_update(h, ElementType::int64, ReduceOp::count_); }},
      {"one operand of two",
       [](RequestHeader& h) { turn_into_update(h, ElementType::int64, ReduceOp::compare_swap_eq); }},
      {"an operand without need",
       [](RequestHeader& h) { turn_into_update(h, ElementType::int64, ReduceOp::increment); }},
      {"scale of another operation than the sum",
       [](RequestHeader& h) {
         turn_into_update(h, ElementType::int64, ReduceOp::prod);
         h.flags = flag_scale;
       }},
  });
}

TEST(WireRequest, RequestsWithoutDataHaveNoCounter) {
  for (RequestKind const kind : {RequestKind::find_segment, RequestKind::key_dropped}) {
    Sample sample;
    sample.payload.clear();
    sample.header.kind = kind;
    sample.header.dimensions = 0;
    sample.header.block = sample.header.bytes = sample.header.total = 0;
    EXPECT_EQ(sample.run(), nullptr);
    sample.header.notify = 0x2000;
    EXPECT_NE(sample.run(), nullptr);
    sample.header.notify = 0;
    sample.header.notify_exposure = 1;
    EXPECT_NE(sample.run(), nullptr);
    sample.header.notify_exposure = 0;
    sample.header.exposure = 1;
    EXPECT_EQ(sample.run() == nullptr, kind == RequestKind::find_segment);
  }
}

TEST(WireRequest, LockRequestsNameOnlyLockAndOwner) {
  struct Change {
    char const* name;
    void (*apply)(RequestHeader&);
  };
  Change const changes[] = {
      {"an operation beyond",
       [](RequestHeader& h) { h.operation = static_cast<std::uint8_t>(LockRequestKind::count_); }},
      {"a number beyond", [](RequestHeader& h) { h.address = std::uint64_t{1} << 32; }},
      {"an owner beyond", [](RequestHeader& h) { h.owner = max_lock_owners; }},
      {"a flag", [](RequestHeader& h) { h.flags = flag_no_wait; }},
      {"a block", [](RequestHeader& h) { h.block = 8; }},
      {"a range", [](RequestHeader& h) { h.total = 8; }},
      {"a layout offset", [](RequestHeader& h) { h.layout_offset = 8; }},
      {"bytes", [](RequestHeader& h) { h.bytes = h.total = h.block = 8; }},
      {"a dimension", [](RequestHeader& h) { h.dimensions = 1; }},
      {"a counter", [](RequestHeader& h) { h.notify = 0x2000; }},
      {"no place in the stream", [](RequestHeader& h) { h.sequence = 0; }},
  };
  for (RequestKind const kind : {RequestKind::lock_request, RequestKind::lock_release}) {
    auto const sample = [&] {
      Sample made;
      made.payload.clear();
      made.header.kind = kind;
      made.header.dimensions = 0;
      made.header.block = made.header.bytes = made.header.total = 0;
      made.header.address = UINT32_MAX;
      made.header.owner = max_lock_owners - 1;
      made.header.operation = 1;
      made.header.operation_id = 5;
      return made;
    };
    EXPECT_EQ(sample().run(), nullptr);
    for (Change const& change : changes) {
      Sample wrong = sample();
      change.apply(wrong.header);
      EXPECT_NE(wrong.run(), nullptr) << change.name;
    }
    Sample nameless = sample();
    nameless.header.operation_id = 0;
    EXPECT_EQ(nameless.run() == nullptr, kind == RequestKind::lock_release);
  }
}

TEST(WireRequest, ShortAndLongMessagesAreRefused) {
  EXPECT_NE(Sample().run(sizeof(RequestHeader) - 1), nullptr);
  EXPECT_NE(Sample().run(0), nullptr);
  EXPECT_NE(Sample().run(sizeof(RequestHeader), -1), nullptr);
  EXPECT_NE(Sample().run(sizeof(RequestHeader), -80), nullptr);
}

TEST(WireRequest, LayoutsThatOverflowAreRefused) {
  Sample sample;
  Dimension const huge{~std::size_t{0} / 2, PTRDIFF_MAX / 2};
  std::memcpy(sample.payload.data(), &huge, sizeof huge);
  EXPECT_NE(sample.run(), nullptr);
  Dimension const far{2, PTRDIFF_MIN};
  std::memcpy(sample.payload.data(), &far, sizeof far);
  EXPECT_NE(sample.run(), nullptr);
}

/// For arbitrary bytes, the check neither crashes nor accepts a range outside of the layout.
TEST(WireRequest, RandomCorruptionIsSurvived) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 100000; ++round) {
    Sample sample;
    auto* const bytes = reinterpret_cast<unsigned char*>(&sample.header);
    for (int flips = 1 + static_cast<int>(random() % 4); flips != 0; --flips) {
      bytes[random() % sizeof(RequestHeader)] = static_cast<unsigned char>(random());
    }
    CheckedRequest out{};
    char const* const fault =
        check({reinterpret_cast<std::byte const*>(&sample.header), sizeof sample.header},
              {reinterpret_cast<std::byte const*>(sample.payload.data()), sample.payload.size() * 8}, &out);
    if (fault == nullptr) {
      ASSERT_LE(out.header.layout_offset + out.header.bytes, out.layout.size());
      ASSERT_LE(out.data.size(), sample.payload.size() * 8);
    }
  }
}

TEST(WireReply, WrongRepliesAreRefused) {
  ReplyHeader header{};
  header.magic = magic;
  header.version = version;
  header.kind = ReplyKind::executed;
  ReplyHeader out{};
  auto const run = [&](std::size_t payload) {
    std::vector<std::byte> const data(payload);
    return check({reinterpret_cast<std::byte const*>(&header), sizeof header}, data, &out);
  };
  EXPECT_EQ(run(0), nullptr);
  EXPECT_NE(run(3), nullptr);
  header.kind = ReplyKind{77};
  EXPECT_NE(run(0), nullptr);
  header.kind = ReplyKind::failed;
  header.status = 99;
  EXPECT_NE(run(0), nullptr);
}

TEST(WireReply, FailurePayloadNamesOperationIfWellFormed) {
  auto header = begin_header<RequestHeader>(RequestKind::update);
  header.flags = flag_fetch;
  header.address = 0x1000;
  header.total = 24;
  FailureReply named = failure_reply(header, 0x800);
  auto const read = [&](std::size_t bytes) {
    return late_error(Status::overrun, std::as_bytes(std::span(&named, 1)).first(bytes));
  };
  LateError const error = read(sizeof named);
  EXPECT_EQ(error.status, Status::overrun);
  EXPECT_EQ(error.kind, ReportedOperation::read_modify_write);
  EXPECT_EQ(error.memory.address, 0x800);
  EXPECT_EQ(error.memory.bytes, 24);
  EXPECT_TRUE(error.memory.contiguous);
  EXPECT_EQ(read(0).kind, ReportedOperation::unknown);
  EXPECT_EQ(read(sizeof named - 1).kind, ReportedOperation::unknown);
  named.kind = 77;
  EXPECT_EQ(read(sizeof named).kind, ReportedOperation::unknown);
}

TEST(OperationIds, AreNotReusedAndStaleIdsAreRejected) {
  TrackedOperationPool pool;
  TrackedOperation& first = pool.take();
  std::uint64_t const operation_id = first.operation_id;
  EXPECT_EQ(pool.find(operation_id), &first);
  pool.release(first);
  EXPECT_EQ(pool.find(operation_id), nullptr);
  TrackedOperation& second = pool.take();
  EXPECT_NE(second.operation_id, operation_id);
  EXPECT_EQ(pool.find(operation_id), nullptr);
  EXPECT_EQ(pool.find(second.operation_id), &second);
  EXPECT_EQ(pool.find(~std::uint64_t{0}), nullptr);
  EXPECT_EQ(pool.find(0), nullptr);
}

TEST(Stripes, CoverTheRangeWithMinimalNumber) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 2000; ++round) {
    RemoteAddress const begin = random() >> 20;
    RemoteAddress const end = begin + random() % (stripe_count << stripe_shift);
    StripeSet const set = stripes_of(begin, end);
    for (RemoteAddress at = begin; at < end; at += 4096) {
      ASSERT_NE(set & stripes_of(at, at + 1), 0u);
    }
    ASSERT_LE(static_cast<RemoteAddress>(__builtin_popcountll(set)), (end - begin) / (1 << stripe_shift) + 2);
  }
  EXPECT_EQ(stripes_of(100, 100), 0u);
}

}  // namespace
}  // namespace mpixrma::engine::wire

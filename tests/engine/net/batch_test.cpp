/// Batches: written records are read back, and nothing is read beyond the received bytes.
#include "engine/net/batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/random_layout.hpp"

namespace mpixrma::engine::wire {
namespace {

constexpr std::uint64_t session = 0x1234567890abcdef;

/// Words on the heap, where the address sanitizer detects reads beyond their end.
class Room {
 public:
  explicit Room(std::size_t bytes) : words_(std::make_unique<std::uint64_t[]>(bytes / 8)), bytes_(bytes) {}
  std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(words_.get()), bytes_}; }
  std::uint64_t& word(std::size_t index) const { return words_[index]; }
  Room copy(std::size_t bytes) const {
    Room made(bytes);
    std::memcpy(made.words_.get(), words_.get(), bytes);
    return made;
  }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t bytes_;
};

template <typename Header>
struct Record {
  Header header;
  std::vector<std::byte> payload;
};

/// Headers that differ from each other in few places, like those of one origin, or everywhere.
template <typename Header>
std::vector<Record<Header>> random_records(std::mt19937_64& random, std::size_t count) {
  std::vector<Record<Header>> records;
  Header header{};
  header.magic = magic;
  header.version = version;
  for (std::size_t i = 0; i < count; ++i) {
    for (auto changes = random() % 8 == 0 ? 64 : random() % 4; changes != 0; --changes) {
      std::uint64_t const word = random();
      std::size_t const at = random() % (sizeof header / sizeof word);
      std::memcpy(reinterpret_cast<std::byte*>(&header) + at * sizeof word, &word, sizeof word);
    }
    header.session = session;
    Record<Header> record{header, std::vector<std::byte>(random() % 3 == 0 ? random() % 40 : 8)};
    for (std::byte& value : record.payload) value = static_cast<std::byte>(random());
    records.push_back(std::move(record));
  }
  return records;
}

template <typename Header>
std::size_t write(std::vector<Record<Header>> const& records, std::span<std::byte> room) {
  BatchWriter<Header> writer(session, room);
  for (Record<Header> const& record : records) {
    std::byte* const out = writer.append(record.header, record.payload.size());
    if (out == nullptr) break;
    std::copy(record.payload.begin(), record.payload.end(), out);
  }
  return writer.bytes();
}

template <typename Header>
struct Read {
  std::vector<Record<Header>> records;
  bool malformed;
};

template <typename Header>
Read<Header> read(std::span<std::byte const> bytes) {
  BatchReader<Header> reader(session, bytes);
  Read<Header> result{};
  Header header;
  std::span<std::byte const> payload;
  while (reader.next(&header, &payload)) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 8, 0u);
    EXPECT_GE(payload.data(), bytes.data());
    EXPECT_LE(payload.data() + payload.size(), bytes.data() + bytes.size());
    EXPECT_EQ(header.session, session) << "only the message says whose records are";
    result.records.push_back({header, {payload.begin(), payload.end()}});
  }
  result.malformed = reader.is_malformed();
  return result;
}

template <typename Header>
void expect_equal(Record<Header> const& read, Record<Header> const& written) {
  EXPECT_EQ(std::memcmp(&read.header, &written.header, sizeof(Header)), 0);
  EXPECT_EQ(read.payload, written.payload);
}

template <typename Header>
class Batch : public ::testing::Test {};
using Headers = ::testing::Types<RequestHeader, ReplyHeader>;
TYPED_TEST_SUITE(Batch, Headers);

TYPED_TEST(Batch, ReadsWrittenRecords) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 200; ++round) {
    auto const written = random_records<TypeParam>(random, 1 + random() % 50);
    Room const room(65536);
    std::size_t const bytes = write(written, room.bytes());
    EXPECT_EQ(bytes % 8, 0u);
    auto const result = read<TypeParam>(room.copy(bytes).bytes());
    EXPECT_FALSE(result.malformed);
    ASSERT_EQ(result.records.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) expect_equal(result.records[i], written[i]);
  }
}

TYPED_TEST(Batch, DetectsTruncationAfterReadingCompleteRecords) {
  std::mt19937_64 random(test::seed());
  auto const written = random_records<TypeParam>(random, 12);
  Room const room(65536);
  std::size_t const bytes = write(written, room.bytes());
  std::size_t whole = 0;  // messages of complete records only
  for (std::size_t cut = 0; cut < bytes; cut += 8) {
    auto const result = read<TypeParam>(room.copy(cut).bytes());
    ASSERT_LT(result.records.size(), written.size());
    for (std::size_t i = 0; i < result.records.size(); ++i) expect_equal(result.records[i], written[i]);
    whole += result.malformed ? 0 : 1;
  }
  EXPECT_EQ(whole, written.size());
}

TYPED_TEST(Batch, RefusesInvalidLengthsAndWords) {
  auto const refused = [](std::uint64_t tag) {
    Room const room(4096);
    room.word(0) = tag;
    auto const result = read<TypeParam>(room.bytes());
    return result.malformed && result.records.empty();
  };
  constexpr std::size_t words = sizeof(TypeParam) / 8;
  EXPECT_FALSE(refused((std::uint64_t{1} << words) - 1));
  EXPECT_TRUE(refused(std::uint64_t{1} << words));
  EXPECT_TRUE(refused(std::uint64_t{1} << 31));
  EXPECT_FALSE(refused(std::uint64_t{4096 - 8} << 32));
  for (std::uint64_t const length : {4096u - 7, 4096u, 0x7fffffffu, 0xfffffff8u, 0xffffffffu})
    EXPECT_TRUE(refused(length << 32)) << length;
}

TYPED_TEST(Batch, RandomCorruptionIsSurvived) {
  std::mt19937_64 random(test::seed());
  auto const written = random_records<TypeParam>(random, 30);
  Room const room(65536);
  std::size_t const bytes = write(written, room.bytes());
  for (int round = 0; round < 20000; ++round) {
    Room const damaged = room.copy(bytes / 8 * (1 + random() % 8) / 8 * 8);
    if (damaged.bytes().empty()) continue;
    for (auto changes = 1 + random() % 4; changes != 0; --changes)
      damaged.bytes()[random() % damaged.bytes().size()] = static_cast<std::byte>(random());
    (void)read<TypeParam>(damaged.bytes());
  }
}

TYPED_TEST(Batch, RejectedRecordDoesNotChangeMessage) {
  Room const room(512);
  std::ranges::fill(room.bytes(), std::byte{0xff});
  BatchWriter<TypeParam> writer(session, room.bytes());
  TypeParam header{};
  header.magic = magic;
  header.version = version;
  header.session = session;
  header.operation_id = 7;
  ASSERT_NE(writer.append(header, 100), nullptr);
  std::size_t const before = writer.bytes();
  EXPECT_EQ(writer.append(header, 500), nullptr);
  EXPECT_EQ(writer.bytes(), before);
  header.operation_id = 8;
  ASSERT_NE(writer.append(header, 3), nullptr);
  auto const result = read<TypeParam>(room.copy(writer.bytes()).bytes());
  EXPECT_FALSE(result.malformed);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].header.operation_id, 7u);
  EXPECT_EQ(result.records[1].header.operation_id, 8u);
  EXPECT_EQ(result.records[1].payload, std::vector<std::byte>(3)) << "nothing of the room is left in it";
}

TEST(BatchOfRequests, SmallPutsHaveLittleOverhead) {
  Room const room(8192);
  BatchWriter<RequestHeader> writer(session, room.bytes());
  auto header = begin_header<RequestHeader>(RequestKind::put);
  header.session = session;
  header.block = header.bytes = header.total = 8;
  std::size_t count = 0;
  for (;; ++count) {
    header.sequence = 1000 + count;
    header.address = 0x7f0000000000 + 8 * count;
    if (writer.append(header, 8) == nullptr) break;
  }
  EXPECT_GE(count, 8192 / 16 - 16) << "a difference of addresses and the data";
}

/// Requests of one kind with 1 to 40 bytes each; `chained`: each is ordered after the one before it.
std::vector<Record<RequestHeader>> alike_requests(std::mt19937_64& random, RequestKind kind, bool chained) {
  std::vector<Record<RequestHeader>> records;
  auto header = begin_header<RequestHeader>(kind);
  header.session = session;
  header.block = header.bytes = header.total = 1 + random() % 40;
  header.sequence = 1 + random() % 1000;
  header.after = header.sequence - 1;
  for (std::size_t i = 0; i < 20; ++i) {
    header.address = random();
    if (kind == RequestKind::get) header.operation_id = 1 + random() % 1000;
    Record<RequestHeader> record{header, std::vector<std::byte>(kind == RequestKind::put ? header.bytes : 0)};
    for (std::byte& value : record.payload) value = static_cast<std::byte>(random());
    records.push_back(std::move(record));
    if (chained) header.after = header.sequence;
    ++header.sequence;
  }
  return records;
}

TEST(RequestRuns, CombinesRequestsThatDifferInAddressAndOperationIdOnly) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 200; ++round) {
    RequestKind const kind = round % 2 == 0 ? RequestKind::put : RequestKind::get;
    bool const chained = round % 4 < 2;
    auto const written = alike_requests(random, kind, chained);
    Room const room(65536);
    Room const sent = room.copy(write(written, room.bytes()));
    BatchReader<RequestHeader> reader(session, sent.bytes());
    RequestHeader header;
    std::span<std::byte const> payload;
    RequestRun run;
    ASSERT_TRUE(reader.next(&header, &payload, &run));
    EXPECT_EQ(run.size(), written.size());
    EXPECT_EQ(run.is_chained(), chained);
    for (auto const& expected : written) {
      ASSERT_TRUE(run.next(&header, &payload));
      expect_equal({header, {payload.begin(), payload.end()}}, expected);
    }
    EXPECT_FALSE(run.next(&header, &payload));
    EXPECT_FALSE(reader.next(&header, &payload, &run));
    EXPECT_FALSE(reader.is_malformed());
  }
}

TEST(RequestRuns, RequestThatDiffersElsewhereStartsNewRecord) {
  std::mt19937_64 random(test::seed());
  auto const changes = std::to_array<void (*)(RequestHeader&)>(
      {[](RequestHeader& header) { header.context = 7; }, [](RequestHeader& header) { header.flags = 64; },
       [](RequestHeader& header) { ++header.sequence; }, [](RequestHeader& header) { header.exposure = 9; },
       [](RequestHeader& header) { header.operation_id = 5; },
       [](RequestHeader& header) { header.notify = 8; }, [](RequestHeader& header) { header.after = 0; },
       [](RequestHeader& header) { ++header.total; }});
  for (auto const change : changes) {
    auto written = alike_requests(random, RequestKind::put, true);
    change(written[10].header);
    Room const room(65536);
    auto const result = read<RequestHeader>(room.copy(write(written, room.bytes())).bytes());
    EXPECT_FALSE(result.malformed);
    ASSERT_EQ(result.records.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) expect_equal(result.records[i], written[i]);
  }
}

/// Returns whether the reader refuses a run of two puts of 8 bytes after `change` has been made.
template <typename Change>
bool is_refused(Change change) {
  Room const room(4096);
  BatchWriter<RequestHeader> writer(session, room.bytes());
  auto header = begin_header<RequestHeader>(RequestKind::put);
  header.session = session;
  header.block = header.bytes = header.total = 8;
  header.sequence = 5;
  EXPECT_NE(writer.append(header, 8), nullptr);
  std::size_t const first = writer.bytes();
  ++header.sequence;
  EXPECT_NE(writer.append(header, 8), nullptr);
  EXPECT_EQ(writer.bytes() - first, 16u);
  change(room);
  auto const result = read<RequestHeader>(room.copy(writer.bytes()).bytes());
  EXPECT_EQ(result.malformed, result.records.empty());
  return result.malformed;
}

TEST(RequestRuns, MalformedRunsAreRefused) {
  EXPECT_FALSE(is_refused([](Room const&) {}));
  EXPECT_FALSE(is_refused([](Room const& room) { room.word(0) ^= chained_bit; }));
  EXPECT_TRUE(is_refused([](Room const& room) { room.word(0) ^= run_bit | chained_bit; })) << "no run";
  EXPECT_TRUE(is_refused([](Room const& room) { room.word(0) -= std::uint64_t{1} << 32; })) << "cut entry";
  EXPECT_TRUE(is_refused([](Room const& room) { room.word(0) -= std::uint64_t{8} << 32; })) << "cut entry";
  EXPECT_TRUE(is_refused([](Room const& room) { room.word(0) -= std::uint64_t{16} << 32; })) << "no entry";
  // The words of the header, in the order of its fields, follow the first word.
  constexpr std::size_t kind_word = 1;
  EXPECT_TRUE(is_refused([](Room const& room) {
    auto const changed = std::to_array<std::uint64_t>({UINT64_MAX, UINT64_MAX / 2, 0, 9});
    for (std::size_t i = 2; i < 6; ++i) room.word(i) = changed[i - 2];
  })) << "bytes, block and total differ";
  EXPECT_TRUE(is_refused([](Room const& room) { room.word(kind_word) = UINT64_MAX; })) << "unknown kind";
}

TEST(BatchHeaders, EachWrongFieldIsRefused) {
  BatchHeader const sound{magic, version, 0, 0, session};
  auto const refused = [](BatchHeader const& header, std::size_t bytes = sizeof(BatchHeader)) {
    BatchHeader out{};
    std::span<std::byte const> const given(reinterpret_cast<std::byte const*>(&header), bytes);
    EXPECT_EQ(batch_session_of(given) == 0, check(given, &out) != nullptr);
    return check(given, &out) != nullptr;
  };
  EXPECT_FALSE(refused(sound));
  BatchHeader wrong = sound;
  wrong.magic = 0;
  EXPECT_TRUE(refused(wrong));
  wrong = sound;
  wrong.version = version - 1;
  EXPECT_TRUE(refused(wrong));
  wrong = sound;
  wrong.kind = 1;
  EXPECT_TRUE(refused(wrong));
  EXPECT_TRUE(refused(sound, sizeof sound - 1));
  EXPECT_TRUE(refused(sound, 0));
}

}  // namespace
}  // namespace mpixrma::engine::wire

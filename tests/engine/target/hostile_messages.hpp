/// Random messages to a process, many of which no legitimate peer would send; see hostile_test.cpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "engine/net/batch.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/requested_memory.hpp"
#include "tests/support/imposture.hpp"

namespace mpixrma::test {

using namespace engine;

/// Messages for a memory of `target_bytes` at `target`.
class MessageGenerator {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t target_bytes = 16 * page;  ///< memory that writing requests may address

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
    constexpr unsigned excluded = wire::flag_scale | wire::flag_equal_runs;
    header.flags = static_cast<std::uint16_t>(random_()) & static_cast<std::uint16_t>(~excluded);
    header.context = static_cast<std::uint32_t>(random_());
    header.operation_id = random_below(100);
    header.address = any_address();
    std::vector<std::byte> description;
    std::size_t data = 0;
    if (kind != wire::RequestKind::find_segment && kind != wire::RequestKind::key_dropped) {
      header.block = 8 * (1 + random_below(16));
      header.bytes = header.block;
      header.element_type = static_cast<std::uint8_t>(1 + random_below(10));
      description = describe_rows_or_runs(header);
      header.total = header.bytes;
      unsigned copies = kind == wire::RequestKind::put ? 1 : 0;
      if (kind == wire::RequestKind::update) {
        header.operation =
            static_cast<std::uint8_t>(random_below(static_cast<unsigned>(ReduceOp::count_) + 2));
        copies = operand_count(static_cast<ReduceOp>(header.operation));
      }
      data = header.bytes * copies;
    }
    if (random_below(30) == 0)
      header.sequence = random_below(2) == 0 ? random_() : sequence_ + random_below(100000);
    if (random_below(30) == 0) header.after = random_() % std::max<std::uint64_t>(header.sequence, 1);
    if (header.sequence == sequence_) ++sequence_;
    Text text{bytes_of(header), std::move(description)};
    std::size_t const described = text.payload.size();
    text.payload.resize(described + data);
    fill(text.payload.data() + described, data);
    return text;
  }

  /// Turns the header's block into rows or equal runs, or leaves it contiguous. Returns the description.
  std::vector<std::byte> describe_rows_or_runs(wire::RequestHeader& header) {
    switch (random_below(3)) {
      case 0: {
        Dimension const rows{1 + random_below(8), 8 * static_cast<std::ptrdiff_t>(random_below(400)) - 1600};
        header.dimensions = 1;
        header.bytes *= rows.count;
        return bytes_of(rows);
      }
      case 1: {
        header.runs = static_cast<std::uint32_t>(2 * (1 + random_below(8)));
        header.bytes = header.block *= header.runs;
        header.flags |= wire::flag_equal_runs;
        std::vector<std::byte> offsets;
        for (std::uint32_t i = 0; i < header.runs; ++i) {
          auto const offset = 8 * static_cast<wire::WireOffset>(random_below(400)) - 1600;
          std::ranges::copy(bytes_of(offset), std::back_inserter(offsets));
        }
        return offsets;
      }
      default: return {};
    }
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

  /// Whether the message respects the exclusions described at the head of hostile_test.cpp.
  bool is_harmless(Text const& text) const {
    std::vector<std::uint64_t> aligned(text.payload.size() / 8 + 1);
    if (!text.payload.empty()) std::memcpy(aligned.data(), text.payload.data(), text.payload.size());
    wire::CheckedRequest request{};
    auto const* const data = reinterpret_cast<std::byte const*>(aligned.data());
    std::vector<LayoutRun> room(wire::copy_bytes_for(text.header, text.payload.size()) / sizeof(LayoutRun));
    if (wire::check(text.header, {data, text.payload.size()}, &request,
                    std::as_writable_bytes(std::span(room))) != nullptr)
      return true;
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

}  // namespace mpixrma::test

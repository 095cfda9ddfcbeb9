/// Batches: several small messages of a stream that are sent as one message, either requests or replies.
///
/// A batch is a BatchHeader with a payload of consecutive records. A record consists of a word with the
/// payload length and a bit for each 8-byte word of the header that differs from the expected header, these
/// words in ascending order, and the payload, padded to a multiple of 8 bytes. The expected header equals
/// that of the previous record, with the next position of the stream for a request; before the first record
/// it contains only magic, version and session. A record of requests may be a run (request_run.hpp), whose
/// header counts as that of its first request at the position of its last one.
///
/// The content of a record is validated like a single message.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/net/request_run.hpp"
#include "engine/net/wire.hpp"

namespace mpixrma::engine::wire {

struct BatchHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;  ///< 0
  std::uint8_t reserved;
  std::uint64_t session;  ///< as in the headers of the records
};
static_assert(sizeof(BatchHeader) == 16);

/// As check() for a single message: returns nullptr and fills `out` if the header is valid.
char const* check(std::span<std::byte const> header, BatchHeader* out) noexcept;

/// Returns the session that the message claims, or 0 if it is not a batch of this version.
std::uint64_t batch_session_of(std::span<std::byte const> header) noexcept;

/// Whether a request may be part of a batch. All others are messages of their own.
constexpr bool may_be_in_batch(RequestHeader const& header) noexcept {
  return moves_data(header) || locks_in_stream(header) || header.kind == RequestKind::lock_release;
}

/// Returns the number of target bytes that a request makes its receiver access or send beyond the data that
/// it carries. The sum over the requests of a message is at most max_bytes_without_payload.
std::uint64_t bytes_without_payload(RequestHeader const& header) noexcept;

/// Computes the expected header of the next record, equally on both sides.
template <typename Header>
class HeaderSequence {
 public:
  static constexpr std::size_t words = sizeof(Header) / sizeof(std::uint64_t);
  static_assert(sizeof(Header) % sizeof(std::uint64_t) == 0 && words <= 30);
  using Words = std::array<std::uint64_t, words>;

  explicit HeaderSequence(std::uint64_t session = 0) noexcept {
    header_.magic = magic;
    header_.version = version;
    header_.session = session;
  }

  /// Returns the expected next header.
  Words expected() const noexcept {
    Header next = header_;
    if constexpr (requires { next.sequence; }) ++next.sequence;
    return std::bit_cast<Words>(next);
  }
  void take(Header const& header) noexcept { header_ = header; }
  /// Takes the next request of a run.
  void advance(bool chained) noexcept requires std::is_same_v<Header, RequestHeader> {
    if (chained) header_.after = header_.sequence;
    ++header_.sequence;
  }
  Header const& last() const noexcept { return header_; }

 private:
  Header header_{};
};

/// Bits of a record's first word beside those of the header's words.
inline constexpr std::uint64_t run_bit = std::uint64_t{1} << 31;
inline constexpr std::uint64_t chained_bit = std::uint64_t{1} << 30;

/// Writes records into the caller's memory.
template <typename Header>
class BatchWriter {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Maximum size of a record without its payload and padding.
  static constexpr std::size_t max_overhead = sizeof(std::uint64_t) + sizeof(Header);

  BatchWriter() = default;
  /// `room` is aligned to 8 bytes.
  BatchWriter(std::uint64_t session, std::span<std::byte> room) noexcept : sequence_(session), room_(room) {}

  /// Appends a record, or extends the last one to a run if the request permits it. Returns the location for
  /// the `payload_bytes` bytes, or nullptr if there is no room. The session in the header is that of the
  /// message.
  std::byte* append(Header const& header, std::size_t payload_bytes) noexcept {
    if constexpr (has_runs) {
      if (payload_bytes == shape_.data_bytes() && continues_run(header)) {
        bool const chained = header.after == sequence_.last().sequence;
        if (std::byte* const at = extend(header.address, header.operation_id, chained)) return at;
      }
    }
    auto const given = std::bit_cast<typename Sequence::Words>(header);
    auto const expected = sequence_.expected();
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < Sequence::words; ++i)
      differing |= std::uint64_t{given[i] != expected[i] ? 1u : 0u} << i;
    std::size_t const head = sizeof differing * (1 + static_cast<std::size_t>(std::popcount(differing)));
    if (room_.size() - bytes_ < head + padded(payload_bytes)) return nullptr;
    std::byte* at = room_.data() + bytes_;
    if constexpr (has_runs) begin_run(header, payload_bytes);
    put(&at, differing | std::uint64_t{payload_bytes} << 32);
    for (std::uint64_t rest = differing; rest != 0; rest &= rest - 1)
      put(&at, given[static_cast<std::size_t>(std::countr_zero(rest))]);
    if (payload_bytes % sizeof(std::uint64_t) != 0)
      std::memset(at + padded(payload_bytes) - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    bytes_ += head + padded(payload_bytes);
    sequence_.take(header);
    return at;
  }

  /// Appends a request that differs from the last one in position, address, operation id and data alone, so
  /// that the last record becomes, or stays, a run. `chained`: the request is executed after the last one;
  /// else after the same position as the last one. Returns the location for the request's data, or nullptr if
  /// there is no room, or if the run differs in `chained`.
  std::byte* extend(RemoteAddress address, std::uint64_t operation_id,
                    bool chained) noexcept requires std::is_same_v<Header, RequestHeader> {
    std::size_t const entry = shape_.entry_bytes();
    if (room_.size() - bytes_ < entry) return nullptr;
    std::uint64_t tag = 0;
    std::memcpy(&tag, room_.data() + record_, sizeof tag);
    std::uint64_t const kind = run_bit | (chained ? chained_bit : 0);
    if ((tag & run_bit) == 0) {
      // The length of a run includes the padding of the first data.
      tag += kind + (std::uint64_t{padded(shape_.data_bytes()) - shape_.data_bytes()} << 32);
    } else if ((tag & (run_bit | chained_bit)) != kind) {
      return nullptr;
    }
    tag += std::uint64_t{entry} << 32;
    std::memcpy(room_.data() + record_, &tag, sizeof tag);
    std::byte* at = room_.data() + bytes_;
    put(&at, address - address_);
    if (shape_.has_operation_ids()) put(&at, operation_id);
    if (shape_.data_bytes() % sizeof(std::uint64_t) != 0)
      std::memset(room_.data() + bytes_ + entry - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    bytes_ += entry;
    address_ = address;
    sequence_.advance(chained);
    return at;
  }
  /// Whether extend() may follow the last request.
  bool may_extend() const noexcept { return may_run_; }
  /// The header of the last request; in a run, except for the address and the operation id.
  Header const& last() const noexcept { return sequence_.last(); }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr bool has_runs = std::is_same_v<Header, RequestHeader>;

  static void put(std::byte** at, std::uint64_t word) noexcept {
    std::memcpy(*at, &word, sizeof word);
    *at += sizeof word;
  }

  /// The record that begins here may become a run.
  void begin_run(Header const& header, std::size_t payload_bytes) noexcept {
    may_run_ = may_run(header) && carries(header, payload_bytes);
    record_ = bytes_;
    address_ = header.address;
    shape_ = {header, payload_bytes};
  }

  bool continues_run(Header const& header) const noexcept {
    if (!may_run_) return false;
    Header const& last = sequence_.last();
    if (header.after != last.after && header.after != last.sequence) return false;
    Header same = header;
    same.sequence = last.sequence;
    same.after = last.after;
    same.address = last.address;
    if (shape_.has_operation_ids() && header.operation_id != 0) same.operation_id = last.operation_id;
    return header.sequence != 0 && header.sequence == last.sequence + 1 &&
           std::memcmp(&same, &last, sizeof same) == 0;
  }

  Sequence sequence_;
  std::span<std::byte> room_;
  std::size_t bytes_ = 0;
  bool may_run_ = false;
  std::size_t record_ = 0;     ///< the last record begins here
  RemoteAddress address_ = 0;  ///< of the last request
  RunShape shape_;
};

/// Reads records within the bounds of the message.
template <typename Header>
class BatchReader {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Payloads are aligned as `records` is, at most to 8 bytes.
  BatchReader(std::uint64_t session, std::span<std::byte const> records) noexcept
      : session_(session), sequence_(session), rest_(records) {}

  /// Returns the next record: its payload, and its header, of which only the session is guaranteed to be
  /// right. Returns false at the end, and for a malformed record.
  bool next(Header* header, std::span<std::byte const>* payload) noexcept {
    if constexpr (has_runs) {
      if (run_.next(header, payload)) return true;
      return next(header, payload, &run_) && (run_.size() == 0 || run_.next(header, payload));
    } else {
      std::uint64_t tag = 0;
      return next_record(header, payload, &tag);
    }
  }

  /// The same, but returns a run as a whole: `*run` is empty for a single request. `*header` is in both cases
  /// that of the (first) request.
  bool next(Header* header, std::span<std::byte const>* payload,
            RequestRun* run) noexcept requires std::is_same_v<Header, RequestHeader> {
    *run = RequestRun();
    std::uint64_t tag = 0;
    if (!next_record(header, payload, &tag)) return false;
    bool const chained = (tag & chained_bit) != 0;
    if ((tag & run_bit) == 0) return !chained || fail();
    if (!run->read(*header, *payload, chained)) return fail();
    for (std::size_t i = 1; i < run->size(); ++i) sequence_.advance(chained);
    return true;
  }

  /// Whether reading ended before the end of the message.
  bool is_malformed() const noexcept { return malformed_; }

 private:
  static constexpr bool has_runs = std::is_same_v<Header, RequestHeader>;

  bool fail() noexcept {
    malformed_ = true;
    rest_ = {};
    return false;
  }

  bool next_record(Header* header, std::span<std::byte const>* payload, std::uint64_t* tag) noexcept {
    if (rest_.empty()) return false;
    std::uint64_t const flags = has_runs ? run_bit | chained_bit : 0;
    bool const sound = get(tag) && get(static_cast<std::uint32_t>(*tag & ~flags), header);
    std::size_t const bytes = *tag >> 32;
    if (!sound || padded(bytes) > rest_.size()) return fail();
    *payload = rest_.first(bytes);
    rest_ = rest_.subspan(padded(bytes));
    return true;
  }

  bool get(std::uint64_t* word) noexcept {
    if (rest_.size() < sizeof *word) return false;
    std::memcpy(word, rest_.data(), sizeof *word);
    rest_ = rest_.subspan(sizeof *word);
    return true;
  }

  /// Reads the header, whose words in `differing` follow.
  bool get(std::uint32_t differing, Header* header) noexcept {
    if (std::cmp_greater(std::bit_width(differing), Sequence::words)) return false;
    auto words = sequence_.expected();
    for (std::uint32_t rest = differing; rest != 0; rest &= rest - 1) {
      if (!get(&words[static_cast<std::size_t>(std::countr_zero(rest))])) return false;
    }
    *header = std::bit_cast<Header>(words);
    header->session = session_;
    sequence_.take(*header);
    return true;
  }

  std::uint64_t session_;
  Sequence sequence_;
  std::span<std::byte const> rest_;
  bool malformed_ = false;
  [[no_unique_address]] std::conditional_t<has_runs, RequestRun, std::monostate> run_;  ///< read by next()
};

}  // namespace mpixrma::engine::wire

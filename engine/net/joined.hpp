/// Batches: several small messages of a stream that are sent as one message, either requests or replies.
///
/// A batch is a JoinedHeader with a payload of consecutive records. A record consists of a word with the
/// payload length and a bit for each 8-byte word of the header that differs from the expected header, these
/// words in ascending order, and the payload, padded to a multiple of 8 bytes. The expected header equals
/// that of the previous record, with the next position of the stream for a request; before the first record
/// it contains only magic, version and session.
///
/// The content of a record is validated like a single message.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "engine/net/wire.hpp"

namespace mpixrma::engine::wire {

struct JoinedHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;  ///< 0
  std::uint8_t reserved;
  std::uint64_t session;  ///< as in the headers of the records
};
static_assert(sizeof(JoinedHeader) == 16);

/// As check() for a single message: returns nullptr and fills `out` if the header is valid.
char const* check(std::span<std::byte const> header, JoinedHeader* out) noexcept;

/// Returns the session that the message claims, or 0 if it is not a batch of this version.
std::uint64_t joined_session_of(std::span<std::byte const> header) noexcept;

/// Whether a request may be part of a batch. Other requests are waited for, or make others wait.
constexpr bool may_be_joined(RequestHeader const& header) noexcept {
  return moves_data(header) || locks_in_stream(header) || header.kind == RequestKind::release;
}

/// Returns the number of target bytes that a request makes its receiver access or send beyond the data that
/// it carries. The sum over the requests of a message is at most max_unpaid_bytes.
std::uint64_t unpaid_bytes(RequestHeader const& header) noexcept;

/// Computes the expected header of the next record, equally on both sides.
template <typename Header>
class HeaderSequence {
 public:
  static constexpr std::size_t words = sizeof(Header) / sizeof(std::uint64_t);
  static_assert(sizeof(Header) % sizeof(std::uint64_t) == 0 && words <= 32);
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

 private:
  Header header_{};
};

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

/// Writes records into the caller's memory.
template <typename Header>
class JoinedWriter {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Maximum size of a record without its payload and padding.
  static constexpr std::size_t max_overhead = sizeof(std::uint64_t) + sizeof(Header);

  JoinedWriter() = default;
  /// `room` is aligned to 8 bytes.
  JoinedWriter(std::uint64_t session, std::span<std::byte> room) noexcept : sequence_(session), room_(room) {}

  /// Appends a record and returns the location for its `payload_bytes` bytes, or nullptr if there is no room.
  /// The session in the header is that of the message.
  std::byte* append(Header const& header, std::size_t payload_bytes) noexcept {
    auto const given = std::bit_cast<typename Sequence::Words>(header);
    auto const expected = sequence_.expected();
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < Sequence::words; ++i)
      differing |= std::uint64_t{given[i] != expected[i] ? 1u : 0u} << i;
    std::size_t const head = sizeof differing * (1 + static_cast<std::size_t>(std::popcount(differing)));
    if (room_.size() - bytes_ < head + padded(payload_bytes)) return nullptr;
    std::byte* at = room_.data() + bytes_;
    put(&at, differing | std::uint64_t{payload_bytes} << 32);
    for (std::uint64_t rest = differing; rest != 0; rest &= rest - 1)
      put(&at, given[static_cast<std::size_t>(std::countr_zero(rest))]);
    if (payload_bytes % sizeof(std::uint64_t) != 0)
      std::memset(at + padded(payload_bytes) - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
    bytes_ += head + padded(payload_bytes);
    sequence_.take(header);
    return at;
  }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static void put(std::byte** at, std::uint64_t word) noexcept {
    std::memcpy(*at, &word, sizeof word);
    *at += sizeof word;
  }

  Sequence sequence_;
  std::span<std::byte> room_;
  std::size_t bytes_ = 0;
};

/// Reads records within the bounds of the message.
template <typename Header>
class JoinedReader {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Payloads are aligned as `records` is, at most to 8 bytes.
  JoinedReader(std::uint64_t session, std::span<std::byte const> records) noexcept
      : session_(session), sequence_(session), rest_(records) {}

  /// Returns the next record: its payload, and its header, of which only the session is guaranteed to be
  /// right. Returns false at the end, and for a malformed record.
  bool next(Header* header, std::span<std::byte const>* payload) noexcept {
    if (rest_.empty()) return false;
    std::uint64_t tag = 0;
    bool const sound = get(&tag) && get(static_cast<std::uint32_t>(tag), header);
    std::size_t const bytes = tag >> 32;
    if (!sound || padded(bytes) > rest_.size()) {
      malformed_ = true;
      rest_ = {};
      return false;
    }
    *payload = rest_.first(bytes);
    rest_ = rest_.subspan(padded(bytes));
    return true;
  }

  /// Whether reading ended before the end of the message.
  bool is_malformed() const noexcept { return malformed_; }

 private:
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
};

}  // namespace mpixrma::engine::wire

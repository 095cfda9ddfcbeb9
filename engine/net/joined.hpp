/// Small messages of a stream that travel together: requests in one message, or replies in one.
///
/// A joined message is a JoinedHeader, and as its payload one record after the other. A record is a word that
/// tells which 8-byte words of its header are not as expected and how long its payload is, these words in
/// ascending order, and the payload, filled up to a multiple of 8 bytes. What is expected of a header is that
/// it is the one of the record before, of a request at the next position of the stream; before the first
/// record stands a header of nothing but magic, version and session.
///
/// What comes out of a record is checked as if it had come alone.
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

/// As check() of a single message; returns nullptr and fills `out` when the header is sound.
char const* check(std::span<std::byte const> header, JoinedHeader* out) noexcept;

/// Whose message it says it is, 0 also where it is no joined message of this version.
std::uint64_t joined_session_of(std::span<std::byte const> header) noexcept;

/// Whether a request may be one of several in a message: others are waited for, or make others wait.
constexpr bool may_be_joined(RequestHeader const& header) noexcept {
  return moves_data(header) || locks_in_stream(header) ||
         static_cast<RequestKind>(header.kind) == RequestKind::release;
}

/// The bytes of the target that a request makes its receiver touch or send without having brought as many.
/// Those of the requests of a message together stay within max_unpaid_bytes.
std::uint64_t unpaid_bytes(RequestHeader const& header) noexcept;

/// The headers of the records one after the other: what both sides expect.
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

  /// What the next header is expected to be.
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

/// Writes records into memory of its caller's.
template <typename Header>
class JoinedWriter {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Room that a record takes at most beside its payload and the filling.
  static constexpr std::size_t most_overhead = sizeof(std::uint64_t) + sizeof(Header);

  JoinedWriter() = default;
  /// `room` is aligned to 8 bytes.
  JoinedWriter(std::uint64_t session, std::span<std::byte> room) noexcept : sequence_(session), room_(room) {}

  /// A record more; where its `payload_bytes` bytes go, or nullptr when there is no room. The header's
  /// session is the message's.
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

/// Reads records, and nothing beyond them.
template <typename Header>
class JoinedReader {
  using Sequence = HeaderSequence<Header>;

 public:
  /// Payloads are aligned as `records` is, at most to 8 bytes.
  JoinedReader(std::uint64_t session, std::span<std::byte const> records) noexcept
      : session_(session), sequence_(session), rest_(records) {}

  /// The next record: its header, of which nothing is checked but the session is right, and its payload.
  /// False at the end, and where what follows is no record.
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

  /// Whether it ended before the message did.
  bool is_malformed() const noexcept { return malformed_; }

 private:
  bool get(std::uint64_t* word) noexcept {
    if (rest_.size() < sizeof *word) return false;
    std::memcpy(word, rest_.data(), sizeof *word);
    rest_ = rest_.subspan(sizeof *word);
    return true;
  }

  /// The header whose words `differing` follow.
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

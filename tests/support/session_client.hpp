/// A client of a session that speaks the engine's protocol itself, and ignores the credit.
#pragma once

#include <cstring>
#include <map>

#include "engine/net/batch.hpp"
#include "tests/support/imposture.hpp"

namespace mpixrma::test {

namespace wire = engine::wire;

/// Returns the identity of a process that opens a session at the target.
inline Identity identity_at(Target const& target, Rogue const& rogue, std::uint64_t process) {
  Identity self{target.address, {}};
  self.address.process = process;
  self.address.incarnation = 1;
  self.address.encrypt = false;
  self.address.workers = {rogue.worker_address()};
  self.nonce.fill(static_cast<std::byte>(process));
  return self;
}

class SessionClient {
 public:
  /// Each client of a session needs a different `process`.
  SessionClient(std::vector<std::byte> const& address, std::uint64_t exposure, std::uint64_t process = 0x77)
      : target_(read(address)),
        exposure_(exposure),
        rogue_(target_.address.workers.front(), Rogue::Way::loopback) {
    Identity const self = identity_at(target_, rogue_, process);
    engine::SessionOpening const opening = self.opening_to(target_, 1);
    tokens_ = tokens_of(target_.secret, opening);
    rogue_.on_message = [this](wire::MessageClass kind, std::span<std::byte const> header,
                               std::span<std::byte const> payload) { note(kind, header, payload); };
    Text const handshake = handshake_message(make_handshake(target_.secret, opening, encode(self.address)));
    rogue_.send(wire::MessageClass::request, handshake.header, handshake.payload, UCP_AM_SEND_FLAG_EAGER);
  }

  /// The next request of the stream, with `bytes` bytes of memory from the beginning of the exposure.
  wire::RequestHeader next(wire::RequestKind kind, std::uint64_t bytes) {
    auto header = wire::begin_header<wire::RequestHeader>(kind);
    header.session = tokens_.request;
    header.sequence = header.operation_id = ++sequence_;
    header.exposure = exposure_;
    header.block = header.bytes = header.total = bytes;
    return header;
  }
  /// Leaves out a position of the stream.
  void skip() { ++sequence_; }

  void send(wire::RequestHeader const& header, std::vector<std::byte> payload = {}) {
    rogue_.send(wire::MessageClass::request, bytes_of(header), std::move(payload), UCP_AM_SEND_FLAG_EAGER);
  }
  /// Sends without receiving.
  void send_only(wire::RequestHeader const& header) {
    rogue_.send_only(wire::MessageClass::request, bytes_of(header));
  }

  /// Receives until `predicate` holds, for at most 100 seconds.
  template <typename Predicate>
  bool wait(Predicate predicate) {
    return rogue_.wait(predicate);
  }
  /// Returns whether the target has executed a first request of this client.
  bool connect() {
    send(next(wire::RequestKind::get, 8));
    return wait([&] { return data_bytes_ == 8; });
  }

  /// Returns the stream position up to which all requests are executed, according to the replies.
  std::uint64_t executed() const { return executed_; }
  std::uint64_t sent() const { return sequence_; }
  std::uint64_t data_bytes() const { return data_bytes_; }
  /// Returns the number of replies that report this status.
  std::uint64_t failures(engine::Status status) { return failures_[status]; }
  bool has_failed() const { return rogue_.has_failed(); }

 private:
  static Target read(std::vector<std::byte> const& address) {
    Target target;
    EXPECT_TRUE(engine::read_published(address, &target.address, &target.secret));
    return target;
  }
  void note(wire::MessageClass kind, std::span<std::byte const> header, std::span<std::byte const> payload) {
    wire::ReplyHeader reply{};
    if (kind == wire::MessageClass::reply && header.size() == sizeof reply) {
      std::memcpy(&reply, header.data(), sizeof reply);
      note(reply);
    } else if (kind == wire::MessageClass::reply_batch) {
      std::vector<std::uint64_t> aligned(payload.size() / 8 + 1);
      std::memcpy(aligned.data(), payload.data(), payload.size());
      wire::BatchReader<wire::ReplyHeader> records(tokens_.reply,
                                                   std::as_bytes(std::span(aligned)).first(payload.size()));
      for (std::span<std::byte const> data; records.next(&reply, &data);) note(reply);
    }
  }
  void note(wire::ReplyHeader const& reply) {
    executed_ = std::max(executed_, reply.executed);
    if (reply.kind == wire::ReplyKind::data) data_bytes_ += reply.bytes;
    if (reply.kind == wire::ReplyKind::failed) ++failures_[static_cast<engine::Status>(reply.status)];
  }

  Target target_;
  std::uint64_t exposure_;
  Rogue rogue_;
  engine::SessionTokens tokens_;
  std::uint64_t sequence_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::map<engine::Status, std::uint64_t> failures_;
};

}  // namespace mpixrma::test

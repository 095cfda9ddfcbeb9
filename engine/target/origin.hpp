/// The executor's state of each process that sends requests to this one.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// A request that may not be executed yet, with its layout and data.
class BufferedRequest {
 public:
  /// `arrived` has passed its check. `payload_bytes`: size of its payload as it arrived.
  BufferedRequest(wire::CheckedRequest const& arrived, std::size_t payload_bytes)
      : memory_(std::make_unique_for_overwrite<std::uint64_t[]>(
            wire::viewed_bytes(arrived) / sizeof(std::uint64_t) + 1)),
        payload_bytes_(payload_bytes),
        request_(wire::copy_of(arrived, reinterpret_cast<std::byte*>(memory_.get()))) {}

  wire::CheckedRequest const& request() const noexcept { return request_; }
  std::size_t payload_bytes() const noexcept { return payload_bytes_; }
  /// Approximate memory that a buffered request with so many wire::viewed_bytes() takes in this process.
  static std::size_t footprint(std::size_t viewed_bytes) noexcept { return viewed_bytes + 512; }
  std::size_t footprint() const noexcept { return footprint(wire::viewed_bytes(request_)); }

 private:
  std::unique_ptr<std::uint64_t[]> memory_;
  std::size_t payload_bytes_;
  wire::CheckedRequest request_;  ///< views `memory_`
};

/// Stripes that are held for an operation of several messages.
struct HeldStripes {
  UniqueStripeLock stripe_lock;
  std::uint64_t rest = 0;  ///< bytes that are still to be executed
};

/// An operation of several messages that increments a counter when all are executed.
struct PartialOperation {
  std::uint64_t bytes = 0;  ///< bytes executed so far
  bool failed = false;
};

/// Requests that wait for the endpoint, for an earlier position of the stream, or until replies are sent. No
/// call searches linearly, so an origin cannot make the calls slow.
class WaitingRequests {
 public:
  bool empty() const noexcept { return by_after_.empty(); }
  std::size_t size() const noexcept { return by_after_.size(); }
  /// Returns the position that the first request waits for. There must be a request.
  std::uint64_t first_after() const noexcept { return by_after_.begin()->first.first; }
  bool contains(std::uint64_t sequence) const { return sequences_.contains(sequence); }
  BufferedRequest const& add(std::uint64_t sequence, std::uint64_t after, BufferedRequest request) {
    sequences_.insert(sequence);
    return by_after_.emplace(std::pair(after, sequence), std::move(request)).first->second;
  }
  /// Returns the first request whose predecessor is executed, or nullptr.
  BufferedRequest const* next(std::uint64_t executed) const noexcept {
    auto const first = by_after_.begin();
    return first != by_after_.end() && first->first.first <= executed ? &first->second : nullptr;
  }
  /// Takes out what next() has returned.
  BufferedRequest take_next() {
    auto const first = by_after_.begin();
    sequences_.erase(first->first.second);
    return std::move(by_after_.extract(first).mapped());
  }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, BufferedRequest>
      by_after_;  ///< key: position waited for, and sequence
  std::set<std::uint64_t> sequences_;
};

/// The state of an origin whose requests are not simply executed in the order of arrival.
struct OutOfOrder {
  /// Upper bound of the memory that an entry of `executed_early`, `held_stripes` or `partial_operations`
  /// takes.
  static constexpr std::size_t bytes_of_entry = 256;
  std::set<std::uint64_t> executed_early;  ///< executed beyond Origin::executed
  WaitingRequests waiting;
  std::set<std::uint64_t> blocked;  ///< sequences of requests that wait for stripes
  std::uint64_t lock = 0;           ///< position of the in-stream lock request that is not decided; 0: none
  std::unordered_map<std::uint64_t, HeldStripes> held_stripes;             ///< by operation id
  std::unordered_map<std::uint64_t, PartialOperation> partial_operations;  ///< by operation id

  std::size_t size() const noexcept { return executed_early.size() + waiting.size() + blocked.size(); }
  bool empty() const noexcept {
    return lock == 0 && executed_early.empty() && waiting.empty() && blocked.empty() &&
           held_stripes.empty() && partial_operations.empty();
  }
};

/// A process that sends requests to this one; created when its handshake is verified.
struct Origin {
  std::uint64_t process = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t target = 0;     ///< identity under which the origin knows this process
  std::uint64_t handshake = 0;  ///< SessionOpening::number of its newest handshake
  SessionTokens session;
  ucp_ep_h endpoint = nullptr;               ///< null until the connection is opened, and after a disconnect
  std::uint64_t executed = 0;                ///< every request up to here is executed
  std::size_t buffered_bytes = 0;            ///< memory of buffered requests and of entries of OutOfOrder
  std::uint64_t processed_requests = 0;      ///< requests executed or rejected
  std::uint64_t processed_cost = 0;          ///< credit bytes of requests executed, rejected or busy
  std::uint64_t acknowledged = 0;            ///< the part of `executed` that was reported to the origin
  std::uint64_t reported_cost = 0;           ///< the part of `processed_cost` that was reported to the origin
  std::size_t unsent_replies = 0;            ///< number of unsent replies to it
  std::size_t waiting_bytes = 0;             ///< payload bytes of those without a message of their own
  std::shared_ptr<MessageAccount> unsent{};  ///< account of its unsent replies; null: unbounded
  bool waits_until_sent = false;  ///< earlier replies must be sent before another request is executed
  std::uint64_t last_use = 0;     ///< as Connections::note_use, when something was sent to it
  bool acknowledgement_due = false;

  /// Account of the unsent replies whose data are read from the target's memory when they are sent; null: no
  /// such reply yet.
  std::shared_ptr<MessageAccount> borrowed{};
  std::uint64_t first_borrowing = 0;  ///< position of the first request with such a reply

  /// Whether the request may change memory that an unsent reply to an earlier request still refers to.
  bool follows_borrowing(wire::RequestHeader const& request) const noexcept {
    return borrowed != nullptr && borrowed->bytes != 0 && request.after >= first_borrowing &&
           request.kind != wire::RequestKind::get;
  }

  bool has_seen(std::uint64_t sequence) const {
    if (sequence <= executed) return true;
    return rest_ != nullptr && (rest_->lock == sequence || rest_->executed_early.contains(sequence) ||
                                rest_->waiting.contains(sequence) || rest_->blocked.contains(sequence));
  }

  /// Whether the request is in order, or the origin may have one more out of order. The distance of its
  /// position from `executed` is not limited.
  bool has_place_for(std::uint64_t sequence) const noexcept {
    return sequence == executed + 1 || rest_ == nullptr || rest_->size() < wire::max_out_of_order;
  }

  /// Whether all replies are sent to the origin, and nothing is out of order.
  bool is_idle() const noexcept {
    return !acknowledgement_due && unsent_replies == 0 && (rest_ == nullptr || rest_->empty());
  }

  /// nullptr: nothing is out of order.
  OutOfOrder* out_of_order() noexcept { return rest_.get(); }
  OutOfOrder const* out_of_order() const noexcept { return rest_.get(); }
  OutOfOrder& make_out_of_order() {
    if (rest_ == nullptr) rest_ = std::make_unique<OutOfOrder>();
    return *rest_;
  }
  /// Returns the stripes held for the operation with this id, or nullptr.
  HeldStripes* held_stripes_of(std::uint64_t operation_id) noexcept {
    if (rest_ == nullptr) return nullptr;
    auto const found = rest_->held_stripes.find(operation_id);
    return found != rest_->held_stripes.end() ? &found->second : nullptr;
  }
  /// Frees the out-of-order state if it is empty.
  void tidy() noexcept {
    if (rest_ != nullptr && rest_->empty()) rest_.reset();
  }

 private:
  std::unique_ptr<OutOfOrder> rest_;
};

}  // namespace mpixrma::engine

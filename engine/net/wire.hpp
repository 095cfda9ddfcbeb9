/// The messages of the message protocol.
///
/// The first message on a connection is the handshake, which proves that the origin has the target's secret
/// (session.hpp); no other request is executed before. Then the origin's requests follow as a stream of
/// numbered messages, each of which gets a reply: executed or failed. A malformed one gets a reply, too, if
/// its position is legible. A position that is taken, or too far out of order, is dropped without a reply.
/// Requests and replies carry a token of the session; messages from unauthenticated peers, which do not know
/// the token, are dropped.
///
/// Credit limits the data in flight: an origin sends while the cost of what it has sent and the target has
/// not processed is below the limit in the target's replies, so the last message may exceed the limit.
/// Operations out of band, resent messages and replies to revocations are sent regardless of the credit.
///
/// Every message consists of a fixed header (the UCX active message's header) and a payload. All fields are
/// in host byte order, which is the same throughout a job; the version changes with the layout. The payload
/// of a request is: `dimensions` WireDimension; `runs` WireRun, or with flag_equal_runs `runs` WireOffset,
/// padded to a multiple of 8 bytes; then the data.
///
/// check() validates sizes, kinds, positions and layouts. RequestedMemory checks addresses and exposures at
/// the target. Flags of puts, gets and updates that have no meaning there are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/op/late_error.hpp"
#include "engine/op/layout/layout.hpp"
#include "engine/op/operation.hpp"
#include "engine/sync/lock.hpp"

namespace mpixrma::engine::wire {

inline constexpr std::uint32_t magic = 0x4d505851;  // "MPXQ"
inline constexpr std::uint16_t version = 18;

/// UCX active message identifiers.
enum class MessageClass : unsigned {
  request = 17,
  reply = 18,
  disconnect = 19,
  request_batch = 20,  ///< batch.hpp
  reply_batch = 21,
  sealed = 22  ///< a message of another class, encrypted (seal.hpp)
};

enum class RequestKind : std::uint8_t {
  put = 1,  ///< data: bytes for the layout
  get,      ///< no data; the reply contains data
  update,   ///< data: operand and operand2, as the operation requires; the reply contains data if it fetches
  find_segment,  ///< reply: SegmentReply and, if the segment has one, the packed remote key
  key_dropped,   ///< reply to a revocation, with its `operation_id`
  stripe_lock,   ///< `stripes` are held for the messages of `operation_id` until `total` bytes are executed
  handshake,     ///< data: from make_handshake() (session.hpp); has neither position nor session
  lock_request,  ///< requests the target's lock with the number `address`; reply: `executed` once `owner`
                 ///< has it, except with flag_in_stream
  lock_release   ///< releases the lock
};

/// `operation` of a `lock_request`.
enum class LockRequestKind : std::uint8_t {
  exclusive,
  shared,
  try_exclusive,
  try_shared,
  overtaking,
  count_
};
constexpr LockRequestKind lock_request_kind(LockRequest const& request) noexcept {
  if (request.mode == LockMode::exclusive)
    return request.attempt ? LockRequestKind::try_exclusive : LockRequestKind::exclusive;
  if (request.attempt) return LockRequestKind::try_shared;
  return request.overtakes ? LockRequestKind::overtaking : LockRequestKind::shared;
}

/// `operation` of a `lock_release`: how the lock was acquired, by a message or in shared memory
/// (shared_lock.hpp). In both cases waiting requests must be served.
enum class LockReleaseKind : std::uint8_t { acquired_by_message, acquired_in_shared_memory, count_ };

enum RequestFlag : std::uint16_t {
  flag_atomic = 1,       ///< execute under the stripes of the memory that this message accesses
  flag_scale = 2,        ///< `scale` is valid
  flag_fetch = 4,        ///< update: the reply contains the previous elements
  flag_held = 8,         ///< the stripes are held: by the `stripe_lock` of `operation_id`, or by the origin
  flag_no_wait = 16,     ///< the origin holds stripes: `busy` instead of a wait for stripes or predecessors
  flag_shared = 32,      ///< stripe_lock: the memory is only read
  flag_registered = 64,  ///< the origin guarantees that the memory is registered: no probing needed
  flag_separate_reply = 128,  ///< reply when this operation is executed, independently of earlier ones
  flag_elements = 256,        ///< update: each element is atomic by itself, not all together
  flag_delayed_ack = 512,     ///< lock_request, lock_release, put, update: delayed acknowledgement
  flag_in_stream = 1024,  ///< lock_request: completes its position when `owner` has the lock, without a reply
  flag_arrays = 2048,     ///< update: as OpFlags::keeps_arrays
  flag_rmw = 4096,        ///< update: as OpFlags::read_modify_write
  flag_batch_delayed_ack = 8192,  ///< with flag_delayed_ack: that of the whole batch is delayed
  flag_equal_runs = 16384  ///< put, get, update: the runs are equally long; only their offsets are sent
};

/// As received, `kind` may be any number: check() validates it.
struct RequestHeader {
  std::uint32_t magic;
  std::uint16_t version;
  RequestKind kind;
  std::uint8_t dimensions;
  std::uint8_t element_type;
  std::uint8_t operation;
  std::uint16_t flags;
  std::uint32_t runs;
  std::uint32_t context;        ///< context at the origin; returned with errors
  std::uint32_t owner;          ///< lock_request, lock_release: distinguishes the origin's lock owners
  std::uint64_t session;        ///< SessionTokens::request of the origin's session; handshake: 0
  std::uint64_t sequence;       ///< position in the origin's stream to this target, from 1; handshake: 0
  std::uint64_t after;          ///< execute after this position and all before it are executed; 0: any time
  std::uint64_t operation_id;   ///< identifies the operation at the origin
  std::uint64_t address;        ///< base of the layout
  std::uint64_t block;          ///< Layout::block
  std::uint64_t layout_offset;  ///< first byte of the layout's data that this message covers
  std::uint64_t bytes;          ///< number of data bytes of the target that this message covers
  std::uint64_t operation_offset;  ///< the same first byte, relative to the whole operation
  std::uint64_t total;             ///< bytes of the whole operation
  std::uint64_t notify;            ///< counter to increment when all `total` bytes are executed; 0: none
  union {
    std::uint64_t stripes;    ///< stripe_lock: the set of requested stripes
    std::uint64_t lock_time;  ///< lock_request: LockRequest::time
  };
  std::uint64_t exposure;         ///< exposure of `address`; find_segment: the requested one; 0: none
  std::uint64_t notify_exposure;  ///< exposure in which `notify` is an offset; 0: none
  std::uint8_t scale[32];
};
static_assert(sizeof(RequestHeader) == 168 && alignof(RequestHeader) == 8);
static_assert(offsetof(RequestHeader, session) == 24 && offsetof(RequestHeader, scale) == 136);

struct WireDimension {
  std::uint64_t count;
  std::int64_t stride;
};
struct WireRun {
  std::int64_t offset;
  std::uint64_t length;
};
using WireOffset = std::int32_t;
// The engine's own types are sent unchanged.
static_assert(sizeof(WireDimension) == sizeof(Dimension) && sizeof(WireRun) == sizeof(LayoutRun));

enum class ReplyKind : std::uint8_t {
  executed = 1,  ///< no payload; with an `operation_id`, that whole operation is executed
  data,          ///< payload: `bytes` bytes at `offset` of the operation `operation_id`
  failed,        ///< `offset` bytes of the operation `operation_id` (0: of some operation of `context`) were
                 ///< not done because of `status`; payload: FailureReply
  segment,       ///< payload: SegmentReply, then the packed remote key, if there is one
  revoke,        ///< the segment with the number `operation_id`, at `offset`, must be dropped; reply:
                 ///< `key_dropped`
  stripes_granted,  ///< the stripes of the `stripe_lock` with this `operation_id` are held
  busy              ///< the request of `operation_id` was not executed: the same position may be sent again
};

struct ReplyHeader {
  std::uint32_t magic;
  std::uint16_t version;
  ReplyKind kind;
  std::uint8_t status;
  std::uint32_t context;
  std::uint32_t segments_version;  ///< changes whenever the sender's segments change
  std::uint64_t session;           ///< SessionTokens::reply of the request's session
  std::uint64_t executed;          ///< all requests up to this position of the stream are executed
  std::uint64_t operation_id;      ///< of the request; `revoke`: number of the segment
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t processed_cost;  ///< cost of all requests that are executed, rejected or `busy`
  std::uint64_t credit;          ///< cost that the origin may have in flight
  std::uint64_t lock_clock;      ///< logical time of the sender's locks
};
static_assert(sizeof(ReplyHeader) == 80);

/// The disconnect exchange, by which both sides agree to close an idle connection. It has no payload and no
/// position in a stream: the positions continue with the next connection. Over an encrypted connection, also
/// the notice that the sender has rejected a message of the connection, and closes it.
enum class Disconnect : std::uint8_t {
  request = 1,      ///< the sender has nothing in flight, and sends nothing until the reply arrives
  accept,           ///< reply: the sender has nothing in flight either, and no longer uses the connection
  reject,           ///< reply: the connection stays open
  message_rejected  ///< the connection ends: a message on it was not authentic. No reply follows
};

struct DisconnectHeader {
  std::uint32_t magic;
  std::uint16_t version;
  Disconnect kind;
  std::uint8_t reserved;
  std::uint64_t session;     ///< the token that the sender uses for any of its sessions with the receiver
  std::uint64_t connection;  ///< number of the connection, as SessionOpening::connection
};
static_assert(sizeof(DisconnectHeader) == 24);

/// The common beginning of all headers. The session is set when the header is sent.
template <typename Header, typename Kind>
Header begin_header(Kind kind) noexcept {
  Header header{};
  header.magic = magic;
  header.version = version;
  header.kind = static_cast<decltype(header.kind)>(kind);
  return header;
}

/// Credit before the first reply, in bytes.
inline constexpr std::size_t initial_credit = 64 * 1024;

/// Maximum number of requests of an origin that are buffered or were executed out of order; a legitimate
/// origin stays far below.
inline constexpr std::size_t max_out_of_order = 65536;

/// Maximum number of runs in a layout that repeats them; a longer list describes the memory of one message.
inline constexpr std::size_t max_repeated_runs = 64;

/// Maximum number of runs in a request with flag_equal_runs.
inline constexpr std::size_t max_equal_runs = 1024;

/// Maximum cost, in bytes, of requests with flag_delayed_ack before they are acknowledged.
inline constexpr std::size_t max_unacked_bytes = initial_credit / 4;

/// Maximum number of target bytes that a request, or the requests of a batch together, may access without
/// carrying data for them, or fetch (bytes_without_payload()); legitimate requests stay within a fragment.
inline constexpr std::uint64_t max_bytes_without_payload = 16 * 1024 * 1024;

/// Whether the reply to the request contains `bytes` bytes of the target's memory.
constexpr bool is_fetching(RequestHeader const& header) noexcept {
  RequestKind const kind = header.kind;
  return kind == RequestKind::get || (kind == RequestKind::update && (header.flags & flag_fetch) != 0);
}

/// Whether the request is a put, a get or an update.
constexpr bool moves_data(RequestHeader const& header) noexcept {
  RequestKind const kind = header.kind;
  return kind == RequestKind::put || kind == RequestKind::get || kind == RequestKind::update;
}

/// Whether the origin's stream waits for this lock.
constexpr bool locks_in_stream(RequestHeader const& header) noexcept {
  return header.kind == RequestKind::lock_request && (header.flags & flag_in_stream) != 0;
}

/// Whether the request changes memory of the target.
constexpr bool is_write(RequestHeader const& header) noexcept {
  RequestKind const kind = header.kind;
  bool const keeps =
      kind == RequestKind::update && static_cast<ReduceOp>(header.operation) == ReduceOp::no_op;
  return kind != RequestKind::get && !keeps;
}

constexpr bool has_equal_runs(RequestHeader const& header) noexcept {
  return (header.flags & flag_equal_runs) != 0;
}

/// Returns the cost of the reply to a request, in bytes.
constexpr std::uint64_t cost_of_reply(RequestHeader const& header) noexcept {
  constexpr std::uint64_t per_message = 256;
  return per_message + (is_fetching(header) ? header.bytes : 0);
}

/// Returns the cost of a request in credit, in bytes: what its receiver must store or send.
constexpr std::uint64_t cost_of(RequestHeader const& header, std::size_t payload_bytes) noexcept {
  std::uint64_t const not_sent =
      has_equal_runs(header) ? header.runs * (sizeof(WireRun) - sizeof(WireOffset)) : 0;
  return cost_of_reply(header) + payload_bytes + not_sent;
}

/// Returns the size of the layout's description in the payload.
std::size_t description_bytes(RequestHeader const& header) noexcept;

/// The segment that contains the address, or the gap around the address. With an exposure: the segment that
/// contains the exposure, or an empty gap if it does not exist.
struct SegmentReply {
  std::uint64_t number;  ///< unique number of the segment, never reused
  std::uint64_t base;
  std::uint64_t length;
  std::uint64_t key_bytes;    ///< 0: not registered with the network
  std::uint64_t is_gap;       ///< 1: a gap without a segment
  std::uint64_t is_internal;  ///< 1: AllocationHints::internal
  std::uint64_t exposure;     ///< the requested exposure
  std::uint64_t exposed_base;
  std::uint64_t exposed_length;
  std::uint64_t rights;
};

/// Describes the failed operation for the error text, because the origin may have freed the description.
struct FailureReply {
  std::uint64_t address;
  std::uint64_t bytes;     ///< bytes of the whole operation
  std::uint64_t exposure;  ///< exposure in which `address` is an offset; 0: none
  std::uint8_t kind;       ///< ReportedOperation
  std::uint8_t contiguous;
  std::uint8_t position[6];  ///< low bytes of the request's position in the stream; 0: unknown
};
static_assert(sizeof(FailureReply) == 32);

ReportedOperation reported_operation(RequestHeader const& header) noexcept;

/// Returns the description of a request's operation. `exposed_base`: base of the exposure, if it was added to
/// the request's `address`, else 0.
FailureReply failure_reply(RequestHeader const& header, std::uint64_t exposed_base) noexcept;

/// Reads the payload of a reply `failed`; a malformed payload yields an unknown kind.
LateError late_error(Status status, std::span<std::byte const> payload) noexcept;

/// A request whose fields are consistent with each other and with the size of its payload.
struct CheckedRequest {
  RequestHeader header;
  Layout layout;  ///< views of the payload, or of the copy that check() has made
  std::span<std::byte const> data;
};

/// Returns the size of the layout and of the data, which the request views.
std::size_t viewed_bytes(CheckedRequest const& request) noexcept;
/// Copies them to `room`, aligned to 8 bytes, and returns the request with views of the copy.
CheckedRequest copy_of(CheckedRequest const& request, std::byte* room) noexcept;

/// Returns RequestHeader::session, which the sender claims, or 0 if the message is not a request of this
/// version. If the token is not 0 and belongs to no session, nothing else of the message is read.
std::uint64_t session_of(std::span<std::byte const> header) noexcept;

/// Returns the size of the buffer for the layout that check() needs for this message; 0: none.
std::size_t copy_bytes_for(std::span<std::byte const> header, std::size_t payload_bytes) noexcept;

/// Checks a message from the network. `payload` must be aligned to 8 bytes. Returns nullptr and fills `out`
/// if it is valid, else a text with the reason. `copy`: buffer, aligned to 8 bytes, to which the layout is
/// copied first, if copy_bytes_for() requires it, or if another process may change the message meanwhile.
char const* check(std::span<std::byte const> header, std::span<std::byte const> payload, CheckedRequest* out,
                  std::span<std::byte> copy = {}) noexcept;
char const* check(std::span<std::byte const> header, std::span<std::byte const> payload,
                  ReplyHeader* out) noexcept;
char const* check(std::span<std::byte const> header, DisconnectHeader* out) noexcept;

/// Whether a request that did not pass its check still identifies its stream and position, so that it can be
/// rejected by a reply; fills `out`.
bool has_position(std::span<std::byte const> header, RequestHeader* out) noexcept;

}  // namespace mpixrma::engine::wire

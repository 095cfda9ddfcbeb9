/// The messages of the agent path.
///
/// The first message on a connection introduces the origin and proves that it was given the target's secret
/// (session.hpp); nothing else of it is executed before. Then its requests follow as a stream of numbered
/// messages, each of which is answered: executed, or failed, also when it is malformed. Requests and replies
/// carry a token of the session; whoever does not know it is a stranger, and strangers are dropped. Credit
/// bounds what an origin has under way: the cost of what it has sent and the target has not done with stays
/// below the window that the target's replies show.
///
/// Every message is a fixed header (the UCX active message's header) and a payload. All fields are in
/// the byte order of the hosts, which a job shares; the version changes with the layout. A request's
/// payload is: `dimensions` WireDimension, `segments` WireSegment, then the data.
///
/// A receiver believes nothing: see check().
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
inline constexpr std::uint16_t version = 13;

/// UCX active message identifiers.
enum class MessageClass : unsigned {
  request = 17,
  reply = 18,
  farewell = 19,
  requests = 20,  ///< several in one message (joined.hpp)
  replies = 21,
  sealed = 22  ///< one of these, encrypted (seal.hpp)
};

enum class RequestKind : std::uint8_t {
  put = 1,  ///< data: bytes for the layout
  get,      ///< no data; answered with data
  update,   ///< data: operand, then operand2, as many as the operation has; answered with data if it fetches
  find_segment,  ///< answered with SegmentReply and, where there is one, the packed remote key
  forgotten,     ///< answer to a revocation, with its `token`
  lock,          ///< `stripes` are held for the messages of `token` until `total` bytes are executed
  introduction,  ///< data: as make_introduction() makes it (session.hpp); has neither position nor session
  acquire,       ///< a lock of the target, `address` its number: answered `executed` once `owner` has it, or
                 ///< with flag_in_stream
  release        ///< gives it back
};

/// `operation` of a request `acquire`.
enum class AcquireKind : std::uint8_t { exclusive, shared, try_exclusive, try_shared, overtaking, count_ };
constexpr AcquireKind acquire_kind(LockRequest const& request) noexcept {
  if (request.mode == LockMode::exclusive)
    return request.attempt ? AcquireKind::try_exclusive : AcquireKind::exclusive;
  if (request.attempt) return AcquireKind::try_shared;
  return request.overtakes ? AcquireKind::overtaking : AcquireKind::shared;
}

/// `operation` of a request `release`: whether the owner has the lock by a grant of the agent, or had taken
/// it without the agent and has left, which those who wait are not to miss.
enum class ReleaseKind : std::uint8_t { granted, taken, count_ };

enum RequestFlag : std::uint16_t {
  flag_atomic = 1,       ///< execute under the stripes of what this message touches
  flag_scale = 2,        ///< `scale` is valid
  flag_fetch = 4,        ///< update: answered with the previous elements
  flag_held = 8,         ///< the stripes are held already: by the lock of `token`, or by this process
  flag_no_wait = 16,     ///< the origin holds stripes: answer `busy` instead of waiting for the target's
  flag_shared = 32,      ///< lock: the memory is only read
  flag_registered = 64,  ///< the origin vouches that the memory is registered: it need not be probed
  flag_tell = 128,       ///< answer when this operation is executed, whatever becomes of those before it
  flag_elements = 256,   ///< update: each element by itself is atomic, not all together
  flag_quiet = 512,      ///< acquire, release: acknowledged with other messages, or when many are not
  flag_in_stream =
      1024  ///< acquire: its position is taken when `owner` has the lock, and nothing is answered
};

struct RequestHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;
  std::uint8_t dimensions;
  std::uint8_t element_type;
  std::uint8_t operation;
  std::uint16_t flags;
  std::uint32_t segments;
  std::uint32_t context;   ///< of the origin; returned with errors
  std::uint32_t owner;     ///< acquire, release: tells the origin's owners of locks apart
  std::uint64_t session;   ///< SessionTokens::request of the origin's session; introduction: 0
  std::uint64_t sequence;  ///< position in the origin's stream to this target, from 1; introduction: 0
  std::uint64_t after;     ///< not before this position and all before it are executed; 0: any time
  std::uint64_t token;     ///< names the operation at the origin
  std::uint64_t address;   ///< base of the layout
  std::uint64_t block;     ///< Layout::block
  std::uint64_t position;  ///< first byte of the layout's data that this message is about
  std::uint64_t bytes;     ///< number of data bytes of the target that this message is about
  std::uint64_t offset;    ///< the same first byte, counted in the whole operation
  std::uint64_t total;     ///< bytes of the whole operation
  std::uint64_t notify;    ///< counter to increment when all `total` bytes are executed; 0: none
  union {
    std::uint64_t stripes;    ///< lock: the set that is asked for
    std::uint64_t lock_time;  ///< acquire: LockRequest::time
  };
  std::uint64_t exposure;  ///< in which `address` is an offset; find_segment: that is asked for; 0: none
  std::uint64_t notify_exposure;  ///< in which `notify` is an offset; 0: none
  std::uint8_t scale[32];
};
static_assert(sizeof(RequestHeader) == 168 && alignof(RequestHeader) == 8);
static_assert(offsetof(RequestHeader, session) == 24 && offsetof(RequestHeader, scale) == 136);

struct WireDimension {
  std::uint64_t count;
  std::int64_t stride;
};
struct WireSegment {
  std::int64_t offset;
  std::uint64_t length;
};
// The engine's own types are sent as they stand.
static_assert(sizeof(WireDimension) == sizeof(Dimension) && sizeof(WireSegment) == sizeof(Segment));

enum class ReplyKind : std::uint8_t {
  executed = 1,  ///< only `executed` counts; with a token, that whole operation is executed, too
  data,          ///< payload: `bytes` bytes at `offset` of the operation `token`
  failed,        ///< `offset` bytes of the operation `token` (or, with token 0, of one of `context`) were
                 ///< not done because of `status`; payload: FailureReply
  segment,       ///< payload: SegmentReply, then the packed remote key
  revoke,        ///< the segment with the number `token`, at `offset`, must be forgotten; answered with
                 ///< `forgotten`
  granted,       ///< the lock of `token` is held
  busy           ///< the request of `token` was not executed: the same position may be sent again
};

struct ReplyHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;
  std::uint8_t status;
  std::uint32_t context;
  std::uint32_t segments_version;  ///< changes whenever the sender's segments do
  std::uint64_t session;           ///< SessionTokens::reply of the session that is answered
  std::uint64_t executed;          ///< every request up to this position of the stream is executed
  std::uint64_t token;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t done;        ///< cost of all requests that are executed or refused
  std::uint64_t window;      ///< cost that the origin may have under way
  std::uint64_t lock_clock;  ///< logical time of the sender's locks
};
static_assert(sizeof(ReplyHeader) == 80);

/// How both sides agree to close a connection that neither needs now. It has no payload, and no position in a
/// stream: the positions go on with the next connection.
enum class Farewell : std::uint8_t {
  ask = 1,  ///< the sender has nothing under way, and sends nothing until it is answered
  agree,    ///< nor has the other; it does not use the connection any more
  stay      ///< the connection goes on
};

struct FarewellHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t kind;
  std::uint8_t reserved;
  std::uint64_t session;  ///< of either's session with the other: the token that the sender uses there
  std::uint64_t token;    ///< of whoever asks; returned with the answer
};
static_assert(sizeof(FarewellHeader) == 24);

/// What every header begins with. Its session is filled in when it is sent.
template <typename Header, typename Kind>
Header begin_header(Kind kind) noexcept {
  Header header{};
  header.magic = magic;
  header.version = version;
  header.kind = static_cast<std::uint8_t>(kind);
  return header;
}

/// The window before the first reply, bytes.
inline constexpr std::size_t first_window = 64 * 1024;

/// Positions beyond those that are executed which an origin may use; one of ours mostly stays far below.
inline constexpr std::uint64_t max_sequence_gap = 65536;

/// Cost of requests with flag_quiet that are acknowledged at the latest when it is reached, bytes.
inline constexpr std::size_t most_quiet = first_window / 4;

/// Most that a request without as much data, or one that is answered with data, may touch, bytes; those of
/// ours stay within a fragment.
inline constexpr std::uint64_t max_unpaid_bytes = 16 * 1024 * 1024;

/// Whether the request is answered with `bytes` bytes of the target's memory.
constexpr bool is_fetching(RequestHeader const& header) noexcept {
  auto const kind = static_cast<RequestKind>(header.kind);
  return kind == RequestKind::get || (kind == RequestKind::update && (header.flags & flag_fetch) != 0);
}

/// Whether the request is a put, a get or an update.
constexpr bool moves_data(RequestHeader const& header) noexcept {
  auto const kind = static_cast<RequestKind>(header.kind);
  return kind == RequestKind::put || kind == RequestKind::get || kind == RequestKind::update;
}

/// Whether the stream of its origin waits for a lock with it.
constexpr bool locks_in_stream(RequestHeader const& header) noexcept {
  return static_cast<RequestKind>(header.kind) == RequestKind::acquire &&
         (header.flags & flag_in_stream) != 0;
}

/// Whether the request changes memory of the target.
constexpr bool is_write(RequestHeader const& header) noexcept {
  auto const kind = static_cast<RequestKind>(header.kind);
  bool const keeps =
      kind == RequestKind::update && static_cast<Operation>(header.operation) == Operation::no_op;
  return kind != RequestKind::get && !keeps;
}

/// What a message counts against the window, in bytes: what it makes its receiver hold or send.
constexpr std::uint64_t cost_of(RequestHeader const& header, std::size_t payload_bytes) noexcept {
  constexpr std::uint64_t per_message = 256;
  return per_message + payload_bytes + (is_fetching(header) ? header.bytes : 0);
}

/// The segment that holds the address, or the gap around the address in which none stands. Of an exposure:
/// the segment that holds it, or an empty gap when there is none of this name.
struct SegmentReply {
  std::uint64_t number;  ///< of the segment: no other has it, before or after
  std::uint64_t base;
  std::uint64_t length;
  std::uint64_t key_bytes;  ///< 0: not registered with the network
  std::uint64_t is_gap;     ///< 1: no segment stands there
  std::uint64_t exposure;   ///< that was asked for
  std::uint64_t exposed_base;
  std::uint64_t exposed_length;
  std::uint64_t rights;
};

/// The operation that has failed, for the text of its error: its origin may have forgotten it.
struct FailureReply {
  std::uint64_t address;
  std::uint64_t bytes;     ///< of the whole operation
  std::uint64_t exposure;  ///< in which `address` is an offset; 0: none
  std::uint8_t kind;       ///< OperationKind
  std::uint8_t contiguous;
  std::uint8_t unused[6];
};
static_assert(sizeof(FailureReply) == 32);

OperationKind operation_kind(RequestHeader const& header) noexcept;

/// Of a request of the operation; its `address` may have been resolved at `exposed_base`.
FailureReply failure_reply(RequestHeader const& header, std::uint64_t exposed_base) noexcept;

/// The payload of a reply `failed`; one that is malformed is of an unknown kind.
LateError late_error(Status status, std::span<std::byte const> payload) noexcept;

/// A request whose fields are consistent with each other and with the size of its payload.
struct CheckedRequest {
  RequestHeader header;
  Layout layout;  ///< views into the message, or into `dimensions`
  std::span<std::byte const> data;
};

/// Whose request it says it is: RequestHeader::session, 0 also where it is not a request of this version.
/// All that is read of a stranger's message.
std::uint64_t session_of(std::span<std::byte const> header) noexcept;

/// Checks a message from the network. `payload` must be aligned to 8 bytes. Returns nullptr and fills
/// `out` when it is sound, else a text that says what is wrong with it. `copy`: where the description of the
/// layout is copied to first, when somebody else may change the message meanwhile; aligned to 8 bytes.
char const* check(std::span<std::byte const> header, std::span<std::byte const> payload, CheckedRequest* out,
                  std::span<std::byte> copy = {}) noexcept;
char const* check(std::span<std::byte const> header, std::span<std::byte const> payload,
                  ReplyHeader* out) noexcept;
char const* check(std::span<std::byte const> header, FarewellHeader* out) noexcept;

/// Whether a request that did not pass its check still tells which position of whose stream it takes, so that
/// it can be answered; fills `out`.
bool is_answerable(std::span<std::byte const> header, RequestHeader* out) noexcept;

}  // namespace mpixrma::engine::wire

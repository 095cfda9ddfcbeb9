/// Executor: the execution of one request on this process's memory.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/base/unwatched.hpp"
#include "engine/memory/probe.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/whole_elements.hpp"
#include "engine/op/layout/boxes.hpp"
#include "engine/sync/footprint.hpp"
#include "engine/target/access_memory.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

namespace {

/// Returns the bytes relative to the base that bytes [position, position + bytes) of the layout's data
/// occupy.
Extent touched(Layout const& layout, std::size_t position, std::size_t bytes) noexcept {
  if (bytes == 0) return {0, 0};
  if (layout.is_contiguous()) {
    auto const begin = static_cast<std::ptrdiff_t>(position);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
  }
  Extent extent{PTRDIFF_MAX, PTRDIFF_MIN};
  for_boxes(layout, position, bytes, [&](Layout const& box, std::ptrdiff_t offset, std::size_t) {
    Extent const part = box.extent();
    extent.begin = std::min(extent.begin, offset + part.begin);
    extent.end = std::max(extent.end, offset + part.end);
  });
  return extent;
}

/// Whether the range has not many more pages than the request has pieces.
bool is_dense(wire::CheckedRequest const& request, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t few_pages = 8;
  Layout const& layout = request.layout;
  std::uint64_t const blocks = layout.block == 0 ? 0 : request.header.bytes / layout.block;
  return bytes / page <= blocks * std::max<std::size_t>(layout.segments.size(), 1) + few_pages;
}

std::byte* pointer(RemoteAddress address) noexcept { return reinterpret_cast<std::byte*>(address); }

/// Returns the guarantee of an update.
Guarantee guarantees_of(wire::RequestHeader const& header) noexcept {
  if ((header.flags & wire::flag_elements) != 0) return Guarantee::element_atomic;
  bool const whole = (header.flags & (wire::flag_atomic | wire::flag_held)) != 0;
  return whole ? Guarantee::atomic : Guarantee::none;
}

/// Returns the elements of an update for which touched_range() has succeeded.
ElementUpdate elements_of(wire::CheckedRequest const& request) noexcept {
  wire::RequestHeader const& header = request.header;
  ElementUpdate update{static_cast<ElementType>(header.element_type), 0, 0};
  (void)touched_range(request, &update.begin, &update.end);
  update.single =
      is_single(guarantees_of(header), static_cast<ReduceOp>(header.operation), update.type, header.total);
  return update;
}

bool uses_memory(wire::RequestKind kind) noexcept {
  using enum wire::RequestKind;
  return kind == put || kind == get || kind == update;
}

/// Returns the rights that an exposure must grant.
Rights rights_for(wire::RequestHeader const& header) noexcept {
  switch (header.kind) {
    case wire::RequestKind::get: return Rights::read;
    case wire::RequestKind::put: return Rights::write;
    default: break;
  }
  return (wire::is_fetching(header) ? Rights::read : Rights::none) |
         (wire::is_write(header) ? Rights::update : Rights::none);
}

}  // namespace

bool touched_range(wire::CheckedRequest const& request, RemoteAddress* begin, RemoteAddress* end) noexcept {
  Extent const extent = touched(request.layout, request.header.position, request.header.bytes);
  *begin = request.header.address + static_cast<std::uint64_t>(extent.begin);
  *end = request.header.address + static_cast<std::uint64_t>(extent.end);
  bool const low = extent.begin < 0 && *begin > request.header.address;
  bool const high = extent.end > 0 && *end < request.header.address;
  return !low && !high && *begin <= *end;
}

StripeSets stripes_for(wire::CheckedRequest const& request, UpdateModes const& modes) noexcept {
  wire::RequestHeader const& header = request.header;
  wire::RequestKind const kind = header.kind;
  if ((header.flags & wire::flag_held) != 0) return {};
  bool shared = !wire::is_write(header);
  StripeSet stripes = 0;
  if (kind == wire::RequestKind::lock) {
    stripes = header.stripes;
    shared = (header.flags & wire::flag_shared) != 0;
  } else {
    auto const elements = [&] { return elements_of(request); };
    bool const wanted = kind == wire::RequestKind::update
                            ? locks_target(guarantees_of(header), request.layout, elements, modes)
                            : (header.flags & wire::flag_atomic) != 0;
    RemoteAddress begin = 0;
    RemoteAddress end = 0;
    if (wanted && touched_range(request, &begin, &end)) stripes = stripes_of(begin, end);
  }
  return shared ? StripeSets{0, stripes} : StripeSets{stripes, 0};
}

/// Memory of the regions is valid as long as its segment, and registered memory as long as an origin
/// guarantees it; everything else is probed.
/// `*accessed` receives the addresses that the request accesses.
Status Executor::reachable(wire::CheckedRequest const& request, bool write, FaultRange* accessed) const {
  RemoteAddress begin = 0;
  RemoteAddress end = 0;
  if (!touched_range(request, &begin, &end)) return Status::bad_address;
  *accessed = {begin, end};
  (void)admit_faults();
  bool const vouched = (request.header.flags & wire::flag_registered) != 0;
  auto const probe = [&](RemoteAddress from, std::size_t bytes) {
    OwnSegment const* const segment = segments_.find(from);
    bool const sure = segment != nullptr && (vouched || !segment->user_memory());
    if (sure && segment->contains(from, bytes)) return Status::ok;
    bool const overruns = segment != nullptr && !segment->contains(from, bytes);
    // A range that begins in freed memory of a region is mapped but invalid.
    if (segments_.in_region(from, bytes)) return overruns ? Status::overrun : Status::bad_address;
    if (accessible(pointer(from), bytes, write)) return Status::ok;
    Status const reason = reason_for_fault(pointer(from), bytes, write);
    return overruns && reason == Status::bad_address ? Status::overrun : reason;
  };
  bool const contiguous = request.layout.is_contiguous();
  // At once if dense: a probe allocates pages of untouched memory, so large gaps should not be probed.
  bool const at_once = contiguous || is_dense(request, end - begin);
  Status status = at_once ? probe(begin, end - begin) : Status::bad_address;
  if (contiguous || !failed(status)) return status;
  // The gaps of a layout need not be mapped, so probe only the accessed memory.
  LayoutCursor cursor(request.layout);
  cursor.seek(request.header.position);
  for (std::size_t rest = request.header.bytes; rest != 0;) {
    Segment const run = cursor.next(rest);
    status = probe(request.header.address + static_cast<std::uint64_t>(run.offset), run.length);
    if (failed(status)) return status;
    rest -= run.length;
  }
  return Status::ok;
}

/// Replaces exposures and offsets by addresses; a rejected request keeps its offset.
Status Executor::resolve(wire::CheckedRequest& request) const {
  wire::RequestHeader& header = request.header;
  wire::RequestKind const kind = header.kind;
  if (header.exposure == 0 && credentials_.exposed_only && uses_memory(kind)) return Status::access_denied;
  if ((header.exposure | header.notify_exposure) == 0 || kind == wire::RequestKind::find_segment)
    return Status::ok;
  RemoteAddress base = 0;
  if (header.exposure != 0) {
    Exposure const* const exposure = segments_.exposures().find(static_cast<ExposureId>(header.exposure));
    if (exposure == nullptr) return Status::stale_exposure;
    Extent const extent = touched(request.layout, header.position, header.bytes);
    Status const status = exposure->permits(header.address, extent, rights_for(header));
    if (failed(status)) return status;
    base = exposure->base;
    header.flags |= wire::flag_registered;  // as long as it is exposed
  }
  if (header.notify_exposure != 0) {
    Exposure const* const exposure =
        segments_.exposures().find(static_cast<ExposureId>(header.notify_exposure));
    if (exposure == nullptr) return Status::stale_exposure;
    Status const status = exposure->permits_counter(header.notify);
    if (failed(status)) return status;
    header.notify += exposure->base;
  }
  header.address += base;
  return Status::ok;
}

/// Returns the base that resolve() has added to the address of a request that it has accepted.
std::uint64_t Executor::exposed_base(wire::RequestHeader const& header) const noexcept {
  if (header.exposure == 0 || !uses_memory(header.kind)) return 0;
  Exposure const* const exposure = segments_.exposures().find(static_cast<ExposureId>(header.exposure));
  return exposure != nullptr ? exposure->base : 0;
}

/// Executes the request, unless `status` is a failure already, and increments its counter. Answers a failure.
void Executor::execute_or_fail(Origin& origin, wire::CheckedRequest const& request, Status status) {
  std::size_t const replies = replies_.size();
  bool const refused = failed(status);
  if (!failed(status)) status = execute(origin, request);
  if (Status const counted = count(origin, request, failed(status)); !failed(status)) status = counted;
  if (!failed(status)) return;
  replies_.drop_from(replies);  // including data fetched before the failure
  replies_.add_failure(origin, request.header, status, refused ? 0 : exposed_base(request.header));
}

Status Executor::execute(Origin& origin, wire::CheckedRequest const& request) {
  switch (request.header.kind) {
    case wire::RequestKind::find_segment: answer_query(origin, request); return Status::ok;
    case wire::RequestKind::forgotten:
      holders_.remove(request.header.token, origin.process);
      return Status::ok;
    case wire::RequestKind::acquire: acquire_lock(origin, request.header); return Status::ok;
    case wire::RequestKind::release: return release_lock(origin, request.header);
    default: break;
  }
  bool const named = request.header.notify_exposure != 0;
  if (!named && request.header.notify != 0 && !counter_exists(request.header.notify))
    return Status::bad_address;
  FaultRange accessed;
  Status const status = reachable(request, wire::is_write(request.header), &accessed);
  if (failed(status)) return status;
  [[maybe_unused]] Unwatched const unwatched;
  return carry_out(origin, request, accessed);
}

/// LockTable gives the answer. For an in-stream lock, the answer's token is the context of its errors.
void Executor::acquire_lock(Origin const& origin, wire::RequestHeader const& header) {
  auto const kind = static_cast<wire::AcquireKind>(header.operation);
  bool const alone = kind == wire::AcquireKind::exclusive || kind == wire::AcquireKind::try_exclusive;
  bool const attempt = kind == wire::AcquireKind::try_exclusive || kind == wire::AcquireKind::try_shared;
  bool const in_stream = wire::locks_in_stream(header);
  LockTable::Request const request{.owner = {origin.process, header.owner},
                                   .mode = alone ? LockMode::exclusive : LockMode::shared,
                                   .overtakes = kind == wire::AcquireKind::overtaking,
                                   .time = header.lock_time,
                                   .token = in_stream ? header.context : header.token,
                                   .position = in_stream ? header.sequence : 0,
                                   .answers = &lock_answers_};
  auto const lock = static_cast<LockId>(header.address);
  attempt ? locks_.try_acquire(lock, request) : locks_.acquire(lock, request);
}

Status Executor::release_lock(Origin const& origin, wire::RequestHeader const& header) {
  auto const lock = static_cast<LockId>(header.address);
  if (static_cast<wire::ReleaseKind>(header.operation) == wire::ReleaseKind::taken)
    return locks_.look(lock, lock_answers_);
  return locks_.release(lock, {origin.process, header.owner}, lock_answers_);
}

bool Executor::counter_exists(RemoteAddress counter) const {
  if (credentials_.exposed_only) return false;
  OwnSegment const* const segment = segments_.find(counter);
  return segment != nullptr && !segment->user_memory() && segment->contains(counter, sizeof(std::uint64_t));
}

/// Increments the operation's counter if this was its last message and none has failed.
Status Executor::count(Origin& origin, wire::CheckedRequest const& request, bool failed) {
  wire::RequestHeader const& header = request.header;
  if ((header.notify | header.notify_exposure) == 0) return Status::ok;
  Counted state{0, failed};
  if (header.bytes < header.total) {
    auto& counted = origin.make_out_of_order().counted;
    if (!counted.contains(header.token) && !add_entry(origin)) return Status::out_of_memory;
    Counted& kept = counted[header.token];
    kept.bytes += header.bytes;
    kept.failed = kept.failed || failed;
    if (kept.bytes < header.total) return Status::ok;
    state = kept;
    counted.erase(header.token);
    remove_entry(origin);
  }
  if (state.failed) return Status::ok;
  (void)admit_faults();
  return access_memory({header.notify, header.notify + sizeof(std::uint64_t)}, true, [&] {
    __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(header.notify), 1, __ATOMIC_SEQ_CST);
  });
}

Status Executor::carry_out(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed) {
  wire::RequestHeader const& header = request.header;
  // Effects of its predecessors must be visible to processes that load and store here before this request
  // reads.
  if (header.after != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  switch (header.kind) {
    case wire::RequestKind::put:
      return access_memory(accessed, true, [&] {
        unpack(pointer(header.address), request.layout, header.position, request.data.data(),
               request.data.size());
      });
    case wire::RequestKind::get: return send_data(origin, request, accessed);
    case wire::RequestKind::update: return update_memory(origin, request, accessed);
    default: return Status::malformed;
  }
}

/// Fetched data is returned in replies of one fragment each.
Status Executor::update_memory(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed) {
  wire::RequestHeader const& header = request.header;
  bool const fetch = wire::is_fetching(header);
  auto const type = static_cast<ElementType>(header.element_type);
  std::size_t const most = whole_elements(type, settings_.fragment_bytes);
  for (std::uint64_t done = 0; done < header.bytes;) {
    std::size_t const rest = header.bytes - done;
    std::size_t const bytes = fetch ? std::min(most, rest) : rest;
    std::byte* const fetched = fetch ? new_data(origin, header, done, bytes) : nullptr;
    Status const status = access_memory(accessed, wire::is_write(header), [&] {
      update_part_of(request, pointer(header.address), done, bytes, fetched);
    });
    if (failed(status)) return status;
    done += bytes;
  }
  return Status::ok;
}

/// Updates the `bytes` bytes from `done` on of the request's range. `fetched` receives their previous values,
/// or is nullptr.
void Executor::update_part_of(wire::CheckedRequest const& request, std::byte* base, std::uint64_t done,
                              std::size_t bytes, std::byte* fetched) const noexcept {
  wire::RequestHeader const& header = request.header;
  alignas(32) std::byte scale[sizeof header.scale];
  std::memcpy(scale, header.scale, sizeof scale);
  UpdateModes& modes = segments_.stripes().modes;
  ElementUpdate const elements = elements_of(request);
  bool const atomic = guarantees_of(header) != Guarantee::none && uses_cpu_atomics(modes, elements);
  Reduction const reduction{static_cast<ElementType>(header.element_type),
                            static_cast<ReduceOp>(header.operation), atomic,
                            (header.flags & wire::flag_scale) != 0 ? scale : nullptr};
  auto const operand = [&](unsigned which) {
    bool const there = operand_count(reduction.operation) > which;
    return there ? request.data.data() + which * header.bytes + done : nullptr;
  };
  update_part(reduction, base, request.layout, header.position + done,
              {operand(0), operand(1), fetched, bytes},
              atomic ? atomic_places(modes, elements, base, header.address) : AtomicPlaces{});
}

/// Creates a reply for the `bytes` bytes from `done` on of the request's range; returns the location for
/// them.
std::byte* Executor::new_data(Origin& origin, wire::RequestHeader const& header, std::uint64_t done,
                              std::size_t bytes) {
  Replies::Reply& reply = replies_.add(origin, wire::ReplyKind::data, header);
  reply.header.offset = header.offset + done;
  reply.header.bytes = bytes;
  return replies_.add_payload(reply, bytes);
}

Status Executor::send_data(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed) {
  wire::RequestHeader const& header = request.header;
  for (std::uint64_t done = 0; done < header.bytes;) {
    std::size_t const bytes = std::min<std::uint64_t>(settings_.fragment_bytes, header.bytes - done);
    std::byte* const data = new_data(origin, header, done, bytes);
    Status const status = access_memory(accessed, false, [&] {
      pack(data, pointer(header.address), request.layout, header.position + done, bytes);
    });
    if (failed(status)) return status;
    done += bytes;
  }
  return Status::ok;
}

}  // namespace mpixrma::engine

#include "engine/target/requested_memory.hpp"

#include <algorithm>
#include <cstring>

#include "engine/memory/probe.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/layout/boxes.hpp"
#include "engine/sync/footprint.hpp"
#include "engine/target/access_memory.hpp"

namespace mpixrma::engine {

namespace {

/// Returns the range, relative to the base, that bytes [position, position + bytes) of the layout's data
/// span.
Extent touched(Layout const& layout, std::size_t position, std::size_t bytes) noexcept {
  if (bytes == 0) return {0, 0};
  if (layout.is_contiguous()) {
    auto const begin = static_cast<std::ptrdiff_t>(position);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
  }
  if (position == 0 && bytes == layout.size()) return layout.extent();
  Extent extent{PTRDIFF_MAX, PTRDIFF_MIN};
  for_boxes(layout, position, bytes, [&](Layout const& box, std::ptrdiff_t offset, std::size_t) {
    Extent const part = box.extent();
    extent.begin = std::min(extent.begin, offset + part.begin);
    extent.end = std::max(extent.end, offset + part.end);
  });
  return extent;
}

/// Whether the range has at most `extra_pages` more pages than the request has pieces.
bool is_dense(wire::CheckedRequest const& request, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t extra_pages = 8;
  Layout const& layout = request.layout;
  std::uint64_t const blocks = layout.block == 0 ? 0 : request.header.bytes / layout.block;
  return bytes / page <= blocks * std::max<std::size_t>(layout.runs.size(), 1) + extra_pages;
}

bool is_in_one_page(RemoteAddress begin, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t page = 4096;
  return begin / page == (begin + bytes - 1) / page;
}

std::byte* pointer(RemoteAddress address) noexcept { return reinterpret_cast<std::byte*>(address); }

/// Returns the operation flags of an update.
OpFlags op_flags_of(wire::RequestHeader const& header) noexcept {
  if ((header.flags & wire::flag_elements) != 0) {
    bool const arrays = (header.flags & wire::flag_arrays) != 0;
    return arrays ? OpFlags::element_atomic | OpFlags::keeps_arrays : OpFlags::element_atomic;
  }
  bool const whole = (header.flags & (wire::flag_atomic | wire::flag_held)) != 0;
  return whole ? OpFlags::atomic : OpFlags::none;
}

/// Returns the elements of an update that accesses this range.
ElementUpdate elements_of(wire::CheckedRequest const& request, FaultRange accessed) noexcept {
  wire::RequestHeader const& header = request.header;
  ElementUpdate update{static_cast<ElementType>(header.element_type), accessed.begin, accessed.end};
  update.single =
      is_single(op_flags_of(header), static_cast<ReduceOp>(header.operation), update.type, header.total);
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
  Extent const extent = touched(request.layout, request.header.layout_offset, request.header.bytes);
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
  if (kind == wire::RequestKind::stripe_lock) {
    stripes = header.stripes;
    shared = (header.flags & wire::flag_shared) != 0;
  } else {
    // If touched_range() fails, the elements are arbitrary: find() then rejects the request.
    auto const elements = [&] {
      FaultRange accessed;
      (void)touched_range(request, &accessed.begin, &accessed.end);
      return elements_of(request, accessed);
    };
    bool const wanted = kind == wire::RequestKind::update
                            ? locks_target(op_flags_of(header), request.layout, elements, modes)
                            : (header.flags & wire::flag_atomic) != 0;
    RemoteAddress begin = 0;
    RemoteAddress end = 0;
    if (wanted && touched_range(request, &begin, &end)) stripes = stripes_of(begin, end);
  }
  return shared ? StripeSets{0, stripes} : StripeSets{stripes, 0};
}

/// A run that an earlier message has begun must not continue into memory of another segment.
Status RequestedMemory::check_first_run(wire::CheckedRequest const& request) const noexcept {
  if (request.header.layout_offset == 0) return Status::ok;
  LayoutCursor cursor(request.layout);
  cursor.seek(request.header.layout_offset);
  std::size_t const before = cursor.within();
  if (before == 0) return Status::ok;
  LayoutRun const rest = cursor.next(request.header.bytes);
  RemoteAddress const begin = request.header.address + static_cast<std::uint64_t>(rest.offset) - before;
  std::size_t const bytes = before + rest.length;
  if (!segments_.in_region(begin, bytes)) return Status::ok;
  OwnSegment const* const segment = segments_.find(begin);
  if (segment == nullptr) return Status::bad_address;
  return segment->contains(begin, bytes) ? Status::ok : Status::overrun;
}

/// Memory of the regions is valid as long as its segment, and registered memory as long as the origin
/// guarantees that (flag_registered). Other memory is probed, unless it lies in a single page.
Status RequestedMemory::find(wire::CheckedRequest const& request, FaultRange* accessed) const {
  RemoteAddress begin = 0;
  RemoteAddress end = 0;
  if (!touched_range(request, &begin, &end)) return Status::bad_address;
  *accessed = {begin, end};
  (void)admit_faults();
  Access const access = access_of(request.header);
  bool const vouched = (request.header.flags & wire::flag_registered) != 0;
  if (Status const status = check_first_run(request); failed(status)) return status;
  auto const probe = [&](RemoteAddress from, std::size_t bytes) {
    OwnSegment const* const segment = segments_.find(from);
    bool const sure = segment != nullptr && (vouched || !segment->user_memory());
    if (sure && segment->contains(from, bytes)) return Status::ok;
    bool const overruns = segment != nullptr && !segment->contains(from, bytes);
    // A range that begins in freed memory of a region is mapped but invalid.
    if (segments_.in_region(from, bytes)) return overruns ? Status::overrun : Status::bad_address;
    // A single page needs no probe: an invalid one faults before the access has changed anything.
    if (!overruns && is_in_one_page(from, bytes)) return Status::ok;
    if (accessible(pointer(from), bytes, access)) return Status::ok;
    Status const reason = reason_for_fault(pointer(from), bytes, access);
    return overruns && reason == Status::bad_address ? Status::overrun : reason;
  };
  bool const contiguous = request.layout.is_contiguous();
  // At once if dense: a probe allocates pages of untouched memory, so large gaps should not be probed.
  bool const at_once = contiguous || is_dense(request, end - begin);
  Status status = at_once ? probe(begin, end - begin) : Status::bad_address;
  if (contiguous || !failed(status)) return status;
  // The gaps of a layout need not be mapped, so probe only the accessed memory.
  LayoutCursor cursor(request.layout);
  cursor.seek(request.header.layout_offset);
  for (std::size_t rest = request.header.bytes; rest != 0;) {
    LayoutRun const run = cursor.next(rest);
    status = probe(request.header.address + static_cast<std::uint64_t>(run.offset), run.length);
    if (failed(status)) return status;
    rest -= run.length;
  }
  return Status::ok;
}

Status RequestedMemory::resolve(wire::CheckedRequest& request) const {
  wire::RequestHeader& header = request.header;
  wire::RequestKind const kind = header.kind;
  if (header.exposure == 0 && exposed_only_ && uses_memory(kind)) return Status::access_denied;
  if ((header.exposure | header.notify_exposure) == 0 || kind == wire::RequestKind::find_segment)
    return Status::ok;
  RemoteAddress base = 0;
  if (header.exposure != 0) {
    Exposure const* const exposure = segments_.exposures().find(static_cast<ExposureId>(header.exposure));
    if (exposure == nullptr) return Status::stale_exposure;
    Extent const extent = touched(request.layout, header.layout_offset, header.bytes);
    Status const status = exposure->permits(header.address, extent, rights_for(header));
    if (failed(status)) return status;
    base = exposure->base;
    header.flags |= wire::flag_registered;  // exposed memory counts as registered
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

std::uint64_t RequestedMemory::exposed_base(wire::RequestHeader const& header) const noexcept {
  if (header.exposure == 0 || !uses_memory(header.kind)) return 0;
  Exposure const* const exposure = segments_.exposures().find(static_cast<ExposureId>(header.exposure));
  return exposure != nullptr ? exposure->base : 0;
}

bool RequestedMemory::has_counter(RemoteAddress counter) const {
  if (exposed_only_) return false;
  OwnSegment const* const segment = segments_.find(counter);
  return segment != nullptr && !segment->user_memory() && segment->contains(counter, sizeof(std::uint64_t));
}

std::span<std::byte const> RequestedMemory::allocated_range(
    wire::CheckedRequest const& request) const noexcept {
  wire::RequestHeader const& header = request.header;
  if (header.kind != wire::RequestKind::get || !request.layout.is_contiguous()) return {};
  RemoteAddress const begin = header.address + header.layout_offset;
  OwnSegment const* const segment = segments_.find(begin);
  bool const allocated =
      segment != nullptr && !segment->user_memory() && segment->contains(begin, header.bytes);
  return allocated ? std::span<std::byte const>(pointer(begin), header.bytes) : std::span<std::byte const>();
}

Status RequestedMemory::execute_part(wire::CheckedRequest const& request, FaultRange accessed, DataRange part,
                                     std::byte* fetched) const noexcept {
  wire::RequestHeader const& header = request.header;
  std::byte* const base = pointer(header.address);
  std::uint64_t const position = header.layout_offset + part.offset;
  return access_memory(accessed, access_of(header), [&] {
    switch (header.kind) {
      case wire::RequestKind::put:
        return unpack(base, request.layout, position, request.data.data() + part.offset, part.bytes);
      case wire::RequestKind::get: return pack(fetched, base, request.layout, position, part.bytes);
      default: return update(request, accessed, part, fetched);
    }
  });
}

RequestedMemory::RunMemory RequestedMemory::find_run(wire::RequestRun const& run) const noexcept {
  wire::RequestHeader const& header = run.header();
  RunMemory found;
  Exposure const* exposure = nullptr;
  if (header.exposure != 0) {
    exposure = segments_.exposures().find(static_cast<ExposureId>(header.exposure));
    if (exposure == nullptr) return found;
    found.base = exposure->base;
  } else if (exposed_only_) {
    return found;
  }
  bool const vouched = exposure != nullptr || (header.flags & wire::flag_registered) != 0;
  OwnSegment const* const segment = segments_.find(found.base + header.address);
  if (segment == nullptr || (segment->user_memory() && !vouched)) return found;
  Rights const rights = rights_for(header);
  Extent const extent{0, static_cast<std::ptrdiff_t>(header.bytes)};
  RemoteAddress lowest = UINT64_MAX;
  RemoteAddress highest = 0;
  found.count = run.visit_while([&](RemoteAddress address, std::byte const*) {
    RemoteAddress const begin = found.base + address;
    if (exposure != nullptr && failed(exposure->permits(address, extent, rights))) return false;
    if (!segment->contains(begin, header.bytes)) return false;
    lowest = std::min(lowest, begin);
    highest = std::max(highest, begin);
    return true;
  });
  if (found.count != 0) found.accessed = {lowest, highest + header.bytes};
  return found;
}

void RequestedMemory::execute_unguarded(wire::CheckedRequest const& request) const noexcept {
  wire::RequestHeader const& header = request.header;
  std::byte* const base = pointer(header.address);
  if (header.kind == wire::RequestKind::update) {
    // The most frequent update, a sum without CPU atomics, has a kernel for each type.
    auto const type = static_cast<ElementType>(header.element_type);
    bool const without_atomics = op_flags_of(header) == OpFlags::none || !has_cpu_atomics(type);
    bool const is_sum = static_cast<ReduceOp>(header.operation) == ReduceOp::sum;
    if (!without_atomics || !is_sum || (header.flags & wire::flag_scale) != 0)
      return update(request, {header.address, header.address + header.bytes}, {0, header.bytes}, nullptr);
    Reduction const sum{.type = type, .operation = ReduceOp::sum};
    return accumulate_contiguous(sum, base, request.data.data(), header.bytes);
  }
  if (header.bytes == sizeof(std::uint64_t)) {
    copy_bytes(base, request.data.data(), sizeof(std::uint64_t));
  } else {
    unpack(base, request.layout, 0, request.data.data(), header.bytes);
  }
}

void RequestedMemory::update(wire::CheckedRequest const& request, FaultRange accessed, DataRange part,
                             std::byte* fetched) const noexcept {
  wire::RequestHeader const& header = request.header;
  alignas(32) std::byte scale[sizeof header.scale];
  std::memcpy(scale, header.scale, sizeof scale);
  UpdateModes& modes = segments_.stripes().modes;
  ElementUpdate const elements = elements_of(request, accessed);
  bool const atomic = op_flags_of(header) != OpFlags::none && uses_cpu_atomics(modes, elements);
  Reduction const reduction{static_cast<ElementType>(header.element_type),
                            static_cast<ReduceOp>(header.operation), atomic,
                            (header.flags & wire::flag_scale) != 0 ? scale : nullptr};
  auto const operand = [&](unsigned which) {
    bool const there = operand_count(reduction.operation) > which;
    return there ? request.data.data() + which * header.bytes + part.offset : nullptr;
  };
  std::byte* const base = pointer(header.address);
  update_part(reduction, base, request.layout, header.layout_offset + part.offset,
              {operand(0), operand(1), fetched, part.bytes},
              atomic ? atomic_regions(modes, elements, base, header.address) : AtomicRegions{});
}

}  // namespace mpixrma::engine

#include "engine/target/segment_queries.hpp"

#include <cstring>

namespace mpixrma::engine {

void SegmentQueries::revoke(std::uint64_t number, RemoteAddress base) {
  holders_.for_each(number, [&](std::uint64_t process) {
    wire::RequestHeader none{};
    none.operation_id = number;
    replies_.add(*origins_.find(process), wire::ReplyKind::revoke, none).header.offset = base;
  });
  replies_.send_all();
}

void SegmentQueries::forget_process(std::uint64_t process) noexcept {
  holders_.remove_process(process, credentials_.exposed_only ? KeyHolders::DepartedKeys::retained
                                                             : KeyHolders::DepartedKeys::forgotten);
}

void SegmentQueries::reply(Origin& origin, wire::CheckedRequest const& request) {
  wire::SegmentReply found{};
  std::vector<std::byte> key;
  auto const id = static_cast<ExposureId>(request.header.exposure);
  Exposure const* const exposure = segments_.exposures().find(id);
  OwnSegment const* const segment =
      segments_.find(exposure != nullptr ? exposure->base : request.header.address);
  bool const is_hidden = credentials_.exposed_only && id == ExposureId::none;
  if (is_hidden || (id != ExposureId::none && (exposure == nullptr || segment == nullptr))) {
    found.is_gap = 1;
  } else if (segment == nullptr) {
    SegmentTable::Gap const gap = segments_.gap_around(request.header.address);
    found.base = gap.begin;
    found.length = gap.end - gap.begin;
    found.is_gap = 1;
  } else {
    if (provide_key_) key = provide_key_(*segment);
    found.number = segment->generation;
    found.base = segment->base;
    found.length = segment->length;
    found.key_bytes = key.size();
    found.is_internal = segment->internal ? 1 : 0;
    if (!key.empty()) holders_.add(segment->generation, origin.process);
  }
  if (exposure != nullptr && segment != nullptr) {
    found.exposure = request.header.exposure;
    found.exposed_base = exposure->base;
    found.exposed_length = exposure->length;
    found.rights = static_cast<std::uint64_t>(exposure->rights);
    // Peers that can only send messages need not drop anything before the exposure ends.
    if (!credentials_.exposed_only || !key.empty()) holders_.add(request.header.exposure, origin.process);
  }
  Replies::Reply& reply = replies_.add(origin, wire::ReplyKind::segment, request.header);
  reply.header.bytes = sizeof found + key.size();
  std::byte* const out = replies_.add_payload(reply, reply.header.bytes);
  std::memcpy(out, &found, sizeof found);
  if (!key.empty()) std::memcpy(out + sizeof found, key.data(), key.size());
}

}  // namespace mpixrma::engine

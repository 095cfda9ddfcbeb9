#include "engine/runtime/exposures.hpp"

#include <mutex>
#include <set>
#include <vector>

#include "engine/memory/memory_map.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

void EngineExposures::update_by_elements(void const* base, std::size_t bytes) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  switch_to_elements(state_.segments.stripes(), begin, begin + bytes);
}

Status EngineExposures::expose(void* base, std::size_t bytes, Rights rights, ExposureId* id) {
  if (rights == Rights::none || !includes(Rights::all, rights)) return Status::bad_argument;
  MemoryRights found;
  if (Status const status = memory_.attach(base, bytes, PeerAccess::as_permitted, Registrar::host, &found);
      failed(status))
    return status;
  if (!found.writable) rights = without_writing(rights);
  Status status = Status::ok;
  {
    std::lock_guard const held(state_.channels);
    status = state_.segments.expose({reinterpret_cast<RemoteAddress>(base), bytes, rights}, id);
  }
  if (failed(status)) (void)memory_.detach(base, bytes);
  return status;
}

UnusedExposureIds EngineExposures::unused_exposure_ids() const {
  std::lock_guard const held(state_.channels.front().lock);
  return state_.segments.unused_exposure_ids();
}

Status EngineExposures::change_id(ExposureId from, ExposureId to) {
  std::lock_guard const held(state_.channels);
  return state_.segments.change_id(from, to);
}

Status EngineExposures::withdraw(ExposureId id) {
  WithdrawnExposure left;
  if (Status const status = start_withdraw(id, &left); failed(status)) return status;
  waits_.until([&] { return is_unreachable(left); });
  return Status::ok;
}

Status EngineExposures::start_withdraw(ExposureId id, WithdrawnExposure* left) {
  std::lock_guard const held(state_.channels);
  Exposure withdrawn;
  if (Status const status = state_.segments.withdraw(id, &withdrawn); failed(status)) return status;
  state_.revocations.revoke(static_cast<std::uint64_t>(id), withdrawn.base);
  left->id = id;
  // The MPI host may have ended the registration itself.
  (void)memory_.start_detach(reinterpret_cast<void const*>(withdrawn.base), withdrawn.length, Registrar::host,
                             left);
  return Status::ok;
}

bool EngineExposures::is_unreachable(WithdrawnExposure const& left) {
  std::lock_guard const held(state_.channels);
  bool const dropped = state_.revocations.are_dropped(left.begin, left.end);
  return state_.revocations.is_dropped(static_cast<std::uint64_t>(left.id)) && dropped;
}

void EngineExposures::renew_keys() {
  std::lock_guard const held(state_.channels);
  std::set<std::uint64_t> departed;
  state_.channels.for_each([&](Channel& channel) { channel.executor.queries.find_departed(&departed); });
  if (!departed.empty()) {
    std::vector<OwnSegment> replaced;
    state_.segments.renew(departed, &replaced);
    state_.revocations.revoke(replaced);
    state_.channels.for_each([](Channel& channel) { channel.executor.queries.forget_departed(); });
  }
  (void)state_.revocations.are_dropped(0, 0);
}

}  // namespace mpixrma::engine

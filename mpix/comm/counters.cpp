#include "mpix/comm/counters.hpp"

#include <utility>

#include "engine/runtime/engine.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

engine::RemoteAddress address_in(Counters::Place const& place, std::int64_t index) noexcept {
  if (index < 0 || index >= place.count) return 0;
  return place.base + static_cast<std::uint64_t>(index) * sizeof(std::uint64_t);
}

}  // namespace

void Counters::adopt(Place own, std::vector<Place> ranks) {
  drop();
  own_ = own;
  ranks_ = std::move(ranks);
}

void Counters::drop() {
  engine::Engine* const engine = hosted_engine();
  if (own_.base != 0 && engine != nullptr) {
    auto* const begin = reinterpret_cast<std::uint64_t*>(own_.base);
    engine->counters.forget(begin, begin + own_.count);
    (void)engine->memory.free(begin);
  }
  own_ = {};
  ranks_.clear();
}

std::uint64_t* Counters::own(std::int64_t index) const noexcept {
  return reinterpret_cast<std::uint64_t*>(address_in(own_, index));
}

std::int64_t Counters::count(int rank) const noexcept {
  return ranks_.empty() ? 0 : ranks_[static_cast<std::size_t>(rank)].count;
}

engine::RemoteAddress Counters::at(int rank, std::int64_t index) const noexcept {
  return ranks_.empty() ? 0 : address_in(ranks_[static_cast<std::size_t>(rank)], index);
}

}  // namespace mpixrma

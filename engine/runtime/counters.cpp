#include "engine/runtime/counters.hpp"

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

void EngineCounters::watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion) {
  state_.watches.add(counter, threshold, completion);
}

void EngineCounters::forget(void const* begin, void const* end) { state_.watches.forget(begin, end); }

}  // namespace mpixrma::engine

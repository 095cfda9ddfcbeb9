#include "engine/runtime/counters.hpp"

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

std::uint64_t EngineCounters::watch(std::uint64_t const* counter, std::uint64_t threshold,
                                    Completion& completion, std::int64_t index) {
  return state_.watches.add(counter, threshold, completion, index);
}

Completion* EngineCounters::cancel(std::uint64_t number) { return state_.watches.cancel(number); }

void EngineCounters::forget(void const* begin, void const* end) { state_.watches.forget(begin, end); }

}  // namespace mpixrma::engine

#include "engine/runtime/counters.hpp"

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

std::uint64_t EngineCounters::watch(std::uint64_t const* counter, std::uint64_t threshold,
                                    Completion& completion) {
  return state_.watches.add(counter, threshold, completion);
}

Completion* EngineCounters::cancel(std::uint64_t number) { return state_.watches.cancel(number); }

void EngineCounters::forget(void const* begin, void const* end) { state_.watches.forget(begin, end); }

}  // namespace mpixrma::engine

#include "tests/windows/random/shrink.hpp"

#include <algorithm>

namespace mpixrma::random_windows {

namespace {

/// Turns off as many of the switches as possible, in ever smaller runs of neighbours.
void turn_off(std::vector<bool*> switches, std::function<bool()> const& fails, int& trials) {
  for (std::size_t length = std::max<std::size_t>(switches.size(), 1);; length /= 2) {
    for (std::size_t begin = 0; begin < switches.size() && trials > 0;) {
      std::size_t const end = std::min(begin + length, switches.size());
      for (std::size_t i = begin; i < end; ++i) *switches[i] = false;
      --trials;
      if (fails()) {
        switches.erase(switches.begin() + static_cast<std::ptrdiff_t>(begin),
                       switches.begin() + static_cast<std::ptrdiff_t>(end));
        continue;
      }
      for (std::size_t i = begin; i < end; ++i) *switches[i] = true;
      begin = end;
    }
    if (length <= 1 || trials <= 0) return;
  }
}

bool is_flush(Call call) { return call >= Call::flush && call <= Call::sync; }

/// Returns the flushes of ranks without remaining operations in the episode.
std::vector<bool*> idle_flushes(Plan& plan) {
  std::vector<bool*> found;
  for (Episode& episode : plan.episodes) {
    for (std::size_t rank = 0; rank < episode.steps.front().size(); ++rank) {
      std::vector<bool*> flushes;
      bool idle = episode.enabled;
      for (auto& segment : episode.steps) {
        for (Step& step : segment[rank]) {
          if (step.enabled && is_operation(step.call)) idle = false;
          if (step.enabled && is_flush(step.call)) flushes.push_back(&step.enabled);
        }
      }
      if (idle) found.insert(found.end(), flushes.begin(), flushes.end());
    }
  }
  return found;
}

}  // namespace

void shrink(Plan& plan, std::function<bool()> const& fails, int trials) {
  // std::vector<bool> has no addresses: the plan's own members are the switches.
  std::vector<bool*> episodes;
  for (Episode& episode : plan.episodes) episodes.push_back(&episode.enabled);
  turn_off(episodes, fails, trials);
  std::vector<bool*> steps;
  for (Episode& episode : plan.episodes) {
    if (!episode.enabled) continue;
    for (auto& segment : episode.steps) {
      for (auto& rank : segment) {
        for (Step& step : rank) {
          if (!step.needed) steps.push_back(&step.enabled);
        }
      }
    }
  }
  turn_off(steps, fails, trials);
  turn_off(idle_flushes(plan), fails, trials);
}

}  // namespace mpixrma::random_windows

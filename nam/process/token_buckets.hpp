/// Rate limits: each source may do a number of things in a second. Counts what is refused to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpixrma::nam {

class Budgets {
 public:
  using Clock = std::chrono::steady_clock;
  struct Refused {
    std::string source;
    std::uint64_t count = 0;
  };
  /// The name under which further sources are counted together once there are too many.
  static constexpr char const* others = "others";

  Budgets(double a_second, double at_once) : a_second_(a_second), at_once_(at_once) {}

  /// Takes a token of the source, and returns the number of its refusals since the last one. Without a token
  /// left, counts `counts_for` refusals and returns nothing.
  std::optional<std::uint64_t> take(std::string const& source, Clock::time_point now,
                                    std::uint64_t counts_for = 1) {
    Budget& budget = budget_of(source, now);
    refill(budget, now);
    if (budget.left < 1) {
      budget.refused += counts_for;
      return std::nullopt;
    }
    budget.left -= 1;
    return std::exchange(budget.refused, 0);
  }

  /// Counts a refusal.
  void refuse(std::string const& source, Clock::time_point now) { ++budget_of(source, now).refused; }

  /// Takes a token from each source with refusals and a token left, and returns these refusals.
  std::vector<Refused> take_refused(Clock::time_point now) {
    std::vector<Refused> taken;
    for (auto& [source, budget] : budgets_) {
      refill(budget, now);
      if (budget.refused == 0 || budget.left < 1) continue;
      budget.left -= 1;
      taken.push_back({source, std::exchange(budget.refused, 0)});
    }
    return taken;
  }

 private:
  struct Budget {
    double left = 0;
    Clock::time_point filled;
    std::uint64_t refused = 0;
  };
  static constexpr std::size_t max_sources = 1024;

  double left_at(Budget const& budget, Clock::time_point now) const {
    double const seconds = std::chrono::duration<double>(now - budget.filled).count();
    return std::min(at_once_, budget.left + seconds * a_second_);
  }
  void refill(Budget& budget, Clock::time_point now) const {
    budget.left = left_at(budget, now);
    budget.filled = now;
  }

  Budget& budget_of(std::string const& source, Clock::time_point now) {
    bool const is_due = now - swept_ >= std::chrono::seconds(1);
    if (is_due && budgets_.size() >= max_sources && !budgets_.contains(source)) {
      swept_ = now;
      std::erase_if(budgets_, [&](auto const& entry) {
        return entry.second.refused == 0 && left_at(entry.second, now) >= at_once_;
      });
    }
    bool const has_room = budgets_.size() < max_sources || budgets_.contains(source);
    return budgets_.try_emplace(has_room ? source : others, Budget{at_once_, now}).first->second;
  }

  double a_second_;
  double at_once_;
  std::map<std::string, Budget> budgets_;
  Clock::time_point swept_{};
};

}  // namespace mpixrma::nam

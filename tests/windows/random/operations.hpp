/// Draws operations whose results are defined.
#pragma once

#include "tests/windows/random/conflicts.hpp"

namespace mpixrma::random_windows {

/// The targets that a rank may access in the epoch that it has opened.
struct Access {
  int window;
  int rank;
  bool passive;
  std::vector<int> targets;
};

class Operations {
 public:
  Operations(Shapes const& shapes, Features const& features, Plan& plan, Random& random)
      : shapes_(shapes), features_(features), plan_(plan), random_(random) {
    if (chance(Feature::meet, 20)) crowd_ = static_cast<int>(below(Layout::meetings));
  }

  /// Adds one operation, after a flush if one is needed; or a call that completes operations. `open`: all
  /// targets that the rank may access.
  void add(Access const& access, std::vector<Access> const& open, std::vector<Step>& steps);
  void add_store(int window, int rank, std::vector<Step>& steps);
  Conflicts& conflicts() { return conflicts_; }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }
  bool chance(Feature feature, unsigned percent) { return chance(percent) && features_.has(feature); }

  void add_completion(Access const& access, std::vector<Access> const& open, std::vector<Step>& steps);
  Call draw_completion();
  void note_completion(Step const& step, int rank);
  bool draw(Access const& access, Step& step);
  bool draw_call(Step& step);
  bool draw_meeting(Access const& access, Step& step);
  Base const* draw_base(int zone, Call call, Combine op);
  bool usable(Base const& base) const;
  bool draw_uses(Step& step);
  void draw_mixture(Step& step);
  int zone_of_doubles() const;
  bool place(Step& step, int rank, int zone, std::size_t grain);
  WindowPlan const& window(int index) const { return plan_.windows[static_cast<std::size_t>(index)]; }
  Layout const& layout(int index) const {
    return plan_.memories[static_cast<std::size_t>(window(index).memory)].layout;
  }

  Shapes const& shapes_;
  Features const& features_;
  Plan& plan_;
  Random& random_;
  Conflicts conflicts_;
  int crowd_ = -1;  ///< the meeting, at few targets, of nearly all operations; -1: none
};

}  // namespace mpixrma::random_windows

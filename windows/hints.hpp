/// The hints of a window's info object.
#pragma once

#include <cstddef>
#include <string>

#include "engine/operation.hpp"
#include "windows/mpix_windows.h"

namespace mpix::windows {

class Hints {
 public:
  /// As given when the window is made; ended by an entry without key. Throws where there is no memory.
  explicit Hints(mpix_window_hint const* given);

  /// Takes a hint that may be changed while the window lives. nullptr: the key is not known.
  char const* set(char const* key, char const* value);

  bool no_locks() const noexcept { return no_locks_; }
  bool noncontiguous() const noexcept { return noncontiguous_; }
  std::size_t alignment() const noexcept { return alignment_; }
  /// What operations of the accumulate family ask of the engine.
  engine::Guarantee accumulate_guarantees() const noexcept {
    using engine::Guarantee;
    return ordered_ ? Guarantee::element_atomic | Guarantee::update_ordered : Guarantee::element_atomic;
  }

 private:
  void take(char const* key, char const* value);

  bool no_locks_ = false;
  bool noncontiguous_ = false;
  bool same_size_ = false;
  bool same_disp_unit_ = false;
  bool single_intrinsic_ = false;
  bool ordered_ = true;
  std::size_t alignment_ = 0;
  std::string ordering_ = "rar,raw,war,waw";
  std::string operations_ = "same_op_no_op";
  std::string alignment_text_ = "64";
  std::string granularity_ = "0";
};

}  // namespace mpix::windows

/// Creation of targets at their first use.
#pragma once

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Creates the target if the table does not have it; returns nullptr as find_target() does.
Target* make_target(Window& window, int rank);
/// Returns nullptr if the rank is out of range or its process is unreachable.
inline Target* find_target(Window& window, int rank) {
  if (Target& recent = window.targets.recent(rank); !TargetTable::is_none(recent)) return &recent;
  Target* const known = window.targets.find(rank);
  if (known == nullptr) return make_target(window, rank);
  window.targets.note_recent(*known);
  return known;
}
/// Releases the peers of the target: its process and those that have its memory.
void release_peers(engine::Engine& engine, Target& target);

}  // namespace mpixrma::windows

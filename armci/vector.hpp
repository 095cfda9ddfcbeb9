/// Lists of equally long segments.
#pragma once

#include <cstddef>
#include <vector>

#include "armci/onesided.hpp"

namespace armci {

/// The segments of both sides in pairs, each relative to the base of its side.
struct Lists {
  void* local_base = nullptr;
  void* remote_base = nullptr;
  std::size_t segment_bytes = 0;
  std::vector<mpixrma::engine::LayoutRun> local;
  std::vector<mpixrma::engine::LayoutRun> remote;
};

/// Transfers by the method of the settings.
template <Direction direction, typename Mode>
void transfer_lists(char const* call, Lists const& lists, int process, Scaled const& scaled, Mode mode);
/// Transfers at most `batch` segments, at least 1, in one operation.
template <Direction direction, typename Mode>
void transfer_lists(char const* call, Lists const& lists, std::size_t batch, int process,
                    Scaled const& scaled, Mode mode);

}  // namespace armci

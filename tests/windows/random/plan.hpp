/// The plan of one round of the random test: windows, and calls on them with defined results. Every rank
/// makes the same plan from the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/stress/shapes.hpp"

namespace mpixrma::random_windows {

using stress::Base;
using stress::Combine;
using stress::Piece;
using stress::Random;
using stress::Shape;
using stress::Shapes;
using stress::Use;

/// Features of a plan; `--without` removes them by name.
enum class Feature {
  derived,   ///< derived datatypes
  exotic,    ///< other predefined types than MPI_BYTE, MPI_INT, MPI_LONG, MPI_DOUBLE
  create,    ///< MPI_Win_create
  allocate,  ///< MPI_Win_allocate
  shared,    ///< MPI_Win_allocate_shared
  dynamic,   ///< MPI_Win_create_dynamic
  overlap,   ///< several windows on one memory
  reversed,  ///< communicators with other ranks than the world
  units,     ///< displacement units other than 1
  holes,     ///< ranks without memory
  info,      ///< info keys at creation
  fence,
  pscw,
  passive,
  exclusive,
  asserts,
  requests,
  fetch,  ///< MPI_Fetch_and_op
  swap,   ///< MPI_Compare_and_swap
  get_accumulate,
  mixed,   ///< other operations than MPI_SUM and MPI_REPLACE
  order,   ///< several accumulates of one place without a flush between them
  meet,    ///< all origins accumulate at the same place
  stores,  ///< stores between epochs, by owners and by ranks that share their memory
  nobody,  ///< MPI_PROC_NULL
  // Beyond MPI.
  notify,    ///< notified operations
  ordering,  ///< MPIX_Win_order
  iflush,    ///< MPIX_Win_iflush
  several,   ///< MPIX_Win_flush_windows
  thread,    ///< MPIX_Win_flush_thread
  features
};
char const* name_of(Feature feature);

class Features {
 public:
  /// Removes the features in the list, which is separated by commas. Returns false if a name is unknown.
  bool remove(std::string const& names);
  bool has(Feature feature) const { return (off_ >> static_cast<unsigned>(feature) & 1u) == 0; }

 private:
  std::uint64_t off_ = 0;
};

/// The memory of one rank: a slice for each origin, which only this origin uses, and then a part in which all
/// of them accumulate. The first zone of a slice holds any bytes, each other zone values of one type
/// (stress::Base::zone).
struct Layout {
  static constexpr std::size_t zone_bytes = 768;
  enum Meeting { sums, reals, bits, peaks, meetings };

  int ranks = 1;
  std::size_t first_zone = 0;  ///< a multiple of 192, as all sizes are: any displacement unit divides it
  std::size_t shared_elements = 24;  ///< of each kind in which all accumulate; a multiple of 24

  std::size_t bytes_of_zone(int zone) const { return zone == 0 ? first_zone : zone_bytes; }
  std::size_t zone_at(int zone) const {
    return zone == 0 ? 0 : first_zone + static_cast<std::size_t>(zone - 1) * zone_bytes;
  }
  std::size_t slice_bytes() const { return first_zone + (stress::zones - 1) * zone_bytes; }
  std::size_t slice_at(int origin) const { return slice_bytes() * static_cast<std::size_t>(origin); }
  std::size_t meeting_at(int meeting) const {
    return slice_at(ranks) + static_cast<std::size_t>(meeting) * shared_elements * 8;
  }
  std::size_t bytes() const { return meeting_at(meetings); }
};

struct MemoryPlan {
  Layout layout;
  std::vector<bool> present;  ///< by rank; others have no memory
};

enum class Flavour { create, allocate, shared, dynamic };

struct WindowPlan {
  Flavour flavour = Flavour::allocate;
  int memory = 0;
  bool on_other = false;  ///< on the memory of an earlier window
  bool reversed = false;  ///< a communicator whose ranks count backwards
  bool alloc_mem = false;
  bool pieces = false;  ///< attached slice by slice
  bool no_locks = false;
  bool unordered = false;  ///< accumulate_ordering none
  bool same_op = false;    ///< accumulate_ops same_op
  std::vector<int> units;
  std::vector<int> counters;  ///< notification counters by rank; empty: never requested
};

enum class Call {
  put,
  get,
  accumulate,
  get_accumulate,
  fetch_and_op,
  compare_and_swap,
  lock,
  unlock,
  lock_all,
  unlock_all,
  flush,
  flush_all,
  flush_local,
  flush_local_all,
  order,
  order_all,
  iflush,
  iflush_all,
  iflush_local,
  iflush_local_all,
  flush_thread,
  flush_thread_all,
  flush_windows,
  wait,
  sync,
  store
};
char const* name_of(Call call);
/// Whether the call applies to all targets of its window.
bool applies_to_all_targets(Call call);
inline bool is_extension(Call call) { return call >= Call::order && call <= Call::flush_windows; }
inline bool is_operation(Call call) { return call <= Call::compare_and_swap; }

struct Step {
  Call call = Call::put;
  int window = 0;
  int target = 0;  ///< rank in the test's communicator, or MPI_PROC_NULL
  bool request = false;
  bool exclusive = false;
  bool nocheck = false;
  bool needed = false;  ///< whether later steps conflict without this one
  bool enabled = true;  ///< false if removed while a failure is shrunk
  bool checked = true;  ///< whether the fetched value is known
  Combine op = Combine::replace;
  Base const* base = nullptr;
  Use origin, result, target_side;
  std::size_t at = 0;  ///< offset of the datatype's origin in the target's memory
  std::uint64_t seed = 0;
  int notification = -1;     ///< counter of the target that is incremented; -1: none
  std::vector<int> windows;  ///< of Call::flush_windows
};

struct Epoch {
  enum Kind { fence, pscw, lock_all, locks };
  int window = 0;
  Kind kind = fence;
  bool asserts = false;
  bool test = false;                      ///< MPI_Win_test instead of MPI_Win_wait
  std::vector<std::vector<int>> targets;  ///< pscw: by origin
};

/// Epochs on several windows at once. The fences of fenced windows separate the segments.
struct Episode {
  std::vector<Epoch> epochs;
  std::vector<std::vector<std::vector<Step>>> steps;  ///< by segment and rank
  bool enabled = true;
};

struct Plan {
  std::vector<MemoryPlan> memories;
  std::vector<WindowPlan> windows;
  std::vector<Episode> episodes;
  std::uint64_t seed = 0;
  std::uint64_t operations = 0;
};

/// Makes a plan of about `operations` operations of all `ranks`.
Plan make_plan(Shapes const& shapes, Features const& features, int ranks, std::uint64_t operations,
               std::uint64_t seed);

/// Returns the active calls of the plan, a line each.
std::string describe(Plan const& plan);

}  // namespace mpixrma::random_windows

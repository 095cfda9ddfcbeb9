/// Text form of plans.
#include <iterator>
#include <set>
#include <sstream>

#include "tests/windows/random/player.hpp"

namespace mpixrma::random_windows {

namespace {

constexpr char const* feature_names[] = {
    "derived",  "exotic", "create",   "allocate",       "shared",  "dynamic", "overlap",   "reversed",
    "units",    "holes",  "info",     "fence",          "pscw",    "passive", "exclusive", "asserts",
    "requests", "fetch",  "swap",     "get_accumulate", "mixed",   "order",   "meet",      "stores",
    "nobody",   "notify", "ordering", "iflush",         "several", "thread"};
static_assert(std::size(feature_names) == static_cast<std::size_t>(Feature::features));

constexpr char const* call_names[] = {"MPI_Put",
                                      "MPI_Get",
                                      "MPI_Accumulate",
                                      "MPI_Get_accumulate",
                                      "MPI_Fetch_and_op",
                                      "MPI_Compare_and_swap",
                                      "MPI_Win_lock",
                                      "MPI_Win_unlock",
                                      "MPI_Win_lock_all",
                                      "MPI_Win_unlock_all",
                                      "MPI_Win_flush",
                                      "MPI_Win_flush_all",
                                      "MPI_Win_flush_local",
                                      "MPI_Win_flush_local_all",
                                      "MPIX_Win_order",
                                      "MPIX_Win_order_all",
                                      "MPIX_Win_iflush",
                                      "MPIX_Win_iflush_all",
                                      "MPIX_Win_iflush_local",
                                      "MPIX_Win_iflush_local_all",
                                      "MPIX_Win_flush_thread",
                                      "MPIX_Win_flush_thread_all",
                                      "MPIX_Win_flush_windows",
                                      "wait for requests",
                                      "MPI_Win_sync",
                                      "store"};
constexpr char const* flavour_names[] = {"create", "allocate", "allocate_shared", "create_dynamic"};
constexpr char const* epoch_names[] = {"fence", "post/start", "lock_all", "locks"};
constexpr char const* op_names[] = {"REPLACE", "NO_OP", "SUM",  "PROD", "MIN",  "MAX",    "LAND",
                                    "LOR",     "LXOR",  "BAND", "BOR",  "BXOR", "MINLOC", "MAXLOC"};

std::string type_name(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Type_get_name(type, name, &length);
  return name;
}

void describe_use(std::ostream& out, Use const& use) {
  if (use.shape == nullptr) return;
  out << use.count << " x ";
  if (use.shape->nesting == 0) {
    out << type_name(use.shape->type);
    return;
  }
  out << "{";
  std::size_t shown = 0;
  for (Piece const& piece : use.shape->pieces) {
    if (shown++ == 6) break;
    out << piece.offset << "+" << piece.bytes << " ";
  }
  out << (use.shape->pieces.size() > 6 ? "... " : "") << "extent " << use.shape->extent << "}";
}

void describe_window(std::ostream& out, std::size_t index, WindowPlan const& window, Plan const& plan) {
  MemoryPlan const& memory = plan.memories[static_cast<std::size_t>(window.memory)];
  out << "window " << index << ": " << flavour_names[static_cast<int>(window.flavour)] << ", memory "
      << window.memory << " of " << memory.layout.bytes() << " bytes"
      << (window.on_other ? ", of another" : "") << (window.reversed ? ", ranks reversed" : "")
      << (window.alloc_mem ? ", MPI_Alloc_mem" : "") << (window.pieces ? ", attached in pieces" : "")
      << (window.no_locks ? ", no_locks" : "") << (window.unordered ? ", accumulate_ordering none" : "")
      << (window.same_op ? ", same_op" : "") << ", units";
  for (int const unit : window.units) out << " " << unit;
  out << ", memory at ranks";
  for (std::size_t rank = 0; rank < memory.present.size(); ++rank) {
    if (memory.present[rank]) out << " " << rank;
  }
  out << "\n";
}

}  // namespace

char const* name_of(Feature feature) { return feature_names[static_cast<int>(feature)]; }
char const* name_of(Call call) { return call_names[static_cast<int>(call)]; }

bool Features::remove(std::string const& names) {
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (name.empty()) continue;
    unsigned bit = 0;
    while (bit < std::size(feature_names) && name != feature_names[bit]) ++bit;
    if (bit == std::size(feature_names)) return false;
    off_ |= std::uint64_t{1} << bit;
  }
  return true;
}

std::string describe(Step const& step, Plan const& plan) {
  std::ostringstream out;
  out << name_of(step.call) << (step.request ? " with request" : "");
  if (step.call == Call::wait) return out.str();
  out << ", window " << step.window;
  for (int const other : step.windows) out << " " << other;
  if (!applies_to_all_targets(step.call)) out << ", target " << step.target;
  if (is_extension(step.call) && step.call <= Call::iflush_local_all && step.needed) out << ", waited for";
  if (step.notification >= 0) out << ", notifies counter " << step.notification;
  if (step.call == Call::lock) out << (step.exclusive ? ", exclusive" : ", shared");
  if (step.nocheck) out << ", NOCHECK";
  if (!is_operation(step.call) && step.call != Call::store) return out.str();
  if (step.call >= Call::accumulate && step.call <= Call::fetch_and_op)
    out << ", " << op_names[static_cast<int>(step.op)];
  if (step.base != nullptr) out << ", of " << type_name(step.base->type);
  out << ", at byte " << step.at << ": ";
  describe_use(out, step.target_side);
  out << ", origin ";
  describe_use(out, step.origin);
  if (step.call == Call::get_accumulate) {
    out << ", result ";
    describe_use(out, step.result);
  }
  out << ", slice of "
      << plan.memories[static_cast<std::size_t>(plan.windows[static_cast<std::size_t>(step.window)].memory)]
             .layout.slice_bytes()
      << " bytes";
  return out.str();
}

std::string describe(Plan const& plan) {
  std::ostringstream out;
  std::set<int> used;
  std::ostringstream body;
  for (Episode const& episode : plan.episodes) {
    if (!episode.enabled) continue;
    body << (episode.epochs.empty() ? "stores of the owners" : "epochs");
    for (Epoch const& epoch : episode.epochs) {
      used.insert(epoch.window);
      body << ", window " << epoch.window << " by " << epoch_names[epoch.kind]
           << (epoch.asserts ? " with assertions" : "");
    }
    body << "\n";
    for (std::size_t segment = 0; segment < episode.steps.size(); ++segment) {
      if (segment != 0) body << "  next segment\n";
      for (std::size_t rank = 0; rank < episode.steps[segment].size(); ++rank) {
        for (Step const& step : episode.steps[segment][rank]) {
          if (!step.enabled) continue;
          used.insert(step.window);
          body << "  rank " << rank << ": " << describe(step, plan) << "\n";
        }
      }
    }
  }
  for (int const index : used)
    describe_window(out, static_cast<std::size_t>(index), plan.windows[static_cast<std::size_t>(index)],
                    plan);
  return out.str() + body.str();
}

}  // namespace mpixrma::random_windows

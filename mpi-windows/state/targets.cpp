#include "mpi-windows/state/targets.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/log.hpp"

namespace mpixrma::windows {

namespace {

/// The generation of this process's own memory if the engine has no view of that memory. The generation never
/// changes, because the memory lives as long as the window.
constinit std::atomic<std::uint64_t> const always_there{0};

bool use_piece(Window& window, Target& target, NamPiece const& piece) {
  NamMemory const& memory = *piece.memory;
  target.view = memory.view(piece.rank);
  target.stripes = memory.stripes();
  if (memory.is_mapped()) return true;
  if (memory.is_by_request()) {
    target.by_request = &memory;
    target.requested_rank = piece.rank;
    return true;
  }
  target.memory_owner = memory.peer(window.engine);  // null if unreachable
  target.exposure = memory.exposure();
  target.offset = memory.offset(piece.rank);
  return target.memory_owner != nullptr;
}

/// Returns false if a piece is unreachable.
bool use_server_memory(Window& window, Target& target, std::vector<NamPiece> const& pieces) {
  if (pieces.size() == 1) return use_piece(window, target, pieces.front());
  auto made = std::make_unique<StripedRegion>();
  StripedRegion& region = *made;
  target.striped_region = std::move(made);
  region.chunk_bytes = window.nam->chunk_bytes();
  bool found = true;
  for (NamPiece const& piece : pieces) {
    Target& part = *region.parts.emplace_back(std::make_unique<Target>());
    part.rank = target.rank;
    found = use_piece(window, part, piece) && found;
  }
  return found;
}

void map_memory(Window& window, Target& target) {
  bool const traced = window.engine.direct_recorder() != nullptr;
  if (target.exposure == engine::ExposureId::none || (window.engine.issues_all() && !traced)) return;
  engine::ExposedView view;
  if (!engine::failed(window.engine.peer_memory.view(*target.memory_owner, target.exposure, &view))) {
    view.local += target.offset;
    view.exposure.base += target.offset;
  } else if (target.rank == window.processes.rank && target.stripes != nullptr &&
             !engine::includes(view.exposure.rights, engine::Rights::unwritable)) {
    view.local = window.memory.base;
    view.exposure = {reinterpret_cast<engine::RemoteAddress>(window.memory.base), 0, engine::Rights::all};
    view.owner_generation = &always_there;
  } else {
    return;
  }
  view.exposure.length = target.size;
  target.view = view;
  target.is_traced = traced;
}

/// Returns false if the memory is unreachable.
bool find_memory(Window& window, Target& target) {
  RankEntry const entry = window.table[target.rank];
  target.size = entry.size;
  if (window.nam != nullptr) return use_server_memory(window, target, window.nam->pieces(target.rank));
  target.stripes = target.memory_owner->stripes();
  target.exposure = entry.exposure;
  target.offset = entry.offset;
  map_memory(window, target);
  return true;
}

/// A target that is not in the table yet; if it does not get there, its peers are released.
class NewTarget {
 public:
  NewTarget(engine::Engine& engine, int rank) : engine_(engine), target_(std::make_unique<Target>()) {
    target_->rank = rank;
  }
  NewTarget(NewTarget const&) = delete;
  NewTarget& operator=(NewTarget const&) = delete;
  ~NewTarget() {
    if (target_ != nullptr) release_peers(engine_, *target_);
  }

  Target& operator*() const noexcept { return *target_; }
  Target* operator->() const noexcept { return target_.get(); }
  Target* release() noexcept { return target_.release(); }

 private:
  engine::Engine& engine_;
  std::unique_ptr<Target> target_;
};

/// Returns false if one is unreachable. Without locks, because an address may arrive late.
bool find_peers(Window& window, Target& target) {
  engine::EnginePeers& peers = window.engine.peers;
  RankEntry const entry = window.table[target.rank];
  // A connected window has no peers for the creating ranks.
  bool const knows_ranks = !window.processes.is_connected();
  if (knows_ranks && (target.process = peers.find(entry.process)) == nullptr) return false;
  if (window.nam != nullptr) return true;
  target.memory_owner = peers.find(window.table[entry.owner].process);
  return target.memory_owner != nullptr;
}

void log_path(Window const& window, Target const& target) {
  engine::Log const log(Window::verbose, window.engine.process());
  if (!log.shows(engine::LogLevel::peers)) return;
  char const* const way = target.view.local != nullptr       ? "by load and store"
                          : target.striped_region != nullptr ? "in stripes, at several memory servers"
                          : target.by_request != nullptr     ? "by requests to the memory server"
                          : target.stripes == nullptr        ? "over the network"
                          : window.is_dynamic()
                              ? "by load and store where it is allocated by MPI, else through the kernel"
                              : "through the kernel or by messages";
  log.write(engine::LogLevel::peers, "window %u: rank %d is reached %s", window.number(), target.rank, way);
}

}  // namespace

void release_peers(engine::Engine& engine, Target& target) {
  if (target.process != nullptr) engine.peers.release(*target.process);
  for_each_part(target, [&](Target& part) {
    if (part.memory_owner != nullptr) engine.peers.release(*part.memory_owner);
  });
}

Target* make_target(Window& window, int rank) {
  if (!window.processes.contains(rank)) return nullptr;
  RankEntry const entry = window.table[rank];
  NewTarget target(window.engine, rank);
  if (!find_peers(window, *target)) return nullptr;
  std::lock_guard const held(window.creation);
  if (Target* const made = window.targets.find(rank)) return made;
  if (!find_memory(window, *target)) return nullptr;
  if (target->memory_owner != nullptr) target->guard = &target->memory_owner->guard();
  target->disp_unit = window.is_dynamic() ? 1 : entry.disp_unit;
  target->control_exposure = entry.control;
  target->lock_id = entry.lock_or_mapping_id;
  if (rank == window.processes.rank) {
    target->control = window.control.base;
  } else if (target->process != nullptr) {
    engine::ExposedView view;
    if (!engine::failed(window.engine.peer_memory.view(*target->process, entry.control, &view))) {
      target->control = view.local;
    } else {
      window.control.by_messages.store(true, std::memory_order_relaxed);
      window.engine.peers.require_messages(*target->process);
    }
  }
  if (target->process != nullptr && window.nam == nullptr)
    target->lock_word = window.engine.locks.word(*target->process, entry.lock_or_mapping_id);
  if (target->lock_word != nullptr)
    window.cold->held.add(*window.engine.locks.clock(*target->process), entry.lock_or_mapping_id,
                          *target->lock_word);
  log_path(window, *target);
  window.targets.add(*target);
  return target.release();
}

}  // namespace mpixrma::windows

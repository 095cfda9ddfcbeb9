#include "mpi-windows/state/window.hpp"

#include <bit>
#include <cstring>

#include "datatype/datatype.hpp"
#include "engine/base/log.hpp"
#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/unasked.hpp"

namespace mpixrma::windows {

namespace {

/// The highest bit distinguishes context numbers of windows from those of communicators.
std::uint32_t next_context() noexcept {
  static std::atomic<std::uint32_t> made{0};
  return made.fetch_add(1, std::memory_order_relaxed) | std::uint32_t{1} << 31;
}

bool has_threads() {
  int level = MPI_THREAD_MULTIPLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

/// The generation of a rank's own memory without a view in the engine: it never changes, because the memory
/// lives as long as the window.
constinit std::atomic<std::uint64_t> const always_there{0};

}  // namespace

Window::Window(engine::Engine& engine, MPI_Comm comm, Hints const& hints, void* handle)
    : stores_(has_threads()),
      epoch_(stores_.has_threads()),
      engine_(engine),
      handle_(handle),
      hints_(hints),
      context_(next_context()),
      own_lock_{.holder = engine.own_holder(lock_owner)},
      cold_(
          std::make_unique<ColdState>(held_locks, own_lock_.holder, [this] { return epoch_.is_passive(); })) {
  begin_telling(context_);
  PMPI_Comm_rank(comm, &processes_.rank);
  PMPI_Comm_size(comm, &processes_.size);
  PMPI_Comm_group(comm, &processes_.group);
  control_.layout = ControlLayout{processes_.size};
  targets_.open(processes_.size);
}

int Window::verbose = 0;
engine::HeldLocks Window::held_locks;

Window::~Window() {
  end_telling(context_);
  cold_->held.forget();
  give_up_memory();
  give_up_counters();
  if (control_.base != nullptr) (void)engine_.free(control_.base);
  if (own_lock_.exists) (void)engine_.destroy_locks(own_lock_.id, 1);
  targets_.for_each([this](Target& target) {
    if (target.process != nullptr) engine_.release(*target.process);
    release_memory(target);
    delete &target;
  });
  int finalized = 0;  // MPI_Finalize deletes windows that the program has left, and permits no calls then
  PMPI_Finalized(&finalized);
  if (finalized == 0) PMPI_Group_free(&processes_.group);
  if (finalized == 0 && processes_.is_connected()) PMPI_Comm_free(&processes_.origins);
}

Target* Window::make_target(int rank) {
  if (!processes_.contains(rank)) return nullptr;
  std::lock_guard const held(creation_);
  if (Target* const made = targets_.find(rank)) return made;
  RankEntry const entry = table_[rank];
  auto target = std::make_unique<Target>();
  target->rank = rank;
  // A connected window has no peers for the creating ranks.
  bool const knows_ranks = !processes_.is_connected();
  if (knows_ranks && (target->process = engine_.peer(entry.process)) == nullptr) return nullptr;
  if (!find_memory(*target)) {
    if (knows_ranks) engine_.release(*target->process);
    return nullptr;
  }
  target->disp_unit = is_dynamic() ? 1 : entry.disp_unit;
  target->control_name = entry.control;
  target->lock_id = entry.lock;
  if (rank == processes_.rank) {
    target->control = control_.base;
  } else if (target->process != nullptr) {
    engine::ExposedView view;
    if (!engine::failed(engine_.view(*target->process, entry.control, &view))) target->control = view.local;
  }
  if (target->process != nullptr && nam_ == nullptr)
    target->lock_word = engine_.shared_lock(*target->process, entry.lock);
  if (target->lock_word != nullptr)
    cold_->held.add(*engine_.lock_clock(*target->process), entry.lock, *target->lock_word);
  say_path(*target);
  targets_.add(*target);
  return target.release();
}

/// Returns false if the memory is unreachable.
bool Window::find_memory(Target& target) {
  RankEntry const entry = table_[target.rank];
  target.size = entry.size;
  if (nam_ != nullptr) return find_at_server(target, nam_->pieces(target.rank));
  target.memory = engine_.peer(table_[entry.owner].process);
  if (target.memory == nullptr) return false;
  target.stripes = target.memory->stripes();
  target.exposure = entry.exposure;
  target.offset = entry.offset;
  map_memory(target);
  return true;
}

/// Mapped memory of a server belongs to no process.
bool Window::find_at_server(Target& target, std::vector<NamPiece> const& pieces) {
  if (pieces.size() == 1) return find_piece(target, pieces.front());
  auto divided = std::make_unique<DividedMemory>();
  divided->stripe_bytes = nam_->stripe_bytes();
  bool found = true;
  for (NamPiece const& piece : pieces) {
    Target& part = *divided->parts.emplace_back(std::make_unique<Target>());
    part.rank = target.rank;
    found = find_piece(part, piece) && found;
  }
  target.divided = std::move(divided);
  if (!found) release_memory(target);
  return found;
}

void Window::release_memory(Target& target) {
  for_each_part(target, [this](Target& part) {
    if (part.memory != nullptr) engine_.release(*part.memory);
  });
}

bool Window::find_piece(Target& target, NamPiece const& piece) {
  NamMemory const& memory = *piece.memory;
  target.view = memory.view(piece.rank);
  target.stripes = memory.stripes();
  if (memory.is_mapped()) return true;
  if (memory.is_by_request()) {
    target.by_request = &memory;
    target.requested_rank = piece.rank;
    return true;
  }
  target.memory = memory.peer(engine_);  // null for mapped memory
  target.exposure = memory.exposure();
  target.offset = memory.offset(piece.rank);
  return target.memory != nullptr;
}

void Window::map_memory(Target& target) {
  if (target.exposure == engine::ExposureId::none || engine_.issues_all()) return;
  engine::ExposedView view;
  if (!engine::failed(engine_.view(*target.memory, target.exposure, &view))) {
    view.local += target.offset;
    view.exposure.base += target.offset;
  } else if (target.rank == processes_.rank && target.stripes != nullptr) {
    view.local = memory_.base;
    view.exposure = {reinterpret_cast<engine::RemoteAddress>(memory_.base), 0, engine::Rights::all};
    view.owner_generation = &always_there;
  } else {
    return;
  }
  view.exposure.length = target.size;
  target.view = view;
}

void Window::say_path(Target const& target) const {
  engine::Log const log(verbose, engine_.process());
  if (!log.shows(engine::LogLevel::paths)) return;
  char const* const way = target.view.local != nullptr   ? "by load and store"
                          : target.divided != nullptr    ? "in stripes, at several memory servers"
                          : target.by_request != nullptr ? "by requests to the memory server"
                          : target.stripes == nullptr    ? "over the network"
                          : is_dynamic()
                              ? "by load and store where it is allocated by MPI, else through the kernel"
                              : "through the kernel or by messages";
  log.write(engine::LogLevel::paths, "window %u: rank %d is reached %s", number(), target.rank, way);
}

/// Returns the first failure of the completed operations, or MPI_SUCCESS.
int Window::take_failures() {
  int error = MPI_SUCCESS;
  targets_.for_each([&](Target& target) {
    for_each_part(target, [&](Target& part) {
      engine::LateError late;
      if (part.memory != nullptr && engine::failed(engine_.take_error(*part.memory, context_, &late)))
        error = first_of(error, failure(part, late));
    });
  });
  return error;
}

int Window::close(bool* closed) {
  *closed = false;
  {
    Guard const guard(epoch_.lock);
    if (exposure_epoch_.is_open || !epoch_.permits_fence()) return MPI_ERR_RMA_SYNC;
  }
  int error = complete_opened();
  error = first_of(error, complete_all());
  end_joint_requests();
  (void)mpix_host_operations()->requests_show();  // records failures of freed requests
  end_telling(context_);
  error = first_of(error, take_failures());
  if (table_.is_shared()) find_successors();
  synchronise();  // afterwards no process has operations in flight
  if (processes_.rank == 0 && nam_ != nullptr && nam_->port().empty()) release_nam();
  *closed = true;
  return error;
}

int Window::sync() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  engine_.progress();
  (void)serve_queues();
  return MPI_SUCCESS;
}

int Window::complete_messages(Target& target) {
  // Covers only the currently outstanding operations: other threads may issue more meanwhile, and rely on
  // `outstanding` until all operations that it covers are complete.
  std::uint64_t const sequence = target.outstanding.get();
  if (target.memory == nullptr) {
    int const error = complete_parts(target);
    target.outstanding.clear(sequence);
    return error;
  }
  engine_.complete(*target.memory, sequence);
  target.outstanding.clear(sequence);
  (void)mpix_host_operations()->requests_show();  // records failures of freed requests
  engine::LateError error;
  if (!engine::failed(engine_.take_error(*target.memory, context_, &error))) return MPI_SUCCESS;
  return failure(target, error);
}

int Window::complete_parts(Target& target) {
  int error = MPI_SUCCESS;
  for_each_part(target, [&](Target& part) {
    if (part.outstanding.is_set()) error = first_of(error, complete_messages(part));
  });
  stores_.complete();
  return error;
}

/// After the end of its server, the memory belongs to no window.
int Window::class_of(engine::Status status) const noexcept {
  bool const is_lost = status == engine::Status::transport || status == engine::Status::unreachable;
  return is_lost && nam_ != nullptr ? MPI_ERR_WIN : windows::class_of(status);
}

int Window::complete_locally(Target& target) {
  for_each_part(target, [this](Target& part) {
    if (std::uint64_t const sequence = part.outstanding.get(); sequence != 0)
      engine_.complete_local(*part.memory, sequence);
  });
  return MPI_SUCCESS;
}

int Window::complete_all() {
  int error = MPI_SUCCESS;
  targets_.for_each([&](Target& target) {
    if (target.outstanding.is_set()) error = first_of(error, complete_messages(target));
  });
  stores_.complete();
  return error;
}

}  // namespace mpixrma::windows

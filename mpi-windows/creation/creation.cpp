/// Window: exposure of its memory, and the exchange of its description among the processes.
#include <algorithm>
#include <cstring>

#include "datatype/handle.hpp"
#include "hosts/common/hosted.h"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

namespace {
/// From this number of ranks on, compact representations of the rank table pay off.
constexpr int least_ranks = 16;
}  // namespace

int Window::allocate(std::size_t bytes, void** base) {
  engine::AllocationHints wishes;
  wishes.alignment = hints_.alignment();
  return class_of(engine_.allocate(bytes, wishes, base));
}

/// Allocates the counters and the lock that other processes use for synchronisation.
int Window::make_control(RankEntry& mine) {
  void* control = nullptr;
  if (int const error = class_of(engine_.allocate(control_.layout.bytes(), &control)); error != MPI_SUCCESS)
    return error;
  std::memset(control, 0, control_.layout.bytes());
  control_.base = static_cast<std::byte*>(control);
  if (int const error =
          class_of(engine_.expose(control, control_.layout.bytes(), engine::Rights::all, &mine.control));
      error != MPI_SUCCESS)
    return error;
  if (mine.kind != MemoryKind::host) mine.lock = NamWindow::mapped_before();
  if (hints_.no_locks() || mine.kind != MemoryKind::host) return MPI_SUCCESS;
  int const error = class_of(engine_.create_locks(1, &own_lock_.id));
  own_lock_.exists = error == MPI_SUCCESS;
  mine.lock = own_lock_.id;
  return error;
}

int Window::expose(void* base, std::size_t bytes, RankEntry& mine) {
  memory_.base = static_cast<std::byte*>(base);
  if (bytes == 0) return MPI_SUCCESS;
  engine::Status const status = engine_.expose(base, bytes, engine::Rights::all, &memory_.exposure);
  mine.exposure = memory_.exposure;
  if (hints_.begins_with_elements()) engine_.update_by_elements(base, bytes);
  return status == engine::Status::bad_address ? MPI_ERR_BASE : class_of(status);
}

/// Returns whether the memory belongs to another process and was obtained from another window.
bool Window::find_shared(MPI_Comm comm, mpix_window_memory const& memory, RankEntry& mine) {
  auto const found = SharedPlaces::find(memory.base, static_cast<std::size_t>(memory.size));
  if (!found || found->process == mine.process) return false;
  for (int rank = 0; rank < processes_.size; ++rank) {
    std::uint64_t process = 0;
    if (mpix_host_operations()->process_of_rank(number_of(comm), rank, &process) != 0) return false;
    if (process != found->process) continue;
    mine.owner = rank;
    mine.exposure = found->exposure;
    mine.offset = found->offset;
    memory_.base = static_cast<std::byte*>(memory.base);
    return true;
  }
  return false;
}

/// Records memory whose address the program may use to create another window.
void Window::note_shared(Target const& target, void const* local) {
  if (target.memory == nullptr || target.exposure == engine::ExposureId::none || nam_ != nullptr) return;
  if (target.memory->process() == engine_.process()) return;
  std::lock_guard const held(creation_);
  memory_.aliases.add(local, {target.memory->process(), target.exposure, target.offset, target.size});
}

/// Allocates or exposes the memory of this process.
int Window::make_memory(MPI_Comm comm, mpix_window_memory& memory, RankEntry& mine) {
  auto const bytes = static_cast<std::size_t>(memory.size);
  if (memory.flavor == MPI_WIN_FLAVOR_DYNAMIC || shares_one_allocation() || mine.kind != MemoryKind::host)
    return MPI_SUCCESS;
  if (memory.flavor != MPI_WIN_FLAVOR_CREATE) {
    memory.base = nullptr;
    if (bytes == 0) return MPI_SUCCESS;
    if (int const error = allocate(bytes, &memory.base); error != MPI_SUCCESS) return error;
    memory_.allocated = memory.base;
  } else if (bytes != 0 && find_shared(comm, memory, mine)) {
    return MPI_SUCCESS;
  }
  return expose(memory.base, bytes, mine);
}

bool Window::shares_one_allocation() const noexcept {
  return memory_.flavor == MPI_WIN_FLAVOR_SHARED && !hints_.noncontiguous();
}

/// Makes one allocation at rank 0 that contains the parts of all processes in rank order.
int Window::allocate_for_all(MPI_Comm comm, mpix_window_memory& memory) {
  RankEntry whole;
  std::size_t total = 0;
  for (RankEntry const& entry : table_) total += entry.size;
  void* base = nullptr;
  if (processes_.rank == 0) {
    int made = allocate(std::max<std::size_t>(total, 1), &base);
    memory_.allocated = base;
    if (made == MPI_SUCCESS) made = expose(base, std::max<std::size_t>(total, 1), whole);
    whole.error_class = static_cast<std::int16_t>(made);
  }
  PMPI_Bcast(&whole, sizeof whole, MPI_BYTE, 0, comm);
  if (whole.error_class != MPI_SUCCESS) return whole.error_class;
  table_.place_in_one(whole.exposure);
  Target* const own = target(processes_.rank);
  engine::ExposedView view;
  if (own == nullptr || engine::failed(engine_.view(*own->memory, whole.exposure, &view)))
    return MPI_ERR_RMA_SHARED;
  memory.base = view.local + table_[processes_.rank].offset;
  note_shared(*own, memory.base);
  return MPI_SUCCESS;
}

/// Returns MPI_SUCCESS at all processes if every one can map the memory of all, else an error class at all.
int Window::agree_on_sharing(MPI_Comm comm, int error) {
  Target* const first = target(0);
  bool const here = first != nullptr && first->control != nullptr;
  if (error == MPI_SUCCESS && !here) error = MPI_ERR_RMA_SHARED;
  int worst = error;
  PMPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, comm);
  return worst;
}

/// Checks that all memory of the window has the same kind.
int Window::check_kinds() const {
  auto const differs = [kind = table_[0].kind](RankEntry const& entry) { return entry.kind != kind; };
  if (std::ranges::none_of(table_, differs)) return MPI_SUCCESS;
  return refuse(MPI_ERR_INFO_VALUE, "deep_mem_kind is not the same at all processes");
}

/// Renames this process's exposures to the first ids that are unused at all processes. Collective: returns
/// false at all processes if one fails.
bool Window::take_names(MPI_Comm comm, engine::UnusedNames unused, RankEntry& mine) {
  int taken = 1;
  for (engine::ExposureId* const name : {&mine.control, &mine.exposure}) {
    if (*name == engine::ExposureId::none) continue;
    unused.generation += 2;
    bool const exists = unused.slot < 1u << engine::exposure_slot_bits;
    engine::ExposureId const wanted = engine::make_exposure_id(unused.slot++, unused.generation);
    if (!exists || engine::failed(engine_.rename(*name, wanted)))
      taken = 0;
    else
      *name = wanted;
  }
  memory_.exposure = mine.exposure;
  // No process may use the ids before all processes have set them.
  PMPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT, MPI_MIN, comm);
  return taken != 0;
}

/// Collective: fills the table. Returns the highest error class of all processes.
int Window::gather(MPI_Comm comm, RankEntry& mine) {
  if (processes_.size >= least_ranks) {
    Comparison found = compare(comm, processes_.rank, mine, engine_.unused_names());
    if (found.error_class != MPI_SUCCESS) return found.error_class;
    if (found.is_pattern && (found.same_names || take_names(comm, found.unused, mine))) {
      found.pattern.first.control = mine.control;
      found.pattern.first.exposure = mine.exposure;
      table_.follow(processes_.size, found.pattern);
      return MPI_SUCCESS;
    }
  }
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, table_.open(processes_.size), sizeof mine, MPI_BYTE, comm);
  int worst = MPI_SUCCESS;
  for (RankEntry const& entry : table_) worst = std::max<int>(worst, entry.error_class);
  return worst;
}

int Window::open(MPI_Comm comm, mpix_window_memory& memory) {
  memory_.flavor = memory.flavor;
  RankEntry mine;
  if (memory_.flavor == MPI_WIN_FLAVOR_ALLOCATE) mine.kind = hints_.memory_kind();
  mine.process = engine_.process();
  mine.host = own_host();
  mine.owner = processes_.rank;
  mine.size = is_dynamic() ? 0 : static_cast<std::uint64_t>(memory.size);
  mine.disp_unit = memory.disp_unit;
  int made = make_control(mine);
  if (made == MPI_SUCCESS) made = make_memory(comm, memory, mine);
  if (made == MPI_SUCCESS && mine.kind == MemoryKind::unknown)
    made = refuse(MPI_ERR_INFO_VALUE, "deep_mem_kind must be deep_nam or deep_nam_persistent");
  mine.error_class = static_cast<std::int16_t>(made);
  int worst = gather(comm, mine);
  if (worst == MPI_SUCCESS) worst = check_kinds();
  if (worst == MPI_SUCCESS && mine.kind != MemoryKind::host) worst = allocate_at_server(comm);
  if (worst == MPI_SUCCESS && memory_.flavor == MPI_WIN_FLAVOR_SHARED)
    worst = agree_on_sharing(comm, shares_one_allocation() ? allocate_for_all(comm, memory) : MPI_SUCCESS);
  if (worst == MPI_SUCCESS) share_table();
  return worst;
}

/// The first rank on each host stores the table for all ranks of the host.
void Window::share_table() {
  if (!table_.has_entries() || processes_.size < least_ranks) return;
  auto const here = [host = own_host()](RankEntry const& entry) { return entry.host == host; };
  RankEntry const* const entries = table_.data();
  auto const keeper = static_cast<int>(std::find_if(entries, entries + processes_.size, here) - entries);
  if (keeper == processes_.rank) return keep_table();
  Target* const first = target(keeper);
  if (first == nullptr || first->control == nullptr) return;
  auto const& told = *reinterpret_cast<Counter const*>(first->control + control_.layout.table());
  std::uint64_t address = 0;
  // Acquire: pairs with the release in keep_table(), for the entries.
  engine_.wait_until([&] { return (address = told.load(std::memory_order_acquire)) != 0; });
  if (address == ControlLayout::no_table) return;
  if (std::byte* const there = engine_.map(*first->process, address, table_.bytes()))
    table_.move_to(reinterpret_cast<RankEntry const*>(there), false);
}

void Window::keep_table() {
  void* base = nullptr;
  bool const taken = !engine::failed(engine_.allocate(table_.bytes(), &base));
  if (taken) {
    std::memcpy(base, table_.data(), table_.bytes());
    table_.move_to(static_cast<RankEntry const*>(base), true);
    memory_.kept_table = base;
  }
  auto const address = taken ? reinterpret_cast<std::uint64_t>(base) : ControlLayout::no_table;
  control_.counter(control_.layout.table()).store(address, std::memory_order_release);
}

void Window::give_up_memory() {
  for (auto const& [base, bytes] : cold_->attached)
    (void)engine_.detach(reinterpret_cast<void*>(base), bytes);
  cold_->attached.clear();
  if (memory_.exposure != engine::ExposureId::none) (void)engine_.conceal(memory_.exposure);
  if (memory_.allocated != nullptr) (void)engine_.free(memory_.allocated);
  if (memory_.kept_table != nullptr) (void)engine_.free(memory_.kept_table);
}

int Window::shared_query(int rank, MPI_Aint* size, int* disp_unit, void** base) {
  if (is_dynamic()) return MPI_ERR_RMA_FLAVOR;
  if (rank == MPI_PROC_NULL) {
    auto const has_memory = [](RankEntry const& entry) { return entry.size != 0; };
    auto const found = std::ranges::find_if(table_, has_memory);
    *size = 0;
    *disp_unit = 0;
    *base = nullptr;
    if (found == table_.end()) return MPI_SUCCESS;
    rank = found.rank();
  }
  Target* const asked = target(rank);
  if (asked == nullptr) return !processes_.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  engine::ExposedView const& view = asked->view;
  void* there = view.local;
  // The direct path may be disabled although the memory is mapped.
  engine::ExposedView mapped;
  if (there == nullptr && asked->exposure != engine::ExposureId::none &&
      !engine::failed(engine_.view(*asked->memory, asked->exposure, &mapped)))
    there = mapped.local + asked->offset;
  if (there == nullptr && rank == processes_.rank) there = memory_.base;
  if (there != nullptr) note_shared(*asked, there);
  memory_.is_shared.store(true, std::memory_order_relaxed);
  *size = there != nullptr ? static_cast<MPI_Aint>(asked->size) : 0;
  *disp_unit = table_[rank].disp_unit;
  *base = there;
  return MPI_SUCCESS;
}

int Window::attach(void* base, MPI_Aint size) {
  if (!is_dynamic()) return MPI_ERR_RMA_FLAVOR;
  auto const begin = reinterpret_cast<std::uintptr_t>(base);
  auto const bytes = static_cast<std::size_t>(size);
  std::lock_guard const held(creation_);
  if (bytes == 0) {
    cold_->attached_empty.insert(begin);
    return MPI_SUCCESS;
  }
  auto const next = cold_->attached.lower_bound(begin);
  bool const overlaps_next = next != cold_->attached.end() && next->first - begin < bytes;
  bool const overlaps_last =
      next != cold_->attached.begin() && std::prev(next)->first + std::prev(next)->second > begin;
  if (overlaps_next || overlaps_last) return MPI_ERR_RMA_ATTACH;
  if (engine::failed(engine_.attach(base, bytes))) return MPI_ERR_RMA_ATTACH;
  if (hints_.begins_with_elements()) engine_.update_by_elements(base, bytes);
  cold_->attached.emplace(begin, bytes);
  return MPI_SUCCESS;
}

int Window::detach(void const* base) {
  if (!is_dynamic()) return MPI_ERR_RMA_FLAVOR;
  std::lock_guard const held(creation_);
  auto const begin = reinterpret_cast<std::uintptr_t>(base);
  auto const found = cold_->attached.find(begin);
  if (found == cold_->attached.end()) {
    auto const empty = cold_->attached_empty.find(begin);
    if (empty == cold_->attached_empty.end()) return MPI_ERR_RMA_ATTACH;
    cold_->attached_empty.erase(empty);
    return MPI_SUCCESS;
  }
  // Memory that was freed meanwhile is no longer registered.
  (void)engine_.detach(const_cast<void*>(base), found->second);
  cold_->attached.erase(found);
  return MPI_SUCCESS;
}

}  // namespace mpixrma::windows

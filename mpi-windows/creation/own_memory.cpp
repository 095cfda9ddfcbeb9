#include "mpi-windows/creation/own_memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>

#include "datatype/handle.hpp"
#include "hosts/common/hosted.h"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

int allocate(Window& window, std::size_t bytes, void** base) {
  engine::AllocationHints hints;
  hints.alignment = window.hints.alignment();
  return class_of(window, window.engine.memory.allocate(bytes, hints, base));
}

int expose(Window& window, void* base, std::size_t bytes, RankEntry& mine) {
  window.memory.base = static_cast<std::byte*>(base);
  if (bytes == 0) return MPI_SUCCESS;
  engine::Status const status =
      window.engine.exposures.expose(base, bytes, engine::Rights::all, &window.memory.exposure);
  mine.exposure = window.memory.exposure;
  if (window.hints.begins_with_elements()) window.engine.exposures.update_by_elements(base, bytes);
  return status == engine::Status::bad_address ? MPI_ERR_BASE : class_of(window, status);
}

/// If the memory was obtained from another window and belongs to another process of `comm`, makes `mine`
/// refer to that memory and returns true.
bool find_alias(Window& window, MPI_Comm comm, mpix_window_memory const& memory, RankEntry& mine) {
  auto const found = MemoryAliases::find(memory.base, static_cast<std::size_t>(memory.size));
  if (!found || found->process == mine.process) return false;
  for (int rank = 0; rank < window.processes.size; ++rank) {
    std::uint64_t process = 0;
    if (mpix_host_operations()->process_of_rank(word_of(comm), rank, &process) != 0) return false;
    if (process != found->process) continue;
    mine.owner = rank;
    mine.exposure = found->exposure;
    mine.offset = found->offset;
    window.memory.base = static_cast<std::byte*>(memory.base);
    return true;
  }
  return false;
}

/// Records memory whose address the program may use to create another window.
void record_alias(Window& window, Target const& target, void const* local) {
  if (target.memory_owner == nullptr || target.exposure == engine::ExposureId::none || window.nam != nullptr)
    return;
  if (target.memory_owner->process() == window.engine.process()) return;
  std::lock_guard const held(window.creation);
  window.memory.aliases.add(local,
                            {target.memory_owner->process(), target.exposure, target.offset, target.size});
}

}  // namespace

int make_control(Window& window, RankEntry& mine) {
  void* control = nullptr;
  if (int const error =
          class_of(window, window.engine.memory.allocate_internal(window.control.layout.bytes(), &control));
      error != MPI_SUCCESS)
    return error;
  std::memset(control, 0, window.control.layout.bytes());
  window.control.base = static_cast<std::byte*>(control);
  if (int const error =
          class_of(window, window.engine.exposures.expose(control, window.control.layout.bytes(),
                                                          engine::Rights::all, &mine.control));
      error != MPI_SUCCESS)
    return error;
  if (mine.kind != MemoryKind::host) mine.lock_or_mapping_id = NamWindow::last_mapping_id();
  if (window.hints.no_locks() || mine.kind != MemoryKind::host) return MPI_SUCCESS;
  int const error = class_of(window, window.engine.locks.create(1, &window.own_lock.id));
  window.own_lock.exists = error == MPI_SUCCESS;
  mine.lock_or_mapping_id = window.own_lock.id;
  return error;
}

bool shares_one_allocation(Window const& window) noexcept {
  return window.memory.flavor == MPI_WIN_FLAVOR_SHARED && !window.hints.noncontiguous();
}

int make_memory(Window& window, MPI_Comm comm, mpix_window_memory& memory, RankEntry& mine) {
  auto const bytes = static_cast<std::size_t>(memory.size);
  if (memory.flavor == MPI_WIN_FLAVOR_DYNAMIC || shares_one_allocation(window) ||
      mine.kind != MemoryKind::host)
    return MPI_SUCCESS;
  if (memory.flavor != MPI_WIN_FLAVOR_CREATE) {
    memory.base = nullptr;
    if (bytes == 0) return MPI_SUCCESS;
    if (int const error = allocate(window, bytes, &memory.base); error != MPI_SUCCESS) return error;
    window.memory.allocated = memory.base;
  } else if (bytes != 0 && find_alias(window, comm, memory, mine)) {
    return MPI_SUCCESS;
  }
  return expose(window, memory.base, bytes, mine);
}

int allocate_for_all(Window& window, MPI_Comm comm, mpix_window_memory& memory) {
  RankEntry whole;
  std::size_t total = 0;
  for (RankEntry const& entry : window.table) {
    if (__builtin_add_overflow(total, entry.size, &total))
      return refuse(MPI_ERR_NO_MEM, "the ranks of the window request more memory than there are addresses");
  }
  auto const make_whole = [&] {
    std::size_t const bytes = std::max<std::size_t>(total, 1);
    if (int const error = allocate(window, bytes, &window.memory.allocated); error != MPI_SUCCESS)
      return error;
    return expose(window, window.memory.allocated, bytes, whole);
  };
  if (window.processes.rank == 0) whole.error_class = static_cast<std::int16_t>(result_or_class(make_whole));
  PMPI_Bcast(&whole, sizeof whole, MPI_BYTE, 0, comm);
  if (whole.error_class != MPI_SUCCESS) return whole.error_class;
  window.table.use_single_exposure(whole.exposure);
  Target* const own = find_target(window, window.processes.rank);
  engine::ExposedView view;
  engine::Status const mapped =
      own != nullptr ? window.engine.peer_memory.view(*own->memory_owner, whole.exposure, &view)
                     : engine::Status::unsupported;
  if (mapped == engine::Status::out_of_memory)
    return refuse(MPI_ERR_NO_MEM,
                  "no address space or descriptors to map the window's " + std::to_string(total) + " bytes");
  if (engine::failed(mapped)) return MPI_ERR_RMA_SHARED;
  memory.base = view.local + window.table[window.processes.rank].offset;
  record_alias(window, *own, memory.base);
  return MPI_SUCCESS;
}

int shared_query(Window& window, int rank, MPI_Aint* size, int* disp_unit, void** base) {
  if (window.is_dynamic()) return MPI_ERR_RMA_FLAVOR;
  if (rank == MPI_PROC_NULL) {
    auto const has_memory = [](RankEntry const& entry) { return entry.size != 0; };
    auto const found = std::ranges::find_if(window.table, has_memory);
    *size = 0;
    *disp_unit = 0;
    *base = nullptr;
    if (found == window.table.end()) return MPI_SUCCESS;
    rank = found.rank();
  }
  Target* const asked = find_target(window, rank);
  if (asked == nullptr) return !window.processes.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  engine::ExposedView const& view = asked->view;
  void* there = view.local;
  // The direct path may be disabled although the memory is mapped.
  engine::ExposedView mapped;
  if (there == nullptr && asked->exposure != engine::ExposureId::none &&
      !engine::failed(window.engine.peer_memory.view(*asked->memory_owner, asked->exposure, &mapped)))
    there = mapped.local + asked->offset;
  if (there == nullptr && rank == window.processes.rank) there = window.memory.base;
  if (there != nullptr) record_alias(window, *asked, there);
  window.memory.is_shared.store(true, std::memory_order_relaxed);
  *size = there != nullptr ? static_cast<MPI_Aint>(asked->size) : 0;
  *disp_unit = window.table[rank].disp_unit;
  *base = there;
  return MPI_SUCCESS;
}

namespace {

int refuse_flavour(char const* call) {
  return code_with(MPI_ERR_RMA_FLAVOR, "%s: the window was not created by MPI_Win_create_dynamic", call);
}

int refuse_overlap(void const* base, std::size_t bytes,
                   std::pair<std::uintptr_t const, std::size_t> const& attached) {
  return code_with(MPI_ERR_RMA_ATTACH,
                   "MPI_Win_attach: the %zu bytes at %p overlap the %zu bytes at 0x%llx, which are attached",
                   bytes, base, attached.second, static_cast<unsigned long long>(attached.first));
}

int refuse_memory(void const* base, std::size_t bytes, engine::Status status) {
  char const* const reason =
      status == engine::Status::bad_address ? "they are not all mapped" : engine::to_string(status);
  return code_with(MPI_ERR_RMA_ATTACH, "MPI_Win_attach: the %zu bytes at %p cannot be attached: %s", bytes,
                   base, reason);
}

}  // namespace

int attach(Window& window, void* base, MPI_Aint size) {
  if (!window.is_dynamic()) return refuse_flavour("MPI_Win_attach");
  if (size < 0)
    return code_with(MPI_ERR_SIZE, "MPI_Win_attach: size %lld is negative", static_cast<long long>(size));
  auto const begin = reinterpret_cast<std::uintptr_t>(base);
  auto const bytes = static_cast<std::size_t>(size);
  std::lock_guard const held(window.creation);
  if (bytes == 0) {
    window.cold->attached_empty.insert(begin);
    return MPI_SUCCESS;
  }
  auto const next = window.cold->attached.lower_bound(begin);
  bool const overlaps_next = next != window.cold->attached.end() && next->first - begin < bytes;
  bool const overlaps_last =
      next != window.cold->attached.begin() && std::prev(next)->first + std::prev(next)->second > begin;
  if (overlaps_next) return refuse_overlap(base, bytes, *next);
  if (overlaps_last) return refuse_overlap(base, bytes, *std::prev(next));
  if (engine::Status const status = window.engine.memory.attach(base, bytes); engine::failed(status))
    return refuse_memory(base, bytes, status);
  if (window.hints.begins_with_elements()) window.engine.exposures.update_by_elements(base, bytes);
  window.cold->attached.emplace(begin, bytes);
  return MPI_SUCCESS;
}

int detach(Window& window, void const* base) {
  if (!window.is_dynamic()) return refuse_flavour("MPI_Win_detach");
  std::lock_guard const held(window.creation);
  auto const begin = reinterpret_cast<std::uintptr_t>(base);
  auto const found = window.cold->attached.find(begin);
  if (found == window.cold->attached.end()) {
    auto const empty = window.cold->attached_empty.find(begin);
    if (empty == window.cold->attached_empty.end())
      return code_with(MPI_ERR_RMA_ATTACH, "MPI_Win_detach: no attached memory begins at %p", base);
    window.cold->attached_empty.erase(empty);
    return MPI_SUCCESS;
  }
  // Ignores the result: memory that was freed meanwhile is no longer registered.
  (void)window.engine.memory.detach(const_cast<void*>(base), found->second);
  window.cold->attached.erase(found);
  return MPI_SUCCESS;
}

}  // namespace mpixrma::windows

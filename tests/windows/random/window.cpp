#include "tests/windows/random/window.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace mpixrma::random_windows {

namespace {

void free_heap(std::byte* memory) { std::free(memory); }
void free_mpi(std::byte* memory) { MPI_Free_mem(memory); }

/// Returns the deep_mem_kind of windows that are allocated; null: the host's memory.
char const* memory_kind() { return std::getenv("MPIX_TEST_MEMORY"); }
/// Returns the mpix_nam_stripe of these windows, whose memory then has no address; or null.
char const* stripe() { return std::getenv("MPIX_TEST_STRIPE"); }

}  // namespace

MPI_Info Window::info() const {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (plan_.no_locks) MPI_Info_set(info, "no_locks", "true");
  if (plan_.unordered) MPI_Info_set(info, "accumulate_ordering", "none");
  if (plan_.same_op) MPI_Info_set(info, "accumulate_ops", "same_op");
  if (plan_.flavour == Flavour::allocate && memory_kind() != nullptr)
    MPI_Info_set(info, "deep_mem_kind", memory_kind());
  if (plan_.flavour == Flavour::allocate && stripe() != nullptr)
    MPI_Info_set(info, "mpix_nam_stripe", stripe());
  return info;
}

Window::Window(WindowPlan const& plan, MemoryPlan const& memory, MPI_Comm comm, Window const* on,
               std::vector<std::byte> const& content)
    : plan_(plan), memory_plan_(memory), own_(nullptr, &free_heap) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size_);
  present_ = memory.present[static_cast<std::size_t>(rank)];
  MPI_Comm_split(comm, 0, plan.reversed ? -rank : rank, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  make(on);
  if (handle_ == MPI_WIN_NULL) return;
  MPI_Win_set_errhandler(handle_, MPI_ERRORS_RETURN);
  if (on == nullptr && present_) fill(content);
  if (plan_.flavour == Flavour::dynamic) attach();
  MPI_Barrier(comm_);
}

void Window::make(Window const* on) {
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  int const unit = plan_.units[static_cast<std::size_t>(rank_of(rank))];
  std::size_t const bytes = present_ ? memory_plan_.layout.bytes() : 0;
  bool const brings_memory = plan_.flavour == Flavour::create || plan_.flavour == Flavour::dynamic;
  if (on != nullptr) {
    memory_ = on->memory();
  } else if (brings_memory && present_) {
    void* memory = nullptr;
    if (plan_.alloc_mem) {
      MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
    } else {
      memory = std::aligned_alloc(64, bytes);
    }
    memory_ = static_cast<std::byte*>(memory);
    own_ = {memory_, plan_.alloc_mem ? &free_mpi : &free_heap};
  }
  MPI_Info keys = info();
  auto const size = static_cast<MPI_Aint>(bytes);
  int code = MPI_SUCCESS;
  switch (plan_.flavour) {
    case Flavour::create: code = MPI_Win_create(memory_, size, unit, keys, comm_, &handle_); break;
    case Flavour::allocate: code = MPI_Win_allocate(size, unit, keys, comm_, &memory_, &handle_); break;
    case Flavour::shared: code = MPI_Win_allocate_shared(size, unit, keys, comm_, &memory_, &handle_); break;
    case Flavour::dynamic: code = MPI_Win_create_dynamic(keys, comm_, &handle_); break;
  }
  MPI_Info_free(&keys);
  if (code != MPI_SUCCESS) handle_ = MPI_WIN_NULL;
  // Memory at a server has no base address.
  if (handle_ != MPI_WIN_NULL && present_ && memory_ == nullptr) memory_ = memory_of(rank_of(rank));
}

void Window::attach() {
  Layout const& layout = memory_plan_.layout;
  std::size_t const pieces = plan_.pieces ? static_cast<std::size_t>(size_) + 1 : 1;
  for (std::size_t i = 0; i < pieces && present_; ++i) {
    std::size_t const begin = layout.slice_at(static_cast<int>(i));
    std::size_t const end = i + 1 == pieces ? layout.bytes() : layout.slice_at(static_cast<int>(i) + 1);
    if (MPI_Win_attach(handle_, memory_ + begin, static_cast<MPI_Aint>(end - begin)) == MPI_SUCCESS)
      attached_.push_back(memory_ + begin);
  }
  addresses_.resize(static_cast<std::size_t>(size_));
  MPI_Aint mine = 0;
  MPI_Get_address(memory_, &mine);
  MPI_Allgather(&mine, 1, MPI_AINT, addresses_.data(), 1, MPI_AINT, comm_);
}

Window::~Window() {
  if (handle_ != MPI_WIN_NULL) {
    MPI_Barrier(comm_);
    for (void* const piece : attached_) MPI_Win_detach(handle_, piece);
    MPI_Win_free(&handle_);
  }
  MPI_Comm_free(&comm_);
}

MPI_Aint Window::displacement(int rank, std::size_t offset) const {
  if (rank == MPI_PROC_NULL) return 0;
  auto const at = static_cast<MPI_Aint>(offset);
  if (plan_.flavour == Flavour::dynamic) return addresses_[static_cast<std::size_t>(rank_of(rank))] + at;
  return at / plan_.units[static_cast<std::size_t>(rank)];
}

std::byte* Window::memory_of(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  std::byte* base = nullptr;
  MPI_Win_shared_query(handle_, rank_of(rank), &size, &unit, &base);
  return base;
}

std::vector<std::byte> Window::content() const {
  std::vector<std::byte> found(memory_plan_.layout.bytes());
  if (memory_ != nullptr) {
    std::memcpy(found.data(), memory_, found.size());
    return found;
  }
  int self = 0;
  MPI_Comm_rank(comm_, &self);
  auto const count = static_cast<int>(found.size());
  MPI_Get(found.data(), count, MPI_BYTE, self, 0, count, MPI_BYTE, handle_);
  MPI_Win_flush(self, handle_);
  return found;
}

void Window::fill(std::vector<std::byte> const& content) {
  if (memory_ != nullptr) {
    std::memcpy(memory_, content.data(), content.size());
    return;
  }
  int self = 0;
  MPI_Comm_rank(comm_, &self);
  auto const count = static_cast<int>(content.size());
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, self, 0, handle_);
  MPI_Put(content.data(), count, MPI_BYTE, self, 0, count, MPI_BYTE, handle_);
  MPI_Win_unlock(self, handle_);
}

MPI_Group Window::group(std::vector<int> const& ranks) const {
  std::vector<int> translated;
  for (int const rank : ranks) translated.push_back(rank_of(rank));
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(comm_, &all);
  MPI_Group_incl(all, static_cast<int>(translated.size()), translated.data(), &some);
  MPI_Group_free(&all);
  return some;
}

}  // namespace mpixrma::random_windows

#include "datatype/datatype.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "datatype/handle.hpp"
#include "datatype/predefined.hpp"
#include "datatype/state_pool.hpp"

namespace mpixrma {

namespace {

// Serializes the creation of states. The delete callback does not take this lock, because it runs under MPI's
// lock of attributes. Lock order: this lock, MPI's lock, the pool's lock.
std::mutex creation_lock;

StatePool<Datatype> pool;

int keyval = MPI_KEYVAL_INVALID;  ///< attaches a Datatype to its MPI datatype
/// Null before MPI_Init and after MPI_Finalize.
std::atomic<int (*)(std::uintptr_t)> is_committed{nullptr};

int datatype_freed(MPI_Datatype, int, void* state, void*) try {
  forget_handles();
  pool.give_back(*static_cast<Datatype*>(state), [](Datatype& datatype) { datatype.retire(); });
  return MPI_SUCCESS;
} catch (...) {
  return MPI_ERR_NO_MEM;
}

/// Returns the maximum element count. Leaves half of the range of MPI_Aint for the displacement of the first
/// element.
MPI_Count largest_count(FlatType const& flat) noexcept {
  auto const size = static_cast<std::ptrdiff_t>(flat.size);
  return PTRDIFF_MAX / 2 / std::max({size, std::abs(flat.extent), std::ptrdiff_t{1}});
}

/// Returns one bit for each operation that is defined on the element type.
std::uint32_t operations_on(engine::ElementType element) noexcept {
  constexpr auto operations = static_cast<unsigned>(engine::ReduceOp::count_);
  static_assert(operations <= 32);
  std::uint32_t defined = 0;
  for (unsigned i = 0; i < operations; ++i)
    defined |= std::uint32_t{engine::is_defined(static_cast<engine::ReduceOp>(i), element)} << i;
  return defined;
}

}  // namespace

HandleCache<MPI_Datatype, Datatype> Datatype::cache_;

Datatype const* Datatype::find_slow_path(MPI_Datatype type) {
  auto* const committed = is_committed.load(std::memory_order_acquire);
  if (type == MPI_Datatype{} || type == MPI_DATATYPE_NULL || committed == nullptr) return nullptr;
  if (committed(word_of(type)) == 0) return nullptr;
  void* attribute = nullptr;
  int found = 0;
  std::lock_guard const creating(creation_lock);
  MPI_Type_get_attr(type, keyval, &attribute, &found);
  if (found == 0) {
    FlatType flat = flatten(type);  // before a state is allocated, because it may throw
    Datatype* const state = &pool.take();
    state->open(type, std::move(flat));
    MPI_Type_set_attr(type, keyval, state);
    attribute = state;
  }
  auto* const state = static_cast<Datatype*>(attribute);
  cache_.insert(*state);
  return state;
}

void Datatype::open(MPI_Datatype type, FlatType flat) noexcept {
  flat_ = std::move(flat);
  max_count_ = largest_count(flat_);
  contiguous_ =
      flat_.layout.view().is_contiguous() && flat_.extent == static_cast<std::ptrdiff_t>(flat_.size);
  bool const integer = flat_.element >= engine::ElementType::int32 &&
                       flat_.element <= engine::ElementType::uint64 && flat_.base != MPI_WCHAR;
  bool const single = contiguous_ && flat_.size == engine::element_size(flat_.element);
  operations_ =
      flat_.mixed ? 0 : operations_on(flat_.element) & permitted_operations(flat_.base, flat_.element);
  contiguous_count_ = contiguous_ ? static_cast<std::uint64_t>(max_count_) : 0;
  atomic_word_ = integer && single ? static_cast<unsigned>(flat_.size) : 0;
  type_.publish(type);
}

engine::Layout Datatype::layout(std::size_t count,
                                engine::Dimension (&dimensions)[engine::max_dimensions]) const noexcept {
  if (contiguous_) return engine::Layout::contiguous(flat_.size * count);
  engine::Layout const one = flat_.layout.view();
  std::size_t used = one.dims.size();
  std::copy(one.dims.begin(), one.dims.end(), dimensions);
  if (count != 1) dimensions[used++] = {count, flat_.extent};
  return {one.block, {dimensions, used}, one.runs};
}

void begin_datatypes(int (*committed)(std::uintptr_t type)) {
  if (keyval == MPI_KEYVAL_INVALID)
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &datatype_freed, &keyval, nullptr);
  // Release: pairs with the acquire in find_slow_path(), for the keyval.
  is_committed.store(committed, std::memory_order_release);
}

void end_datatypes() noexcept {
  is_committed.store(nullptr, std::memory_order_relaxed);
  keyval = MPI_KEYVAL_INVALID;  // the next session numbers its keys anew
  Datatype::forget_known();
}

}  // namespace mpixrma

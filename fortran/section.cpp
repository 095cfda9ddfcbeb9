#include "fortran/section.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <mutex>

/// Of bottom.f90.
extern "C" void* mpix_rma_bottom_f();

namespace mpix::fortran {

namespace {

struct Text {
  int error_class;
  char const* reason;
};

constexpr std::size_t refusals = 5;
std::array<Text, refusals> const texts{{
    {MPI_SUCCESS, ""},
    {MPI_ERR_BUFFER,
     "MPIX_RMA from Fortran: this buffer has to be contiguous, and is an array section with gaps"},
    {MPI_ERR_TYPE,
     "MPIX_RMA from Fortran: the elements of an array section with gaps are not whole elements of "
     "the datatype"},
    {MPI_ERR_COUNT, "MPIX_RMA from Fortran: the array section has fewer elements than the count says"},
    {MPI_ERR_COUNT,
     "MPIX_RMA from Fortran: an array section with gaps has more than 2147483647 elements in a "
     "dimension"},
}};

/// A code of its own for each, made when it is needed first.
int code_of(Refusal refusal) {
  static std::mutex mutex;
  static std::array<int, refusals> codes{};
  std::scoped_lock const lock(mutex);
  auto const index = static_cast<std::size_t>(refusal);
  if (codes[index] == MPI_SUCCESS) {
    PMPI_Add_error_code(texts[index].error_class, &codes[index]);
    PMPI_Add_error_string(codes[index], texts[index].reason);
  }
  return codes[index];
}

CFI_index_t elements_of(CFI_cdesc_t const& buffer, int dimensions) noexcept {
  CFI_index_t elements = 1;
  for (int d = 0; d < dimensions; ++d) elements *= buffer.dim[d].extent;
  return elements;
}

/// The first `elements` of the section: whole slabs of the outermost dimension, then what is left of them.
MPI_Datatype make_datatype(CFI_cdesc_t const& buffer, CFI_index_t elements, MPI_Datatype element) {
  MPI_Datatype slabs[CFI_MAX_RANK + 1]{};
  MPI_Datatype pieces[CFI_MAX_RANK]{};
  MPI_Aint places[CFI_MAX_RANK]{};
  int ones[CFI_MAX_RANK]{};
  slabs[0] = element;
  for (int d = 0; d < buffer.rank; ++d)
    PMPI_Type_create_hvector(static_cast<int>(buffer.dim[d].extent), 1, buffer.dim[d].sm, slabs[d],
                             &slabs[d + 1]);
  int used = 0;
  MPI_Aint place = 0;
  for (int d = buffer.rank - 1; d >= 0; --d) {
    CFI_index_t const slab = elements_of(buffer, d);
    auto const whole = static_cast<int>(elements / slab);
    elements %= slab;
    if (whole == 0) continue;
    PMPI_Type_create_hvector(whole, 1, buffer.dim[d].sm, slabs[d], &pieces[used]);
    places[used] = place;
    ones[used++] = 1;
    place += whole * buffer.dim[d].sm;
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  PMPI_Type_create_struct(used, ones, places, pieces, &all);
  PMPI_Type_commit(&all);
  for (int i = 0; i < used; ++i) PMPI_Type_free(&pieces[i]);
  for (int d = 1; d <= buffer.rank; ++d) PMPI_Type_free(&slabs[d]);
  return all;
}

}  // namespace

void* address_of(CFI_cdesc_t const* buffer) noexcept {
  static void const* const bottom = mpix_rma_bottom_f();
  if (buffer == nullptr) return nullptr;
  return buffer->base_addr == bottom ? MPI_BOTTOM : buffer->base_addr;
}

bool is_contiguous(CFI_cdesc_t const* buffer) noexcept {
  if (buffer == nullptr || buffer->rank == 0) return true;
  if (buffer->dim[buffer->rank - 1].extent < 0) return true;  // assumed-size
  if (elements_of(*buffer, buffer->rank) == 0) return true;
  auto next = static_cast<CFI_index_t>(buffer->elem_len);
  for (int d = 0; d < buffer->rank; ++d) {
    if (buffer->dim[d].extent != 1 && buffer->dim[d].sm != next) return false;
    next *= buffer->dim[d].extent;
  }
  return true;
}

Section::Section(CFI_cdesc_t const* buffer, MPI_Count count, MPI_Datatype datatype)
    : address_(address_of(buffer)), count_(count), datatype_(datatype) {
  // What is wrong with the count or the datatype itself is told by the call.
  if (is_contiguous(buffer) || count <= 0 || datatype == MPI_DATATYPE_NULL || datatype == MPI_Datatype{})
    return;
  refusal_ = describe(*buffer);
}

Refusal Section::describe(CFI_cdesc_t const& buffer) {
  MPI_Count lower = 0, extent = 0, size = 0;
  PMPI_Type_get_extent_x(datatype_, &lower, &extent);
  PMPI_Type_size_x(datatype_, &size);
  auto const length = static_cast<MPI_Count>(buffer.elem_len);
  if (lower != 0 || extent <= 0 || extent != size || length % extent != 0) return Refusal::type;
  MPI_Count const per_element = length / extent;
  if (count_ % per_element != 0) return Refusal::type;
  MPI_Count const elements = count_ / per_element;
  if (elements > elements_of(buffer, buffer.rank)) return Refusal::count;
  bool const too_long = std::any_of(buffer.dim, buffer.dim + buffer.rank,
                                    [](CFI_dim_t const& dimension) { return dimension.extent > INT_MAX; });
  if (too_long || per_element > INT_MAX) return Refusal::too_long;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(static_cast<int>(per_element), datatype_, &element);
  datatype_ = make_datatype(buffer, elements, element);
  PMPI_Type_free(&element);
  count_ = 1;
  made_ = true;
  return Refusal::none;
}

Section::~Section() {
  if (made_) PMPI_Type_free(&datatype_);
}

void refuse(Refusal refusal, MPI_Fint const* communicator, int* ierror) {
  int const code = code_of(refusal);
  MPI_Comm const comm = communicator != nullptr ? MPI_Comm_f2c(*communicator) : MPI_COMM_WORLD;
  PMPI_Comm_call_errhandler(comm, code);
  if (ierror != nullptr) *ierror = code;
}

void refuse_on_window(Refusal refusal, MPI_Win win, int* ierror) {
  int const code = code_of(refusal);
  PMPI_Win_call_errhandler(win, code);
  if (ierror != nullptr) *ierror = code;
}

}  // namespace mpix::fortran

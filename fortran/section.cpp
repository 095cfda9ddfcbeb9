#include "fortran/section.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <mutex>

/// Defined in bottom.f90.
extern "C" void* mpix_rma_bottom_f();

namespace mpixrma::fortran {

namespace {

__attribute__((cold, format(printf, 3, 4))) Refusal made_refusal(int error_class, Buffer const& buffer,
                                                                 char const* format, ...) {
  char text[256];
  int const used = std::snprintf(text, sizeof text, "%s from Fortran: %s ", buffer.call, buffer.argument);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + used, sizeof text - static_cast<std::size_t>(used), format, arguments);
  va_end(arguments);
  return {error_class, text};
}

/// Returns an error code of the refusal's class with the refusal's text. The codes of a class are used in
/// turn, so that a code keeps its string during the next fifteen refusals of the class.
int code_of(Refusal const& refusal) {
  constexpr std::size_t codes_per_class = 16;
  struct Class {
    int error_class;
    std::size_t next = 0;
    std::array<int, codes_per_class> codes{};  // MPI_SUCCESS: not made yet
  };
  static std::mutex mutex;
  static std::array<Class, 3> classes{{{MPI_ERR_BUFFER}, {MPI_ERR_TYPE}, {MPI_ERR_COUNT}}};
  std::scoped_lock const lock(mutex);
  Class* const found = std::find_if(classes.begin(), classes.end(), [&](Class const& entry) {
    return entry.error_class == refusal.error_class;
  });
  if (found == classes.end()) return refusal.error_class;
  int& code = found->codes[found->next++ % codes_per_class];
  if (code == MPI_SUCCESS && PMPI_Add_error_code(found->error_class, &code) != MPI_SUCCESS)
    return refusal.error_class;
  PMPI_Add_error_string(code, refusal.text.c_str());
  return code;
}

CFI_index_t elements_of(CFI_cdesc_t const& buffer, int dimensions) noexcept {
  CFI_index_t elements = 1;
  for (int d = 0; d < dimensions; ++d) elements *= buffer.dim[d].extent;
  return elements;
}

MPI_Datatype contiguous(MPI_Count count, MPI_Datatype datatype) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(static_cast<int>(count), datatype, &made);
  return made;
}

/// The part of a section that a call transfers, in elements of the section, and the rest in elements of the
/// call's datatype, of which an element of the section has `per_element`.
struct Part {
  CFI_index_t elements;
  MPI_Count per_element;
  MPI_Count rest;
};

/// Returns the datatype of a part of the section: whole slabs of the outermost dimension, slabs of the inner
/// ones, then the begin of an element.
MPI_Datatype make_datatype(CFI_cdesc_t const& buffer, Part const& part, MPI_Datatype datatype) {
  MPI_Datatype slabs[CFI_MAX_RANK + 1]{};
  MPI_Datatype pieces[CFI_MAX_RANK + 1]{};
  MPI_Aint places[CFI_MAX_RANK + 1]{};
  int ones[CFI_MAX_RANK + 1]{};
  CFI_index_t elements = part.elements;
  slabs[0] = contiguous(part.per_element, datatype);
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
  if (part.rest != 0) {
    pieces[used] = contiguous(part.rest, datatype);
    places[used] = place;
    ones[used++] = 1;
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  PMPI_Type_create_struct(used, ones, places, pieces, &all);
  PMPI_Type_commit(&all);
  for (int i = 0; i < used; ++i) PMPI_Type_free(&pieces[i]);
  for (int d = 0; d <= buffer.rank; ++d) PMPI_Type_free(&slabs[d]);
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
  if (buffer->base_addr == nullptr) return true;              // not allocated: the dimensions are undefined
  if (buffer->dim[buffer->rank - 1].extent < 0) return true;  // assumed-size
  if (elements_of(*buffer, buffer->rank) == 0) return true;
  auto next = static_cast<CFI_index_t>(buffer->elem_len);
  for (int d = 0; d < buffer->rank; ++d) {
    if (buffer->dim[d].extent != 1 && buffer->dim[d].sm != next) return false;
    next *= buffer->dim[d].extent;
  }
  return true;
}

namespace {

/// Whether the arguments can be examined here. The C call reports a bad count or datatype.
bool is_sound(MPI_Count count, MPI_Datatype datatype) noexcept {
  return count > 0 && datatype != MPI_DATATYPE_NULL && datatype != MPI_Datatype{};
}

/// Returns the size of a frequently used datatype, or 0 for any other datatype.
MPI_Count size_of_usual(MPI_Datatype datatype) {
  struct Usual {
    MPI_Datatype type;
    MPI_Count size;
  };
  static std::array<Usual, 8> const usual = [] {
    std::array<Usual, 8> made{{{MPI_DOUBLE_PRECISION, 0},
                               {MPI_INTEGER, 0},
                               {MPI_REAL, 0},
                               {MPI_BYTE, 0},
                               {MPI_DOUBLE_COMPLEX, 0},
                               {MPI_COMPLEX, 0},
                               {MPI_CHARACTER, 0},
                               {MPI_LOGICAL, 0}}};
    for (Usual& entry : made) PMPI_Type_size_x(entry.type, &entry.size);
    return made;
  }();
  for (Usual const& entry : usual) {
    if (entry.type == datatype) return entry.size;
  }
  return 0;
}

/// Returns the number of bytes from the address of the buffer to the end of the last element.
MPI_Count bytes_of(MPI_Count count, MPI_Datatype datatype) {
  if (MPI_Count const size = size_of_usual(datatype); size != 0) return count * size;
  MPI_Count lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_get_extent_x(datatype, &lower, &extent);
  PMPI_Type_get_true_extent_x(datatype, &true_lower, &true_extent);
  return std::max<MPI_Count>((count - 1) * extent, 0) + true_lower + true_extent;
}

}  // namespace

Refusal check_contiguous(Buffer const& buffer) {
  if (is_contiguous(buffer.given)) return {};
  return made_refusal(MPI_ERR_BUFFER, buffer, "is an array section with gaps; it must be contiguous");
}

Refusal check_contiguous(Buffer const& buffer, MPI_Count count, MPI_Datatype datatype) {
  if (Refusal gaps = check_contiguous(buffer)) return gaps;
  CFI_cdesc_t const* const given = buffer.given;
  bool const bounded = given != nullptr && given->rank != 0 && given->base_addr != nullptr &&
                       given->dim[given->rank - 1].extent >= 0;
  if (!bounded || !is_sound(count, datatype) || address_of(given) == MPI_BOTTOM) return {};
  auto const available =
      static_cast<MPI_Count>(elements_of(*given, given->rank)) * static_cast<MPI_Count>(given->elem_len);
  MPI_Count const wanted = bytes_of(count, datatype);
  if (wanted <= available) return {};
  return made_refusal(MPI_ERR_COUNT, buffer, "has %lld bytes, and %s %lld needs %lld",
                      static_cast<long long>(available), buffer.count_argument, static_cast<long long>(count),
                      static_cast<long long>(wanted));
}

Section::Section(Buffer const& buffer, MPI_Count count, MPI_Datatype datatype)
    : address_(address_of(buffer.given)), count_(count), datatype_(datatype) {
  if (is_contiguous(buffer.given)) {
    refusal_ = check_contiguous(buffer, count, datatype);
  } else if (is_sound(count, datatype)) {
    refusal_ = describe(buffer);
  }
}

Refusal Section::describe(Buffer const& given) {
  CFI_cdesc_t const& buffer = *given.given;
  MPI_Count lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_get_extent_x(datatype_, &lower, &extent);
  PMPI_Type_get_true_extent_x(datatype_, &true_lower, &true_extent);
  auto const length = static_cast<MPI_Count>(buffer.elem_len);
  // A datatype may have gaps, as that of a derived type with padding, but must not reach beyond its extent.
  bool const inside = lower == 0 && true_lower >= 0 && true_lower + true_extent <= extent;
  if (!inside || extent == 0 || length < extent || length % extent != 0)
    return made_refusal(MPI_ERR_TYPE, given,
                        "is an array section with gaps of elements of %lld bytes, which are not whole "
                        "elements of the datatype (true extent %lld bytes from %lld on, extent %lld)",
                        static_cast<long long>(length), static_cast<long long>(true_extent),
                        static_cast<long long>(true_lower), static_cast<long long>(extent));
  MPI_Count const per_element = length / extent;
  MPI_Count const rest = count_ % per_element;
  MPI_Count const elements = count_ / per_element;
  MPI_Count const needed = elements + (rest != 0 ? 1 : 0);
  if (CFI_index_t const there = elements_of(buffer, buffer.rank); needed > there)
    return made_refusal(MPI_ERR_COUNT, given, "is an array section of %lld elements, and %s %lld needs %lld",
                        static_cast<long long>(there), given.count_argument, static_cast<long long>(count_),
                        static_cast<long long>(needed));
  bool const too_long = std::any_of(buffer.dim, buffer.dim + buffer.rank,
                                    [](CFI_dim_t const& dimension) { return dimension.extent > INT_MAX; });
  if (too_long || per_element > INT_MAX)
    return made_refusal(MPI_ERR_COUNT, given,
                        "is an array section with gaps of more than 2147483647 elements in a dimension");
  datatype_ = make_datatype(buffer, {elements, per_element, rest}, datatype_);
  count_ = 1;
  made_ = true;
  return {};
}

Section::~Section() {
  if (made_) PMPI_Type_free(&datatype_);
}

void refuse(Refusal const& refusal, MPI_Fint const* communicator, int* ierror) {
  int const code = code_of(refusal);
  MPI_Comm const comm = communicator != nullptr ? MPI_Comm_f2c(*communicator) : MPI_COMM_WORLD;
  PMPI_Comm_call_errhandler(comm, code);
  if (ierror != nullptr) *ierror = code;
}

void refuse_on_window(Refusal const& refusal, MPI_Win win, int* ierror) {
  int const code = code_of(refusal);
  PMPI_Win_call_errhandler(win, code);
  if (ierror != nullptr) *ierror = code;
}

}  // namespace mpixrma::fortran

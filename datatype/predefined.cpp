#include "datatype/predefined.hpp"

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <iterator>
#include <type_traits>

namespace mpixrma {

using engine::ElementType;
using engine::ReduceOp;

namespace {

/// Returns `none` for another size.
constexpr ElementType signed_integer_of(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return ElementType::int8;
    case 2: return ElementType::int16;
    case 4: return ElementType::int32;
    case 8: return ElementType::int64;
    default: return ElementType::none;
  }
}

struct Entry {
  MPI_Datatype type;
  ElementType element;
};

// Fortran types have the sizes of the compiler that the MPI library was built for.
Entry const table[] = {
    // MPI defines no arithmetic on MPI_CHAR, but MPI libraries implement it and their users rely on it.
    {MPI_CHAR, std::is_signed_v<char> ? ElementType::int8 : ElementType::uint8},
    {MPI_WCHAR, signed_integer_of(sizeof(wchar_t))},  // compared for equality only: any sign
    {MPI_SIGNED_CHAR, ElementType::int8},
    {MPI_UNSIGNED_CHAR, ElementType::uint8},
    {MPI_SHORT, ElementType::int16},
    {MPI_UNSIGNED_SHORT, ElementType::uint16},
    {MPI_INT, ElementType::int32},
    {MPI_UNSIGNED, ElementType::uint32},
    {MPI_LONG, ElementType::int64},
    {MPI_UNSIGNED_LONG, ElementType::uint64},
    {MPI_LONG_LONG, ElementType::int64},
    {MPI_UNSIGNED_LONG_LONG, ElementType::uint64},
    {MPI_INT8_T, ElementType::int8},
    {MPI_UINT8_T, ElementType::uint8},
    {MPI_INT16_T, ElementType::int16},
    {MPI_UINT16_T, ElementType::uint16},
    {MPI_INT32_T, ElementType::int32},
    {MPI_UINT32_T, ElementType::uint32},
    {MPI_INT64_T, ElementType::int64},
    {MPI_UINT64_T, ElementType::uint64},
    {MPI_AINT, ElementType::int64},
    {MPI_OFFSET, ElementType::int64},
    {MPI_COUNT, ElementType::int64},
    {MPI_FLOAT, ElementType::float32},
    {MPI_DOUBLE, ElementType::float64},
    {MPI_LONG_DOUBLE, ElementType::long_double},
    {MPI_C_FLOAT_COMPLEX, ElementType::complex_float},
    {MPI_C_DOUBLE_COMPLEX, ElementType::complex_double},
    {MPI_C_LONG_DOUBLE_COMPLEX, ElementType::complex_long_double},
    {MPI_C_BOOL, ElementType::boolean},
    {MPI_CXX_BOOL, ElementType::boolean},
    {MPI_FLOAT_INT, ElementType::float_int},
    {MPI_DOUBLE_INT, ElementType::double_int},
    {MPI_LONG_INT, ElementType::long_int},
    {MPI_2INT, ElementType::int_int},
    {MPI_SHORT_INT, ElementType::short_int},
    {MPI_LONG_DOUBLE_INT, ElementType::long_double_int},
    {MPI_INTEGER, ElementType::int32},
    {MPI_INTEGER1, ElementType::int8},
    {MPI_INTEGER2, ElementType::int16},
    {MPI_INTEGER4, ElementType::int32},
    {MPI_INTEGER8, ElementType::int64},
    {MPI_LOGICAL, ElementType::int32},
    {MPI_REAL, ElementType::float32},
    {MPI_REAL4, ElementType::float32},
    {MPI_REAL8, ElementType::float64},
    {MPI_DOUBLE_PRECISION, ElementType::float64},
    {MPI_COMPLEX, ElementType::complex_float},
    {MPI_COMPLEX8, ElementType::complex_float},
    {MPI_COMPLEX16, ElementType::complex_double},
    {MPI_DOUBLE_COMPLEX, ElementType::complex_double},
    {MPI_2INTEGER, ElementType::int_int},
    {MPI_REAL16, ElementType::float128},
    {MPI_COMPLEX32, ElementType::complex_float128},
    {MPI_2REAL, ElementType::float_float},
    {MPI_2DOUBLE_PRECISION, ElementType::double_double},
    {MPI_CXX_FLOAT_COMPLEX, ElementType::complex_float},
    {MPI_CXX_DOUBLE_COMPLEX, ElementType::complex_double},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, ElementType::complex_long_double},
#ifdef MPI_LOGICAL1
    {MPI_LOGICAL1, ElementType::int8},
#endif
#ifdef MPI_LOGICAL2
    {MPI_LOGICAL2, ElementType::int16},
#endif
#ifdef MPI_LOGICAL4
    {MPI_LOGICAL4, ElementType::int32},
#endif
#ifdef MPI_LOGICAL8
    {MPI_LOGICAL8, ElementType::int64},
#endif
};

}  // namespace

ElementType element_of(MPI_Datatype predefined) noexcept {
  for (Entry const& entry : table) {
    if (entry.type != predefined) continue;
    MPI_Count size = 0;
    MPI_Type_size_x(predefined, &size);
    auto const bytes = static_cast<std::size_t>(size);
    if (bytes == element_size(entry.element)) return entry.element;
    // The size of a Fortran type may differ in this build of MPI. An integer or a logical is then that of its
    // size, any other type can be transferred, but has no arithmetic.
    bool const integer = entry.element >= ElementType::int8 && entry.element <= ElementType::uint64;
    return integer ? signed_integer_of(bytes) : ElementType::none;
  }
  return ElementType::none;
}

std::uint32_t permitted_operations(MPI_Datatype predefined, ElementType element) noexcept {
  constexpr auto bit = [](ReduceOp operation) {
    return std::uint32_t{1} << static_cast<unsigned>(operation);
  };
  constexpr std::uint32_t moves = bit(ReduceOp::replace) | bit(ReduceOp::no_op);
  constexpr std::uint32_t equality = bit(ReduceOp::compare_swap_eq) | bit(ReduceOp::compare_swap_ne);
  constexpr std::uint32_t logical = moves | equality | bit(ReduceOp::mask_swap) | bit(ReduceOp::land) |
                                    bit(ReduceOp::lor) | bit(ReduceOp::lxor);
  static MPI_Datatype const logicals[] = {
      MPI_LOGICAL,
#ifdef MPI_LOGICAL1
      MPI_LOGICAL1,
#endif
#ifdef MPI_LOGICAL2
      MPI_LOGICAL2,
#endif
#ifdef MPI_LOGICAL4
      MPI_LOGICAL4,
#endif
#ifdef MPI_LOGICAL8
      MPI_LOGICAL8,
#endif
  };
  bool const is_text = predefined == MPI_PACKED || predefined == MPI_CHARACTER;
  bool const is_bytes = is_text || predefined == MPI_BYTE || predefined == MPI_DATATYPE_NULL;
  // The bytes of an element whose representation is unknown must not be compared one by one.
  if (element == ElementType::none && !is_bytes) return moves;
  if (std::find(std::begin(logicals), std::end(logicals), predefined) != std::end(logicals)) return logical;
  return is_text || predefined == MPI_WCHAR ? moves | equality : ~std::uint32_t{0};
}

char const* name_of(ReduceOp operation) noexcept {
  switch (operation) {
    case ReduceOp::sum: return "MPI_SUM";
    case ReduceOp::replace: return "MPI_REPLACE";
    case ReduceOp::no_op: return "MPI_NO_OP";
    case ReduceOp::prod: return "MPI_PROD";
    case ReduceOp::min: return "MPI_MIN";
    case ReduceOp::max: return "MPI_MAX";
    case ReduceOp::land: return "MPI_LAND";
    case ReduceOp::lor: return "MPI_LOR";
    case ReduceOp::lxor: return "MPI_LXOR";
    case ReduceOp::band: return "MPI_BAND";
    case ReduceOp::bor: return "MPI_BOR";
    case ReduceOp::bxor: return "MPI_BXOR";
    case ReduceOp::minloc: return "MPI_MINLOC";
    case ReduceOp::maxloc: return "MPI_MAXLOC";
    default: return "the operation";
  }
}

ElementType element_of_f90(int combiner, std::size_t bytes, int precision) noexcept {
  // Fortran may have two kinds of 16 bytes: C's long double, and one of higher precision.
  bool const quad = precision != MPI_UNDEFINED && precision > LDBL_DIG;
  bool const complex = combiner == MPI_COMBINER_F90_COMPLEX;
  if (complex || combiner == MPI_COMBINER_F90_REAL) {
    switch (complex ? bytes / 2 : bytes) {
      case 4: return complex ? ElementType::complex_float : ElementType::float32;
      case 8: return complex ? ElementType::complex_double : ElementType::float64;
      case sizeof(long double):
        if (quad) return complex ? ElementType::complex_float128 : ElementType::float128;
        return complex ? ElementType::complex_long_double : ElementType::long_double;
      default: return ElementType::none;
    }
  }
  return signed_integer_of(bytes);
}

std::optional<ReduceOp> operation_of(MPI_Op predefined) noexcept {
  struct Entry {
    MPI_Op op;
    ReduceOp operation;
  };
  static Entry const table[] = {
      {MPI_SUM, ReduceOp::sum},       {MPI_REPLACE, ReduceOp::replace}, {MPI_NO_OP, ReduceOp::no_op},
      {MPI_PROD, ReduceOp::prod},     {MPI_MIN, ReduceOp::min},         {MPI_MAX, ReduceOp::max},
      {MPI_LAND, ReduceOp::land},     {MPI_LOR, ReduceOp::lor},         {MPI_LXOR, ReduceOp::lxor},
      {MPI_BAND, ReduceOp::band},     {MPI_BOR, ReduceOp::bor},         {MPI_BXOR, ReduceOp::bxor},
      {MPI_MINLOC, ReduceOp::minloc}, {MPI_MAXLOC, ReduceOp::maxloc},
  };
  for (Entry const& entry : table) {
    if (entry.op == predefined) return entry.operation;
  }
  return std::nullopt;
}

}  // namespace mpixrma

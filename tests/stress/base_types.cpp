#include "tests/stress/base_types.hpp"

#include <complex>
#include <initializer_list>
#include <iterator>

#include "tests/stress/arithmetic.hpp"

namespace mpixrma::stress {

namespace {

/// Returns the zone of a type: 0 unless its values need a zone of their own.
template <typename T>
int zone_of() {
  Arithmetic const* const known[] = {arithmetic<float>(),
                                     arithmetic<double>(),
                                     arithmetic<long double>(),
                                     arithmetic<std::complex<float>>(),
                                     arithmetic<std::complex<double>>(),
                                     arithmetic<std::complex<long double>>(),
                                     arithmetic<Truth>(),
                                     arithmetic<Pair<float>>(),
                                     arithmetic<Pair<double>>(),
                                     arithmetic<Pair<long>>(),
                                     arithmetic<Pair<int>>(),
                                     arithmetic<Pair<short>>(),
                                     arithmetic<Pair<long double>>(),
                                     arithmetic<Quad>(),
                                     arithmetic<std::complex<Quad>>(),
                                     arithmetic<Pair<float, float>>(),
                                     arithmetic<Pair<double, double>>()};
  static_assert(std::size(known) == zones - 1);
  for (int i = 0; i < zones - 1; ++i) {
    if (known[i] == arithmetic<T>()) return i + 1;
  }
  return 0;
}

template <typename T>
void add(std::vector<Base>& bases, std::initializer_list<MPI_Datatype> types, bool is_logical = false) {
  for (MPI_Datatype const type : types) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    // Fortran types may be missing, or of another size.
    if (MPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS || extent != sizeof(T)) continue;
    bases.push_back({type, sizeof(T), arithmetic<T>(), zone_of<T>(), is_logical});
  }
}

void add_movable(std::vector<Base>& bases) {
  for (MPI_Datatype const type : {MPI_CHAR, MPI_WCHAR, MPI_PACKED, MPI_CHARACTER}) {
    int size = 0;
    if (MPI_Type_size(type, &size) != MPI_SUCCESS || size == 0) continue;
    bases.push_back({type, static_cast<std::size_t>(size)});
  }
}

void add_integers(std::vector<Base>& bases) {
  add<std::int8_t>(bases, {MPI_SIGNED_CHAR, MPI_INT8_T, MPI_INTEGER1});
  add<std::uint8_t>(bases, {MPI_UNSIGNED_CHAR, MPI_UINT8_T});
  add<std::int16_t>(bases, {MPI_SHORT, MPI_INT16_T, MPI_INTEGER2});
  add<std::uint16_t>(bases, {MPI_UNSIGNED_SHORT, MPI_UINT16_T});
  add<std::int32_t>(bases, {MPI_INT, MPI_INT32_T, MPI_INTEGER, MPI_INTEGER4});
  add<std::uint32_t>(bases, {MPI_UNSIGNED, MPI_UINT32_T});
  add<std::int64_t>(bases,
                    {MPI_LONG, MPI_LONG_LONG, MPI_INT64_T, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT});
  add<std::uint64_t>(bases, {MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T});
  add<Octet>(bases, {MPI_BYTE});
  add<std::int32_t>(bases, {MPI_LOGICAL}, true);
#ifdef MPI_LOGICAL1
  add<std::int8_t>(bases, {MPI_LOGICAL1}, true);
#endif
#ifdef MPI_LOGICAL2
  add<std::int16_t>(bases, {MPI_LOGICAL2}, true);
#endif
#ifdef MPI_LOGICAL4
  add<std::int32_t>(bases, {MPI_LOGICAL4}, true);
#endif
#ifdef MPI_LOGICAL8
  add<std::int64_t>(bases, {MPI_LOGICAL8}, true);
#endif
}

}  // namespace

MPI_Op handle_of(Combine op) {
  MPI_Op const handles[] = {MPI_REPLACE, MPI_NO_OP, MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,
                            MPI_LOR,     MPI_LXOR,  MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return handles[static_cast<int>(op)];
}

bool Base::has(Combine op) const {
  if (arithmetic == nullptr || !arithmetic->has_combine(op)) return false;
  return !logical || op == Combine::replace || op == Combine::no_op ||
         (op >= Combine::land && op <= Combine::lxor);
}

bool Base::has(Modify op) const {
  if (arithmetic == nullptr || !arithmetic->has_modify(op)) return false;
  return !logical || op == Modify::swap || op == Modify::eq || op == Modify::ne ||
         (op >= Modify::land && op <= Modify::lxor);
}

std::vector<Base> make_bases() {
  std::vector<Base> bases;
  add_integers(bases);
  add_movable(bases);
  add<float>(bases, {MPI_FLOAT, MPI_REAL, MPI_REAL4});
  add<double>(bases, {MPI_DOUBLE, MPI_REAL8, MPI_DOUBLE_PRECISION});
  add<long double>(bases, {MPI_LONG_DOUBLE});
  add<std::complex<float>>(bases, {MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8, MPI_CXX_FLOAT_COMPLEX});
  add<std::complex<double>>(
      bases, {MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX16, MPI_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX});
  add<std::complex<long double>>(bases, {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX});
  add<Truth>(bases, {MPI_C_BOOL, MPI_CXX_BOOL});
  add<Pair<float>>(bases, {MPI_FLOAT_INT});
  add<Pair<double>>(bases, {MPI_DOUBLE_INT});
  add<Pair<long>>(bases, {MPI_LONG_INT});
  add<Pair<int>>(bases, {MPI_2INT, MPI_2INTEGER});
  add<Pair<short>>(bases, {MPI_SHORT_INT});
  add<Pair<long double>>(bases, {MPI_LONG_DOUBLE_INT});
  add<Quad>(bases, {MPI_REAL16});
  add<std::complex<Quad>>(bases, {MPI_COMPLEX32});
  add<Pair<float, float>>(bases, {MPI_2REAL});
  add<Pair<double, double>>(bases, {MPI_2DOUBLE_PRECISION});
  return bases;
}

}  // namespace mpixrma::stress

/// Predefined datatypes with every predefined operation, by MPI_Accumulate, MPI_Get_accumulate and
/// MPI_Fetch_and_op, compared with MPI_Reduce_local.
#include <array>
#include <complex>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

struct Kind {
  MPI_Datatype type;
  enum class Elements { integers, bytes, reals, doubles, long_doubles, truths, pairs } elements;
};

template <typename Value>
struct Pair {
  Value value;
  int index;
};

/// Excludes types for which MPI_Reduce_local of Open MPI 4.1 computes wrongly: MPI_UNSIGNED_LONG and
/// MPI_OFFSET (minimum and maximum by the wrong sign), MPI_REAL16 (as a long double).
std::vector<Kind> kinds() {
  using enum Kind::Elements;
  std::vector<Kind> all;
  for (MPI_Datatype const type : {MPI_SIGNED_CHAR,    MPI_UNSIGNED_CHAR, MPI_SHORT,
                                  MPI_UNSIGNED_SHORT, MPI_INT,           MPI_UNSIGNED,
                                  MPI_LONG,           MPI_LONG_LONG,     MPI_UNSIGNED_LONG_LONG,
                                  MPI_INT8_T,         MPI_UINT8_T,       MPI_INT16_T,
                                  MPI_UINT16_T,       MPI_INT32_T,       MPI_UINT32_T,
                                  MPI_INT64_T,        MPI_UINT64_T,      MPI_AINT,
                                  MPI_COUNT,          MPI_INTEGER,       MPI_INTEGER1,
                                  MPI_INTEGER2,       MPI_INTEGER4,      MPI_INTEGER8})
    all.push_back({type, integers});
  all.push_back({MPI_BYTE, bytes});
  for (MPI_Datatype const type : {MPI_FLOAT, MPI_C_FLOAT_COMPLEX, MPI_REAL, MPI_REAL4, MPI_COMPLEX})
    all.push_back({type, reals});
  for (MPI_Datatype const type :
       {MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_REAL8, MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX})
    all.push_back({type, doubles});
  for (MPI_Datatype const type : {MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX})
    all.push_back({type, long_doubles});
  for (MPI_Datatype const type : {MPI_C_BOOL, MPI_LOGICAL}) all.push_back({type, truths});
  for (MPI_Datatype const type : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT, MPI_2INTEGER})
    all.push_back({type, pairs});
  std::erase_if(all, [](Kind const& kind) { return kind.type == MPI_DATATYPE_NULL; });
  return all;
}

constexpr int most = 37;
using Buffer = std::array<std::max_align_t, most>;

int extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  return static_cast<int>(extent);
}

/// Small integers, whose sums and products are exact as real numbers.
template <typename Value>
void fill_values(Buffer& buffer, std::size_t bytes, Random& random) {
  for (std::size_t at = 0; at + sizeof(Value) <= bytes; at += sizeof(Value)) {
    Value const value(static_cast<Value>(random.below(7) - 3));
    std::memcpy(reinterpret_cast<char*>(buffer.data()) + at, &value, sizeof value);
  }
}

template <typename Value>
void fill_pairs(Buffer& buffer, int count, Random& random) {
  for (int i = 0; i < count; ++i) {
    Pair<Value> pair;
    std::memset(&pair, 0, sizeof pair);
    pair.value = static_cast<Value>(random.below(3));
    pair.index = random.below(100);
    std::memcpy(reinterpret_cast<char*>(buffer.data()) + static_cast<std::size_t>(i) * sizeof pair, &pair,
                sizeof pair);
  }
}

void fill(Kind const& kind, Buffer& buffer, int count, Random& random) {
  auto const extent = static_cast<std::size_t>(extent_of(kind.type));
  std::size_t const bytes = extent * static_cast<std::size_t>(count);
  buffer = {};
  switch (kind.elements) {
    case Kind::Elements::integers:
    case Kind::Elements::bytes:
      for (std::size_t i = 0; i < bytes; ++i)
        reinterpret_cast<unsigned char*>(buffer.data())[i] = static_cast<unsigned char>(random.word());
      return;
    case Kind::Elements::truths:
      for (std::size_t i = 0; i < bytes; i += extent)
        reinterpret_cast<unsigned char*>(buffer.data())[i] = static_cast<unsigned char>(random.below(2));
      return;
    case Kind::Elements::reals: return fill_values<float>(buffer, bytes, random);
    case Kind::Elements::doubles: return fill_values<double>(buffer, bytes, random);
    case Kind::Elements::long_doubles: return fill_values<long double>(buffer, bytes, random);
    case Kind::Elements::pairs: break;
  }
  if (kind.type == MPI_FLOAT_INT) fill_pairs<float>(buffer, count, random);
  if (kind.type == MPI_DOUBLE_INT) fill_pairs<double>(buffer, count, random);
  if (kind.type == MPI_LONG_INT) fill_pairs<long>(buffer, count, random);
  if (kind.type == MPI_2INT || kind.type == MPI_2INTEGER) fill_pairs<int>(buffer, count, random);
  if (kind.type == MPI_SHORT_INT) fill_pairs<short>(buffer, count, random);
  if (kind.type == MPI_LONG_DOUBLE_INT) fill_pairs<long double>(buffer, count, random);
}

/// Whether the data of both are equal; the padding of types and of long doubles may differ.
bool alike(Kind const& kind, Buffer const& left, Buffer const& right, int count) {
  auto const packed = [&](Buffer const& buffer) {
    std::vector<unsigned char> bytes(sizeof(Buffer) + 64);
    int used = 0;
    MPI_Pack(buffer.data(), count, kind.type, bytes.data(), static_cast<int>(bytes.size()), &used,
             MPI_COMM_SELF);
    bytes.resize(static_cast<std::size_t>(used));
    constexpr std::size_t digits = 10;  // of the 16 bytes
    std::size_t const element = kind.type == MPI_LONG_DOUBLE_INT ? sizeof(long double) + sizeof(int) : 16;
    bool const padded = kind.elements == Kind::Elements::long_doubles || kind.type == MPI_LONG_DOUBLE_INT;
    for (std::size_t i = 0; padded && i < bytes.size(); ++i)
      if (i % element >= digits && i % element < sizeof(long double)) bytes[i] = 0;
    return bytes;
  };
  return packed(left) == packed(right);
}

/// Open MPI also adds bytes, for which MPI defines bitwise operations only.
bool is_defined(MPI_Op op, Kind const& kind) {
  bool const bits = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR || op == MPI_REPLACE || op == MPI_NO_OP;
  return bits || kind.elements != Kind::Elements::bytes;
}

enum class UpdateCall { accumulate, get_accumulate, fetch_and_op, accumulate_one, count_ };

class AllTypes : public FlavourTest {
 protected:
  int call(Window& window, UpdateCall which, Kind const& kind, MPI_Op op, Buffer const& origin,
           Buffer& result, MPI_Aint at) {
    int const count = count_of(which);
    bool const reads = op != MPI_NO_OP;
    switch (which) {
      case UpdateCall::get_accumulate:
        return MPI_Get_accumulate(reads ? origin.data() : nullptr, reads ? count : 0, kind.type,
                                  result.data(), count, kind.type, next_, at, count, kind.type, op, window);
      case UpdateCall::fetch_and_op:
        return MPI_Fetch_and_op(reads ? origin.data() : nullptr, result.data(), kind.type, next_, at, op,
                                window);
      default:
        return MPI_Accumulate(origin.data(), count, kind.type, next_, at, count, kind.type, op, window);
    }
  }
  static int count_of(UpdateCall call) {
    return call == UpdateCall::accumulate || call == UpdateCall::get_accumulate ? most : 1;
  }

  /// One call on aligned or misaligned memory.
  void check(Window& window, UpdateCall which, Kind const& kind, MPI_Op op, int offset) {
    int const count = count_of(which);
    Buffer before;
    Buffer origin;
    Buffer result{};
    fill(kind, before, count, random_);
    fill(kind, origin, count, random_);
    Buffer expected = before;
    bool defined = true;
    if (op == MPI_REPLACE)
      expected = origin;
    else if (op != MPI_NO_OP)
      defined = MPI_Reduce_local(origin.data(), expected.data(), count, kind.type, op) == MPI_SUCCESS;
    if (!defined) return;
    MPI_Aint const at = window.at(next_, 128 + offset);
    MPI_Put(before.data(), count, kind.type, next_, at, count, kind.type, window);
    EXPECT_EQ(call(window, which, kind, op, origin, result, at), MPI_SUCCESS);
    Buffer after{};
    MPI_Get(after.data(), count, kind.type, next_, at, count, kind.type, window);
    EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
    EXPECT_TRUE(alike(kind, after, expected, count));
    if (which == UpdateCall::get_accumulate || which == UpdateCall::fetch_and_op)
      EXPECT_TRUE(alike(kind, result, before, count));
  }

  void check_calls(Window& window, Kind const& kind, MPI_Op op) {
    for (int which = 0; which < static_cast<int>(UpdateCall::count_); ++which) {
      auto const call = static_cast<UpdateCall>(which);
      if (op == MPI_NO_OP && call != UpdateCall::get_accumulate && call != UpdateCall::fetch_and_op) continue;
      for (int const offset : {0, 3}) {
        SCOPED_TRACE("call " + std::to_string(which) + ", offset " + std::to_string(offset));
        check(window, call, kind, op, offset);
      }
    }
  }

  Random random_{1};
};

TEST_P(AllTypes, AccumulateMatchesReduceLocal) {
  static MPI_Op const operations[] = {MPI_SUM,    MPI_PROD,   MPI_MIN,     MPI_MAX,  MPI_LAND,
                                      MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                                      MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
  Window window(GetParam(), 4096);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, window);
  for (Kind const& kind : kinds()) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Type_get_name(kind.type, name, &length);
    for (std::size_t i = 0; i < std::size(operations); ++i) {
      if (!is_defined(operations[i], kind)) continue;
      SCOPED_TRACE(std::string(name) + ", operation " + std::to_string(i));
      check_calls(window, kind, operations[i]);
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

MPIX_ON_EACH_FLAVOUR(AllTypes);

}  // namespace
}  // namespace mpixrma::test

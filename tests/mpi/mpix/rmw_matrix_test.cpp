/// Every read-modify-write operation on C's numbers, MPI_C_BOOL and MPI_BYTE, on one element and on many,
/// against a reference. By default each case uses a random kind of memory; in the long run every kind.
#include <algorithm>
#include <complex>
#include <random>

#include "tests/support/full_length.hpp"
#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {
namespace {

enum class Kind { integer, logical, real, complex, bytes };

template <typename T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, bool>) return Kind::logical;
  if constexpr (std::is_same_v<T, std::byte>) return Kind::bytes;
  if constexpr (std::is_integral_v<T>) return Kind::integer;
  if constexpr (std::is_floating_point_v<T>) return Kind::real;
  return Kind::complex;
}

/// One operation of rmw or rmw2, with its requirements of a type.
struct Operation {
  int op;
  bool two;  ///< rmw2
  bool arithmetic, logical, bits, moves, equality, relation;
};
constexpr Operation arithmetic(int op) { return {op, false, true, false, false, false, false, false}; }
constexpr Operation logical(int op) { return {op, false, false, true, false, false, false, false}; }
constexpr Operation bits(int op) { return {op, false, false, false, true, false, false, false}; }
constexpr Operation equality(int op) { return {op, true, false, false, false, false, true, false}; }
constexpr Operation relation(int op) { return {op, true, false, false, false, false, false, true}; }
constexpr Operation ordered(int op) { return {op, false, false, false, false, false, false, true}; }
constexpr Operation operations[] = {
    arithmetic(MPIX_RMW_INC),
    arithmetic(MPIX_RMW_PROD),
    arithmetic(MPIX_RMW_SUM),
    logical(MPIX_RMW_LAND),
    logical(MPIX_RMW_LOR),
    logical(MPIX_RMW_LXOR),
    bits(MPIX_RMW_BAND),
    bits(MPIX_RMW_BOR),
    bits(MPIX_RMW_BXOR),
    {MPIX_RMW_SWAP, false, false, false, false, true, false, false},
    {MPIX_RMW_NO_OP, false, false, false, false, true, false, false},
    ordered(MPIX_RMW_MIN),
    ordered(MPIX_RMW_MAX),
    {MPIX_RMW2_MASK_SWAP, true, false, false, true, false, false, false},
    relation(MPIX_RMW2_COMP_SWAP_LT),
    relation(MPIX_RMW2_COMP_SWAP_LE),
    equality(MPIX_RMW2_COMP_SWAP_E),
    relation(MPIX_RMW2_COMP_SWAP_GE),
    relation(MPIX_RMW2_COMP_SWAP_GT),
    equality(MPIX_RMW2_COMP_SWAP_NE),
};

template <typename T>
bool is_defined(Operation const& operation) {
  constexpr Kind kind = kind_of<T>();
  if (operation.arithmetic)
    return kind == Kind::integer || kind == Kind::real ||
           (kind == Kind::complex && (operation.two || operation.op != MPIX_RMW_INC));
  if (operation.logical) return kind == Kind::integer || kind == Kind::logical;
  if (operation.bits) {
    bool const masked = operation.two && kind == Kind::logical;
    return kind == Kind::integer || kind == Kind::bytes || masked;
  }
  if (operation.relation) return kind == Kind::integer || kind == Kind::real;
  return true;
}

/// The sum and the product of two elements. Integers wrap.
template <typename T>
T sum(T a, T b) {
  if constexpr (kind_of<T>() == Kind::integer) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T product(T a, T b) {
  if constexpr (kind_of<T>() == Kind::integer) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
bool is_nonzero(T value) {
  return value != T{};
}

template <typename T>
T modified(Operation const& operation, T target, T a, T b) {
  constexpr Kind kind = kind_of<T>();
  if (operation.two) {
    if (operation.op == MPIX_RMW2_COMP_SWAP_E) return a == target ? b : target;
    if (operation.op == MPIX_RMW2_COMP_SWAP_NE) return a != target ? b : target;
    if constexpr (kind == Kind::integer || kind == Kind::bytes) {
      if (operation.op == MPIX_RMW2_MASK_SWAP) return static_cast<T>((target & ~a) | (b & a));
    } else if constexpr (kind == Kind::logical) {
      if (operation.op == MPIX_RMW2_MASK_SWAP) return a ? b : target;
    }
    if constexpr (kind == Kind::integer || kind == Kind::real) {
      switch (operation.op) {
        case MPIX_RMW2_COMP_SWAP_LT: return a < target ? b : target;
        case MPIX_RMW2_COMP_SWAP_LE: return a <= target ? b : target;
        case MPIX_RMW2_COMP_SWAP_GE: return a >= target ? b : target;
        default: return a > target ? b : target;
      }
    }
    return target;
  }
  if (operation.op == MPIX_RMW_SWAP) return a;
  if constexpr (kind == Kind::integer || kind == Kind::real) {
    if (operation.op == MPIX_RMW_MIN) return std::min(target, a);
    if (operation.op == MPIX_RMW_MAX) return std::max(target, a);
  }
  if constexpr (kind == Kind::integer || kind == Kind::real || kind == Kind::complex) {
    if (operation.op == MPIX_RMW_INC) return sum(target, static_cast<T>(1));
    if (operation.op == MPIX_RMW_SUM) return sum(target, a);
    if (operation.op == MPIX_RMW_PROD) return product(target, a);
  }
  if constexpr (kind == Kind::integer || kind == Kind::logical) {
    if (operation.op == MPIX_RMW_LAND) return static_cast<T>(is_nonzero(target) && is_nonzero(a));
    if (operation.op == MPIX_RMW_LOR) return static_cast<T>(is_nonzero(target) || is_nonzero(a));
    if (operation.op == MPIX_RMW_LXOR) return static_cast<T>(is_nonzero(target) != is_nonzero(a));
  }
  if constexpr (kind == Kind::integer || kind == Kind::bytes) {
    if (operation.op == MPIX_RMW_BAND) return static_cast<T>(target & a);
    if (operation.op == MPIX_RMW_BOR) return static_cast<T>(target | a);
    if (operation.op == MPIX_RMW_BXOR) return static_cast<T>(target ^ a);
  }
  return target;
}

/// Small numbers: exact in every type, and often equal.
template <typename T>
T any(std::mt19937_64& random) {
  auto const number = static_cast<int>(random() % 7);
  if constexpr (kind_of<T>() == Kind::complex) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(number - 3), static_cast<Part>(random() % 2));
  } else if constexpr (kind_of<T>() == Kind::logical) {
    return number % 2 != 0;
  } else if constexpr (std::is_signed_v<T> || kind_of<T>() == Kind::real) {
    return static_cast<T>(number - 3);
  } else {
    return static_cast<T>(number);
  }
}

template <typename T>
class Matrix {
 public:
  Matrix(MPI_Datatype type, Memory& memory, std::mt19937_64& random)
      : type_(type), memory_(memory), random_(random) {}

  void run() {
    for (Operation const& operation : operations) {
      constexpr int counts[] = {1, 2, 7, 1024};
      std::size_t const chosen = random_() % std::size(counts);
      for (std::size_t c = 0; c < std::size(counts) / static_cast<std::size_t>(shortened(2)); ++c) {
        int const count = counts[(chosen + c) % std::size(counts)];
        auto const first = static_cast<int>(random_() % Memory::kinds);
        for (int i = 0; i < Memory::kinds / shortened(Memory::kinds); ++i)
          run_one(operation, count, (first + i) % Memory::kinds);
      }
    }
  }

 private:
  int call(Operation const& operation, T* a, T* b, T* result, int count, MPI_Aint target, std::uint64_t set) {
    MPIX_RMA_Attributes chosen = attributes(set);
    int const rank = (memory_.rank() + 1) % memory_.size();
    if (operation.two)
      return MPIX_RMA_rmw2(static_cast<MPIX_RMW2_Op>(operation.op), a, count, type_, b, result, rank, target,
                           nullptr, &world, &chosen);
    return MPIX_RMA_rmw(static_cast<MPIX_RMW_Op>(operation.op), a, count, type_, result, rank, target,
                        nullptr, &world, &chosen);
  }

  void run_one(Operation const& operation, int count, int kind) {
    int const next = (memory_.rank() + 1) % memory_.size();
    char* const where = memory_.at(next, kind);
    auto const n = static_cast<std::size_t>(count);
    // Not std::vector: std::vector<bool> has no array of bool.
    auto const a = std::make_unique<T[]>(n);
    auto const b = std::make_unique<T[]>(n);
    auto const before = std::make_unique<T[]>(n);
    auto const result = std::make_unique<T[]>(n);
    auto const after = std::make_unique<T[]>(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = any<T>(random_);
      b[i] = any<T>(random_);
      before[i] = any<T>(random_);
    }
    auto const address = reinterpret_cast<MPI_Aint>(where);
    std::uint64_t const sets[] = {MPIX_RMA_ATTR_BLOCKING, MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ATOMICITY};
    std::uint64_t const set = sets[random_() % 2];
    if (!is_defined<T>(operation)) {
      ErrorsReturn const returned(world);
      EXPECT_EQ(class_of(call(operation, a.get(), b.get(), result.get(), count, address, set)), MPI_ERR_OP)
          << "operation " << operation.op << " two " << operation.two;
      return;
    }
    int const bytes = static_cast<int>(n * sizeof(T));
    std::uint64_t const done = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, before.get(), bytes, MPI_BYTE, next, where, done), MPI_SUCCESS);
    ASSERT_EQ(call(operation, a.get(), b.get(), result.get(), count, address, set), MPI_SUCCESS);
    ASSERT_EQ(transfer(MPIX_RMA_GET, after.get(), bytes, MPI_BYTE, next, where, MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(result[i] == before[i])
          << "result of operation " << operation.op << " two " << operation.two << " element " << i << " of "
          << count << " kind " << kind;
      ASSERT_TRUE(after[i] == modified<T>(operation, before[i], a[i], b[i]))
          << "target of operation " << operation.op << " two " << operation.two << " element " << i << " of "
          << count << " kind " << kind;
    }
    // Without a result, completed by Complete.
    ASSERT_EQ(call(operation, a.get(), b.get(), nullptr, count, address, 0), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    T again{};
    ASSERT_EQ(transfer(MPIX_RMA_GET, &again, sizeof(T), MPI_BYTE, next, where + (n - 1) * sizeof(T),
                       MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    ASSERT_TRUE(again == modified<T>(operation, after[n - 1], a[n - 1], b[n - 1]))
        << "operation " << operation.op;
  }

  MPI_Datatype type_;
  Memory& memory_;
  std::mt19937_64& random_;
};

TEST(RmwMatrix, EveryOperationOnEveryTypeAndCount) {
  Memory memory(1024 * 32);
  std::mt19937_64 random(seed() + static_cast<std::uint64_t>(memory.rank()));
  Matrix<std::int8_t>(MPI_INT8_T, memory, random).run();
  Matrix<std::uint8_t>(MPI_UINT8_T, memory, random).run();
  Matrix<char>(MPI_CHAR, memory, random).run();
  Matrix<signed char>(MPI_SIGNED_CHAR, memory, random).run();
  Matrix<unsigned char>(MPI_UNSIGNED_CHAR, memory, random).run();
  Matrix<std::int16_t>(MPI_INT16_T, memory, random).run();
  Matrix<std::uint16_t>(MPI_UINT16_T, memory, random).run();
  Matrix<short>(MPI_SHORT, memory, random).run();
  Matrix<unsigned short>(MPI_UNSIGNED_SHORT, memory, random).run();
  Matrix<std::int32_t>(MPI_INT32_T, memory, random).run();
  Matrix<std::uint32_t>(MPI_UINT32_T, memory, random).run();
  Matrix<int>(MPI_INT, memory, random).run();
  Matrix<unsigned>(MPI_UNSIGNED, memory, random).run();
  Matrix<std::int64_t>(MPI_INT64_T, memory, random).run();
  Matrix<std::uint64_t>(MPI_UINT64_T, memory, random).run();
  Matrix<long>(MPI_LONG, memory, random).run();
  Matrix<unsigned long>(MPI_UNSIGNED_LONG, memory, random).run();
  Matrix<long long>(MPI_LONG_LONG, memory, random).run();
  Matrix<unsigned long long>(MPI_UNSIGNED_LONG_LONG, memory, random).run();
  Matrix<MPI_Aint>(MPI_AINT, memory, random).run();
  Matrix<MPI_Offset>(MPI_OFFSET, memory, random).run();
  Matrix<MPI_Count>(MPI_COUNT, memory, random).run();
  Matrix<bool>(MPI_C_BOOL, memory, random).run();
  Matrix<float>(MPI_FLOAT, memory, random).run();
  Matrix<double>(MPI_DOUBLE, memory, random).run();
  Matrix<long double>(MPI_LONG_DOUBLE, memory, random).run();
  Matrix<std::complex<float>>(MPI_C_FLOAT_COMPLEX, memory, random).run();
  Matrix<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, memory, random).run();
  Matrix<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX, memory, random).run();
  Matrix<std::byte>(MPI_BYTE, memory, random).run();
}

}  // namespace
}  // namespace mpixrma::test

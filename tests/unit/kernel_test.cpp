/// Accumulate and read-modify-write kernels against scalar code written another way.
#include "engine/kernel/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/random_layout.hpp"

namespace mpix::engine {
namespace {

template <ElementType tag, typename C>
struct Typed {
  static constexpr ElementType type = tag;
  using T = C;
};

template <typename T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 == 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random() % 4 == 0 ? 0 : random());
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<double>(random() % 2001) / 8 - 100);
  } else {
    using R = typename T::value_type;
    return T(random_value<R>(random), random_value<R>(random));
  }
}

/// The expected result, by wide arithmetic; nullopt-like flag through `known`.
template <typename T>
T reference(Operation operation, T a, T b, bool* known) {
  *known = true;
  if (operation == Operation::replace) return b;
  if (operation == Operation::no_op) return a;
  if constexpr (std::is_same_v<T, bool>) {
    if (operation == Operation::land) return a & b;
    if (operation == Operation::lor) return a | b;
    if (operation == Operation::lxor) return a ^ b;
  } else if constexpr (std::is_integral_v<T>) {
    auto const wide_a = static_cast<__int128>(a);
    auto const wide_b = static_cast<__int128>(b);
    switch (operation) {
      case Operation::sum: return static_cast<T>(wide_a + wide_b);
      case Operation::prod:
        return static_cast<T>(static_cast<unsigned __int128>(wide_a) *
                              static_cast<unsigned __int128>(wide_b));
      case Operation::min: return std::min(a, b);
      case Operation::max: return std::max(a, b);
      case Operation::land: return a ? (b ? 1 : 0) : 0;
      case Operation::lor: return a ? 1 : (b ? 1 : 0);
      case Operation::lxor: return !a == !b ? 0 : 1;
      case Operation::band: return static_cast<T>(wide_a & wide_b);
      case Operation::bor: return static_cast<T>(wide_a | wide_b);
      case Operation::bxor: return static_cast<T>(wide_a ^ wide_b);
      default: break;
    }
  } else {
    if (operation == Operation::sum) return a + b;
    if (operation == Operation::prod) return a * b;
    if constexpr (std::is_floating_point_v<T>) {
      if (operation == Operation::min) return std::min(a, b);
      if (operation == Operation::max) return std::max(a, b);
    }
  }
  *known = false;
  return a;
}

template <typename Case>
class AccumulateKernel : public ::testing::Test {};

using Types = ::testing::Types<
    Typed<ElementType::int8, std::int8_t>, Typed<ElementType::uint8, std::uint8_t>,
    Typed<ElementType::int16, std::int16_t>, Typed<ElementType::uint16, std::uint16_t>,
    Typed<ElementType::int32, std::int32_t>, Typed<ElementType::uint32, std::uint32_t>,
    Typed<ElementType::int64, std::int64_t>, Typed<ElementType::uint64, std::uint64_t>,
    Typed<ElementType::float32, float>, Typed<ElementType::float64, double>,
    Typed<ElementType::long_double, long double>, Typed<ElementType::complex_float, std::complex<float>>,
    Typed<ElementType::complex_double, std::complex<double>>,
    Typed<ElementType::complex_long_double, std::complex<long double>>, Typed<ElementType::boolean, bool>>;
TYPED_TEST_SUITE(AccumulateKernel, Types);

TYPED_TEST(AccumulateKernel, every_operation_and_alignment_gives_the_reference) {
  using T = typename TypeParam::T;
  auto const start = test::seed();
  std::mt19937_64 random(start);
  for (int op = 0; op < static_cast<int>(Operation::count_); ++op) {
    auto const operation = static_cast<Operation>(op);
    bool known = false;
    (void)reference<T>(operation, T{}, T{}, &known);
    ASSERT_EQ(known, is_defined(operation, TypeParam::type)) << "operation " << op;
    if (!known) continue;
    for (std::size_t const count : {1u, 2u, 3u, 7u, 8u, 31u, 64u, 257u}) {
      for (std::size_t const shift : {0u, 1u, 5u}) {
        for (bool const atomic : {false, true}) {
          std::vector<std::byte> to(count * sizeof(T) + 16);
          std::vector<std::byte> from(count * sizeof(T) + 16);
          std::vector<T> expected(count);
          for (std::size_t i = 0; i < count; ++i) {
            T const a = random_value<T>(random);
            T const b = random_value<T>(random);
            std::memcpy(to.data() + shift + i * sizeof(T), &a, sizeof a);
            std::memcpy(from.data() + (shift * 3) % 8 + i * sizeof(T), &b, sizeof b);
            expected[i] = reference<T>(operation, a, b, &known);
          }
          Layout const layout = Layout::contiguous(count * sizeof(T));
          accumulate({TypeParam::type, operation, atomic, nullptr}, to.data() + shift, layout,
                     from.data() + (shift * 3) % 8, layout);
          for (std::size_t i = 0; i < count; ++i) {
            T got;
            std::memcpy(&got, to.data() + shift + i * sizeof(T), sizeof got);
            ASSERT_EQ(got, expected[i])
                << "operation " << op << " count " << count << " element " << i << " seed " << start;
          }
        }
      }
    }
  }
}

TYPED_TEST(AccumulateKernel, scaled_sum_over_layouts_gives_the_reference) {
  using T = typename TypeParam::T;
  if constexpr (std::is_same_v<T, bool>) {
    T const scale = true;
    EXPECT_FALSE(is_valid({TypeParam::type, Operation::sum, false, &scale}));
  } else {
    auto const start = test::seed();
    std::mt19937_64 random(start);
    T const scale = T(3);
    ASSERT_TRUE(is_valid({TypeParam::type, Operation::sum, false, &scale}));
    EXPECT_FALSE(is_valid({TypeParam::type, Operation::prod, false, &scale}));
    for (int round = 0; round < 100; ++round) {
      test::RandomLayout to(random, 2000, sizeof(T));
      test::RandomLayout from(random, 2000, sizeof(T));
      test::trim_to_equal_size(to, from);
      auto const to_offsets = test::offsets_of(to.view());
      auto const from_offsets = test::offsets_of(from.view());
      std::vector<std::byte> target(to.span_bytes() + sizeof(T));
      std::vector<std::byte> origin(from.span_bytes() + sizeof(T));
      for (auto* const bytes : {&target, &origin}) {
        for (std::size_t at = 0; at + sizeof(T) <= bytes->size(); at += sizeof(T)) {
          T const value = random_value<T>(random);
          std::memcpy(bytes->data() + at, &value, sizeof value);
        }
      }
      std::vector<std::byte> expected = target;
      for (std::size_t i = 0; i < to_offsets.size(); i += sizeof(T)) {
        T a;
        T b;
        std::byte* const at = expected.data() + to.base() + to_offsets[i];
        std::memcpy(&a, at, sizeof a);
        std::memcpy(&b, origin.data() + from.base() + from_offsets[i], sizeof b);
        if constexpr (std::is_integral_v<T>) {
          a = static_cast<T>(static_cast<unsigned __int128>(a) +
                             static_cast<unsigned __int128>(scale) * static_cast<unsigned __int128>(b));
        } else {
          a = static_cast<T>(a + static_cast<T>(scale * b));
        }
        std::memcpy(at, &a, sizeof a);
      }
      accumulate({TypeParam::type, Operation::sum, round % 2 == 0, &scale}, target.data() + to.base(),
                 to.view(), origin.data() + from.base(), from.view());
      for (std::size_t i = 0; i < to_offsets.size(); i += sizeof(T)) {
        T got;
        T wanted;
        std::memcpy(&got, target.data() + to.base() + to_offsets[i], sizeof got);
        std::memcpy(&wanted, expected.data() + to.base() + to_offsets[i], sizeof wanted);
        ASSERT_EQ(got, wanted) << "seed " << start << " round " << round;
      }
    }
  }
}

TEST(PairKernel, minloc_and_maxloc_prefer_the_lower_index) {
  struct Pair {
    double value;
    int index;
  };
  Layout const layout = Layout::contiguous(4 * sizeof(Pair));
  Pair const origin[] = {{1, 5}, {2, 5}, {3, 5}, {4, 5}};
  auto const run = [&](Operation operation) {
    std::vector<Pair> target = {{2, 7}, {2, 7}, {2, 7}, {4, 3}};
    accumulate({ElementType::double_int, operation, false, nullptr},
               reinterpret_cast<std::byte*>(target.data()), layout,
               reinterpret_cast<std::byte const*>(origin), layout);
    return target;
  };
  auto const low = run(Operation::minloc);
  auto const high = run(Operation::maxloc);
  double const low_values[] = {1, 2, 2, 4};
  double const high_values[] = {2, 2, 3, 4};
  int const low_indices[] = {5, 5, 7, 3};
  int const high_indices[] = {7, 5, 5, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(low[i].value, low_values[i]);
    EXPECT_EQ(low[i].index, low_indices[i]);
    EXPECT_EQ(high[i].value, high_values[i]);
    EXPECT_EQ(high[i].index, high_indices[i]);
  }
}

template <typename T>
void check_rmw(ElementType type) {
  std::mt19937_64 random(test::seed());
  for (int op = 0; op < static_cast<int>(RmwOperation::count_); ++op) {
    auto const operation = static_cast<RmwOperation>(op);
    if (!is_defined(operation, type)) continue;
    for (int round = 0; round < 200; ++round) {
      T const old = random_value<T>(random);
      T const a = round % 3 == 0 ? old : random_value<T>(random);
      T const b = random_value<T>(random);
      T expected = old;
      switch (operation) {
        case RmwOperation::increment: expected = static_cast<T>(static_cast<unsigned long>(old) + 1); break;
        case RmwOperation::sum:
          expected = static_cast<T>(static_cast<unsigned long>(old) + static_cast<unsigned long>(a));
          break;
        case RmwOperation::prod:
          expected = static_cast<T>(static_cast<unsigned long>(old) * static_cast<unsigned long>(a));
          break;
        case RmwOperation::land: expected = old && a; break;
        case RmwOperation::lor: expected = old || a; break;
        case RmwOperation::lxor: expected = !old != !a; break;
        case RmwOperation::band: expected = static_cast<T>(old & a); break;
        case RmwOperation::bor: expected = static_cast<T>(old | a); break;
        case RmwOperation::bxor: expected = static_cast<T>(old ^ a); break;
        case RmwOperation::swap: expected = a; break;
        case RmwOperation::mask_swap: expected = static_cast<T>((b & a) | (old & static_cast<T>(~a))); break;
        case RmwOperation::compare_swap_lt:
          if (a < old) expected = b;
          break;
        case RmwOperation::compare_swap_le:
          if (a <= old) expected = b;
          break;
        case RmwOperation::compare_swap_eq:
          if (a == old) expected = b;
          break;
        case RmwOperation::compare_swap_ge:
          if (a >= old) expected = b;
          break;
        case RmwOperation::compare_swap_gt:
          if (a > old) expected = b;
          break;
        case RmwOperation::compare_swap_ne:
          if (a != old) expected = b;
          break;
        default: break;
      }
      for (bool const cpu : {false, true}) {
        alignas(8) T target = old;
        T result{};
        if (cpu && !is_cpu_atomic(type, reinterpret_cast<std::uint64_t>(&target))) continue;
        rmw(operation, type, reinterpret_cast<std::byte*>(&target), reinterpret_cast<std::byte const*>(&a),
            reinterpret_cast<std::byte const*>(&b), reinterpret_cast<std::byte*>(&result), 1, cpu);
        ASSERT_EQ(target, expected) << "operation " << op << " cpu " << cpu;
        ASSERT_EQ(result, old);
      }
    }
  }
}

TEST(RmwKernel, every_operation_gives_the_reference) {
  check_rmw<std::int8_t>(ElementType::int8);
  check_rmw<std::uint16_t>(ElementType::uint16);
  check_rmw<std::int32_t>(ElementType::int32);
  check_rmw<std::uint32_t>(ElementType::uint32);
  check_rmw<std::int64_t>(ElementType::int64);
  check_rmw<std::uint64_t>(ElementType::uint64);
}

TEST(RmwKernel, threads_lose_no_update_and_fetch_each_value_once) {
  alignas(8) std::int64_t counter = 0;
  constexpr int threads = 3;
  constexpr int rounds = 20000;
  std::vector<std::vector<std::int64_t>> fetched(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        std::int64_t value = 0;
        rmw(RmwOperation::increment, ElementType::int64, reinterpret_cast<std::byte*>(&counter), nullptr,
            nullptr, reinterpret_cast<std::byte*>(&value), 1, true);
        fetched[static_cast<std::size_t>(t)].push_back(value);
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(counter, threads * rounds);
  std::set<std::int64_t> unique;
  for (auto const& list : fetched) unique.insert(list.begin(), list.end());
  EXPECT_EQ(unique.size(), static_cast<std::size_t>(threads * rounds));
}

}  // namespace
}  // namespace mpix::engine

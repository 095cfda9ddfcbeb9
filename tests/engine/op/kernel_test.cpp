/// The table of update kernels against independent scalar code: every operation on every type, fetching or
/// not, over all kinds of layouts, with and without the CPU's atomics.
#include "engine/op/kernel/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/random_layout.hpp"
#include "tests/support/update_model.hpp"

namespace mpixrma::engine {
namespace {

template <typename Case>
class UpdateKernel : public ::testing::Test {};
TYPED_TEST_SUITE(UpdateKernel, test::ElementCases);

/// Memory with a layout, full of random elements.
template <typename T>
class Buffer {
 public:
  Buffer(test::RandomLayout const& layout, std::size_t shift, std::mt19937_64& random)
      : view_(layout.view()), base_(layout.base() + shift), bytes_(layout.span_bytes() + shift + sizeof(T)) {
    auto const whole = [&](std::size_t from) {
      for (std::size_t at = from; at + sizeof(T) <= bytes_.size(); at += sizeof(T))
        test::store(bytes_.data() + at, test::random_element<T>(random));
    };
    whole(base_ % sizeof(T));
  }

  std::byte* base() { return bytes_.data() + base_; }
  Layout const& view() const { return view_; }
  std::vector<std::byte> const& bytes() const { return bytes_; }
  /// The elements of the layout, in its order.
  std::deque<T> elements() {
    std::deque<T> values;  // not a vector, because vector<bool> holds no bools
    auto const offsets = test::offsets_of(view_);
    for (std::size_t i = 0; i < offsets.size(); i += sizeof(T))
      values.push_back(test::load<T>(base() + offsets[i]));
    return values;
  }
  /// Returns the bytes outside of the layout.
  std::vector<std::byte> rest() {
    std::vector<std::byte> bytes = bytes_;
    for (auto const offset : test::offsets_of(view_))
      bytes[base_ + static_cast<std::size_t>(offset)] = std::byte{0};
    return bytes;
  }

 private:
  Layout view_;
  std::size_t base_;
  std::vector<std::byte> bytes_;
};

/// One update over three layouts, compared with the model.
template <typename T>
class Round {
 public:
  Round(ElementType type, ReduceOp operation, std::mt19937_64& random)
      : type_(type),
        operation_(operation),
        random_(random),
        layouts_{any_layout(), any_layout(), any_layout()} {
    std::size_t bytes = SIZE_MAX;
    for (auto const& layout : layouts_) bytes = std::min(bytes, layout.view().size());
    for (auto& layout : layouts_) {
      if (layout.view().size() != bytes) layout.trim(bytes);
    }
  }

  /// Fails the test if anything differs.
  void run(bool fetch, bool atomic, bool scaled) {
    auto const shift = [&] { return random_() % 3 == 0 ? random_() % sizeof(T) : 0; };
    Buffer<T> target(layouts_[0], shift(), random_);
    Buffer<T> origin(layouts_[1], shift(), random_);
    Buffer<T> operand2(layouts_[1], shift(), random_);
    Buffer<T> result(layouts_[2], shift(), random_);
    T const scale = test::random_element<T>(random_);
    auto const before = target.elements();
    auto const a = origin.elements();
    auto const b = operand2.elements();
    auto const around_target = target.rest();
    auto const around_result = result.rest();
    auto const unfetched = result.bytes();
    unsigned const operands = operand_count(operation_);
    update({type_, operation_, atomic, scaled ? &scale : nullptr},
           {target.base(), target.view(), operands > 0 ? origin.base() : nullptr,
            operands > 1 ? operand2.base() : nullptr, origin.view(), fetch ? result.base() : nullptr,
            result.view()});
    auto const after = target.elements();
    for (std::size_t i = 0; i < before.size(); ++i) {
      T const expected = test::expected_element(operation_, before[i], a[i], b[i], scaled ? &scale : nullptr);
      ASSERT_TRUE(test::same(after[i], expected)) << "element " << i << " of " << before.size();
    }
    EXPECT_EQ(target.rest(), around_target);
    if (!fetch) {
      EXPECT_EQ(result.bytes(), unfetched);
      return;
    }
    EXPECT_EQ(result.rest(), around_result);
    auto const fetched = result.elements();
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_TRUE(test::same(fetched[i], before[i])) << "fetched " << i << " of " << before.size();
  }

 private:
  test::RandomLayout any_layout() {
    if (random_() % 3 != 0) return {random_, 2000, sizeof(T)};
    return test::RandomLayout::contiguous((1 + random_() % (random_() % 2 == 0 ? 4 : 70)) * sizeof(T));
  }

  ElementType type_;
  ReduceOp operation_;
  std::mt19937_64& random_;
  std::array<test::RandomLayout, 3> layouts_;
};

TYPED_TEST(UpdateKernel, EveryOperationOnEveryLayoutMatchesModel) {
  using T = typename TypeParam::T;
  constexpr ElementType type = TypeParam::type;
  auto const start = test::seed();
  std::mt19937_64 random(start);
  for (int op = 0; op < static_cast<int>(ReduceOp::count_); ++op) {
    auto const operation = static_cast<ReduceOp>(op);
    ASSERT_EQ(is_defined(operation, type), test::is_defined_for<T>(operation)) << "operation " << op;
    if (!is_defined(operation, type)) continue;
    for (int round = 0; round < 60; ++round) {
      Round<T> one(type, operation, random);
      bool const scaled = operation == ReduceOp::sum && round % 3 == 0;
      SCOPED_TRACE(::testing::Message() << "operation " << op << " round " << round << " seed " << start);
      for (bool const fetch : {false, true}) {
        for (bool const atomic : {false, true}) one.run(fetch, atomic, scaled);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(UpdateKernel, PartialUpdatesEqualWholeUpdate) {
  using T = typename TypeParam::T;
  constexpr ElementType type = TypeParam::type;
  auto const start = test::seed();
  std::mt19937_64 random(start);
  for (int op = 0; op < static_cast<int>(ReduceOp::count_); ++op) {
    auto const operation = static_cast<ReduceOp>(op);
    if (!is_defined(operation, type)) continue;
    for (int round = 0; round < 20; ++round) {
      test::RandomLayout const layout(random, 2000, sizeof(T));
      Buffer<T> target(layout, 0, random);
      auto const before = target.elements();
      auto const packed = test::RandomLayout::contiguous(before.size() * sizeof(T));
      Buffer<T> origin(packed, 0, random);
      Buffer<T> operand2(packed, 0, random);
      Buffer<T> result(packed, 0, random);
      bool const fetch = round % 3 != 0;
      for (std::size_t at = 0; at < before.size();) {
        std::size_t const count = std::min<std::size_t>(1 + random() % 20, before.size() - at);
        std::size_t const from = at * sizeof(T);
        update_part({type, operation, round % 2 == 0, nullptr}, target.base(), target.view(), from,
                    {origin.base() + from, operand2.base() + from, fetch ? result.base() + from : nullptr,
                     count * sizeof(T)});
        at += count;
      }
      auto const after = target.elements();
      auto const fetched = result.elements();
      auto const a = origin.elements();
      auto const b = operand2.elements();
      for (std::size_t i = 0; i < before.size(); ++i) {
        T const* const unscaled = nullptr;
        ASSERT_TRUE(test::same(after[i], test::expected_element(operation, before[i], a[i], b[i], unscaled)))
            << "operation " << op << " seed " << start;
        ASSERT_TRUE(!fetch || test::same(fetched[i], before[i])) << "operation " << op << " seed " << start;
      }
    }
  }
}

TYPED_TEST(UpdateKernel, ScaleIsValidForSumOnly) {
  using T = typename TypeParam::T;
  T const scale{};
  for (int op = 0; op < static_cast<int>(ReduceOp::count_); ++op) {
    auto const operation = static_cast<ReduceOp>(op);
    EXPECT_EQ(is_valid({TypeParam::type, operation, false, &scale}),
              operation == ReduceOp::sum && test::is_defined_for<T>(operation));
  }
}

}  // namespace
}  // namespace mpixrma::engine

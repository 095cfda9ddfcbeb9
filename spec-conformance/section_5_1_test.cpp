/// Section 5.1: operations.
#include <array>
#include <cstdio>
#include <limits>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X51 : public Clause {
 protected:
  /// Checks target (op) operand, element by element, in every kind of memory; checks both result and target.
  template <typename T>
  void rmw_gives(MPIX_RMW_Op op, MPI_Datatype type, std::vector<T> const& before, std::vector<T> operand,
                 std::vector<T> const& after) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      place(kind, before);
      std::vector<T> result(before.size());
      auto const count = static_cast<int>(before.size());
      ASSERT_EQ(MPIX_RMA_rmw(op, operand.data(), count, type, result.data(), next_, address_of(there(kind)),
                             nullptr, &world, &blocking_),
                MPI_SUCCESS);
      expect(kind, result, before, after);
    }
  }
  template <typename T>
  void rmw2_gives(MPIX_RMW2_Op op, MPI_Datatype type, std::vector<T> const& before, std::vector<T> operand,
                  std::vector<T> operand2, std::vector<T> const& after) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      place(kind, before);
      std::vector<T> result(before.size());
      auto const count = static_cast<int>(before.size());
      ASSERT_EQ(MPIX_RMA_rmw2(op, operand.data(), count, type, operand2.data(), result.data(), next_,
                              address_of(there(kind)), nullptr, &world, &blocking_),
                MPI_SUCCESS);
      expect(kind, result, before, after);
    }
  }
  /// Comperands below, equal to and above the target: the swapped elements show which comparisons hold.
  void comparison(MPIX_RMW2_Op op, bool when_less, bool when_equal, bool when_greater) {
    std::vector<long> const target = {10, 10, 10};
    std::vector<long> const comperand = {9, 10, 11};
    std::vector<long> const swaperand = {77, 78, 79};
    rmw2_gives<long>(op, MPI_LONG, target, comperand, swaperand,
                     {when_less ? 77L : 10L, when_equal ? 78L : 10L, when_greater ? 79L : 10L});
    std::vector<double> const real = {-0.5, -0.5, -0.5};
    rmw2_gives<double>(op, MPI_DOUBLE, real, {-1.0, -0.5, 0.0}, {1.0, 2.0, 3.0},
                       {when_less ? 1.0 : -0.5, when_equal ? 2.0 : -0.5, when_greater ? 3.0 : -0.5});
  }

 private:
  template <typename T>
  void place(int kind, std::vector<T> const& values) {
    MPI_Barrier(world);
    std::memcpy(memory_.own(kind), values.data(), values.size() * sizeof(T));
    MPI_Barrier(world);
  }
  template <typename T>
  void expect(int kind, std::vector<T> const& result, std::vector<T> const& before,
              std::vector<T> const& after) {
    EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(result, before) << "kind " << kind;
    std::vector<T> now(after.size());
    std::memcpy(now.data(), memory_.own(kind), now.size() * sizeof(T));
    EXPECT_EQ(now, after) << "kind " << kind;
  }

 protected:
  MPIX_RMA_Attributes blocking_ = attributes(MPIX_RMA_ATTR_BLOCKING);
};

TEST_F(X51, X51_01_other_operation_types_are_refused) {
  ErrorsReturn const returned(world);
  int value = 0;
  for (int const op : {0, 4, -1, 99})
    EXPECT_EQ(class_of(transfer(static_cast<MPIX_RMA_Op>(op), &value, 1, MPI_INT, next_, there(0))),
              MPI_ERR_OP);
}

TEST_F(X51, X51_02_get_keeps_the_target_and_put_keeps_the_origin) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill(3);
    std::vector<char> buffer(1000, 9);
    ASSERT_EQ(transfer(MPIX_RMA_PUT, buffer.data(), 1000, MPI_CHAR, next_, there(kind), blocking_remote),
              MPI_SUCCESS);
    EXPECT_EQ(buffer, std::vector<char>(1000, 9));
    MPI_Barrier(world);
    std::fill(buffer.begin(), buffer.end(), char{1});
    ASSERT_EQ(
        transfer(MPIX_RMA_GET, buffer.data(), 1000, MPI_CHAR, next_, there(kind), MPIX_RMA_ATTR_BLOCKING),
        MPI_SUCCESS);
    EXPECT_EQ(buffer, std::vector<char>(1000, 9));
    MPI_Barrier(world);
    EXPECT_TRUE(is_uniform(memory_.own(kind), 1000));
  }
}

TEST_F(X51, X51_03_accumulate_adds_to_the_target) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    fill(0);
    std::vector<double> values(700);
    std::iota(values.begin(), values.end(), 0.25);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, values.data(), 700, MPI_DOUBLE, next_, there(kind)),
                MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    }
    MPI_Barrier(world);
    for (int i = 0; i < 700; ++i) ASSERT_EQ(own<double>(kind, 8 * i), 3 * (i + 0.25)) << "kind " << kind;
    MPI_Barrier(world);
  }
}

TEST_F(X51, X51_04_calls_return_while_the_target_is_outside_of_mpi) {
  fill(0);
  // The last rank only reads its memory, to which rank 0 puts.
  int const last = size_ - 1;
  if (rank_ == last) {
    auto const* const value = reinterpret_cast<long volatile*>(memory_.own(Memory::plain));
    double const start = MPI_Wtime();
    while (size_ > 1 && *value != 42 && MPI_Wtime() - start < 30) {
    }
    if (size_ > 1) EXPECT_EQ(*value, 42);
  } else if (rank_ == 0) {
    long const value = 42;
    EXPECT_EQ(
        transfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, last, memory_.at(last, Memory::plain)),
        MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
  }
  MPI_Barrier(world);
}

TEST_F(X51, X51_10_increment_adds_one_for_any_operand) {
  rmw_gives<long>(MPIX_RMW_INC, MPI_LONG, {1, -1, 41}, {100, 100, 100}, {2, 0, 42});
  rmw_gives<short>(MPIX_RMW_INC, MPI_SHORT, {7}, {9}, {8});
  MPI_Barrier(world);
  fill(0);
  EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_INC, nullptr, 1, MPI_INT, nullptr, next_, address_of(there(0)), nullptr,
                         &world, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(own<int>(0), 1);
}
TEST_F(X51, X51_11_product) {
  rmw_gives<int>(MPIX_RMW_PROD, MPI_INT, {3, -4}, {5, 6}, {15, -24});
  rmw_gives<double>(MPIX_RMW_PROD, MPI_DOUBLE, {1.5}, {-2}, {-3});
}
TEST_F(X51, X51_12_sum) {
  rmw_gives<long>(MPIX_RMW_SUM, MPI_LONG, {3, std::numeric_limits<long>::max()}, {5, 1},
                  {8, std::numeric_limits<long>::min()});
  rmw_gives<float>(MPIX_RMW_SUM, MPI_FLOAT, {1.5f}, {0.25f}, {1.75f});
}
TEST_F(X51, X51_13_logical_and) { rmw_gives<int>(MPIX_RMW_LAND, MPI_INT, {2, 2, 0}, {4, 0, 1}, {1, 0, 0}); }
TEST_F(X51, X51_14_logical_or) { rmw_gives<int>(MPIX_RMW_LOR, MPI_INT, {2, 0, 0}, {0, 4, 0}, {1, 1, 0}); }
TEST_F(X51, X51_15_logical_exclusive_or) {
  rmw_gives<int>(MPIX_RMW_LXOR, MPI_INT, {2, 2, 0}, {4, 0, 0}, {0, 1, 0});
}
TEST_F(X51, X51_16_binary_and) {
  rmw_gives<unsigned>(MPIX_RMW_BAND, MPI_UNSIGNED, {0xf0f0u}, {0xff00u}, {0xf000u});
}
TEST_F(X51, X51_17_binary_or) {
  rmw_gives<unsigned>(MPIX_RMW_BOR, MPI_UNSIGNED, {0xf0f0u}, {0xff00u}, {0xfff0u});
}
TEST_F(X51, X51_18_binary_exclusive_or) {
  rmw_gives<unsigned>(MPIX_RMW_BXOR, MPI_UNSIGNED, {0xf0f0u}, {0xff00u}, {0x0ff0u});
}
TEST_F(X51, X51_19_swap) {
  rmw_gives<long>(MPIX_RMW_SWAP, MPI_LONG, {1, 2, 3}, {7, 8, 9}, {7, 8, 9});
  rmw_gives<signed char>(MPIX_RMW_SWAP, MPI_BYTE, {1, 2, 3}, {7, 8, 9}, {7, 8, 9});
  using Pair = std::array<int, 2>;
  rmw_gives<Pair>(MPIX_RMW_SWAP, MPI_2INT, {Pair{1, 2}, Pair{3, 4}}, {Pair{5, 6}, Pair{7, 8}},
                  {Pair{5, 6}, Pair{7, 8}});
}

TEST_F(X51, X51_20_each_element_is_updated_with_its_own_operand) {
  std::vector<long> before(300);
  std::vector<long> operand(300);
  std::vector<long> after(300);
  for (std::size_t i = 0; i < 300; ++i) {
    before[i] = static_cast<long>(i * i);
    operand[i] = 1000 - static_cast<long>(i);
    after[i] = before[i] + operand[i];
  }
  rmw_gives<long>(MPIX_RMW_SUM, MPI_LONG, before, operand, after);
}

TEST_F(X51, X51_21_result_is_the_previous_value_and_is_optional) {
  rmw_gives<int>(MPIX_RMW_SUM, MPI_INT, {5}, {6}, {11});
  MPI_Barrier(world);
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    int six = 6;
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &six, 1, MPI_INT, nullptr, next_, address_of(there(kind)), nullptr,
                           &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind), 6);
  }
}

TEST_F(X51, X51_22_concurrent_updates_are_as_if_in_some_order) {
  constexpr int rounds = 300;
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<long> fetched;
    for (int round = 0; round < rounds; ++round) {
      long one = 1;
      long before = -1;
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, 0, address_of(memory_.at(0, kind)),
                             nullptr, &world, &blocking_),
                MPI_SUCCESS);
      fetched.push_back(before);
      // Bytes of a word: updates of different widths lose nothing of each other.
      unsigned char bit = static_cast<unsigned char>(1u << (rank_ % 8));
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_BXOR, &bit, 1, MPI_UINT8_T, nullptr, 0,
                             address_of(memory_.at(0, kind, 64)), nullptr, &world, &blocking_),
                MPI_SUCCESS);
      long high = 1L << 32;
      ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &high, 1, MPI_LONG, nullptr, 0,
                             address_of(memory_.at(0, kind, 64)), nullptr, &world, &blocking_),
                MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
    std::vector<long> all(static_cast<std::size_t>(rounds * size_));
    MPI_Gather(fetched.data(), rounds, MPI_LONG, all.data(), rounds, MPI_LONG, 0, world);
    if (rank_ == 0) {
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<long>(i)) << "kind " << kind;
      EXPECT_EQ(own<long>(kind), rounds * size_);
      EXPECT_EQ(own<long>(kind, 64), static_cast<long>(rounds * size_) << 32);
    }
    MPI_Barrier(world);
  }
}

TEST_F(X51, X51_23_completion_by_request_or_complete_gives_the_result) {
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    long three = 3;
    long before = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_RMA_rmw_req(MPIX_RMW_SUM, &three, 1, MPI_LONG, &before, next_, address_of(there(kind)),
                               &request, &world),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(before, 0);
    ASSERT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &three, 1, MPI_LONG, &before, next_, address_of(there(kind)),
                           nullptr, &world, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    EXPECT_EQ(before, 3);
  }
}

TEST_F(X51, X51_24_datatype_consists_of_one_predefined_type_without_gaps) {
  ErrorsReturn const returned(world);
  fill(0);
  MPI_Datatype triple = MPI_DATATYPE_NULL;
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Datatype reversed = MPI_DATATYPE_NULL;
  int const ones[] = {1, 1};
  int const descending[] = {1, 0};
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_indexed(2, ones, descending, MPI_INT, &reversed);
  for (MPI_Datatype* const type : {&triple, &gaps, &reversed}) MPI_Type_commit(type);
  int operand[] = {1, 2, 3, 4, 5, 6};
  MPI_Aint const target = address_of(there(0));
  EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, operand, 2, triple, nullptr, next_, target, nullptr, &world, nullptr),
            MPI_SUCCESS);
  for (MPI_Datatype const type : {gaps, reversed})
    EXPECT_EQ(class_of(MPIX_RMA_rmw(MPIX_RMW_SUM, operand, 1, type, nullptr, next_, target, nullptr, &world,
                                    nullptr)),
              MPI_ERR_TYPE);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(std::memcmp(memory_.own(0), operand, sizeof operand), 0);
  for (MPI_Datatype* const type : {&triple, &gaps, &reversed}) MPI_Type_free(type);
}

TEST_F(X51, X51_30_masked_bits_come_from_the_swaperand) {
  rmw2_gives<unsigned>(MPIX_RMW2_MASK_SWAP, MPI_UNSIGNED, {0x12345678u}, {0x00ff00ffu}, {0xabcdef01u},
                       {0x12cd5601u});
  rmw2_gives<unsigned char>(MPIX_RMW2_MASK_SWAP, MPI_BYTE, {0xaa, 0xaa}, {0x0f, 0xf0}, {0x55, 0x55},
                            {0xa5, 0x5a});
}
TEST_F(X51, X51_31_compare_and_swap_when_less) { comparison(MPIX_RMW2_COMP_SWAP_LT, true, false, false); }
TEST_F(X51, X51_32_compare_and_swap_when_less_or_equal) {
  comparison(MPIX_RMW2_COMP_SWAP_LE, true, true, false);
}
TEST_F(X51, X51_33_compare_and_swap_when_equal) { comparison(MPIX_RMW2_COMP_SWAP_E, false, true, false); }
TEST_F(X51, X51_34_compare_and_swap_when_greater_or_equal) {
  comparison(MPIX_RMW2_COMP_SWAP_GE, false, true, true);
}
TEST_F(X51, X51_35_compare_and_swap_when_greater) { comparison(MPIX_RMW2_COMP_SWAP_GT, false, false, true); }
TEST_F(X51, X51_36_compare_and_swap_when_not_equal) { comparison(MPIX_RMW2_COMP_SWAP_NE, true, false, true); }
TEST_F(X51, X51_37_result_is_the_previous_value_swapped_or_not) {
  rmw2_gives<int>(MPIX_RMW2_COMP_SWAP_E, MPI_INT, {4, 5}, {4, 4}, {9, 9}, {9, 5});
}

}  // namespace
}  // namespace mpixrma::test

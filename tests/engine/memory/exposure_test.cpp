/// Operations on a target given by an exposure and an offset.
#include "engine/op/exposure.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/exposed.hpp"

namespace mpixrma::engine {
namespace {

class ExposurePaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, ExposurePaths, every_path(), path_name);

TEST_P(ExposurePaths, OperationsOnExposedMemoryMoveTheValues) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    Engine& engine = rank.engine();
    std::vector<std::int64_t> values(length / 8);
    std::iota(values.begin(), values.end(), 1);
    for (int const target : {1, 0}) {
      if (rank.rank() == 0) {
        ExposureId const id = shown_id(rank, target);
        Peer& peer = rank.peer(target);
        ASSERT_EQ(run(engine, peer, transfer(OpKind::put, values.data(), id, 0, length)), Status::ok);
        ASSERT_EQ(run(engine, peer, addition(values.data(), id, 8, 16)), Status::ok);
        std::int64_t before = 0;
        ASSERT_EQ(run(engine, peer, addition(&values[99], id, length - 8, 8, &before)), Status::ok);
        EXPECT_EQ(before, static_cast<std::int64_t>(length / 8));
        RmaOp atomic = addition(values.data() + 1000, id, 16000, 16000);
        atomic.flags = OpFlags::atomic;
        ASSERT_EQ(run(engine, peer, atomic), Status::ok);
        std::vector<std::int64_t> got(values.size());
        ASSERT_EQ(run(engine, peer, transfer(OpKind::get, got.data(), id, 0, length)), Status::ok);
        std::vector<std::int64_t> expected = values;
        expected[1] += 1;
        expected[2] += 2;
        expected.back() += 100;
        for (std::size_t i = 0; i < 2000; ++i) expected[2000 + i] += values[1000 + i];
        EXPECT_EQ(got, expected);
      }
      rank.barrier();
      if (rank.rank() == target) {
        EXPECT_EQ(std::memcmp(exposed.at(0), values.data(), 8), 0);
        std::fill_n(exposed.at(0), length, pattern);
        EXPECT_TRUE(exposed.is_untouched()) << "what stands around it";
      }
      rank.barrier();
    }
  });
}

TEST_P(ExposurePaths, AccessOutsideOfAnExposureIsRefusedWithoutEffect) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    std::vector<std::byte> buffer(2 * length, std::byte{1});
    if (rank.rank() == 0) {
      auto const expect_refused = [&](auto const& wrong) {
        EXPECT_EQ(run(rank.engine(), rank.peer(1), wrong), Status::out_of_bounds)
            << wrong.target << " + " << wrong.target_layout.size();
      };
      ExposureId const id = shown_id(rank, 1);
      struct Place {
        std::uint64_t offset;
        std::size_t bytes;
      };
      for (auto const [offset, bytes] :
           {Place{length - 7, 8}, Place{length, 8}, Place{length + margin, 8}, Place{~std::uint64_t{7}, 8},
            Place{~std::uint64_t{0}, 8}, Place{std::uint64_t{1} << 63, 8}, Place{INT64_MAX, 8},
            Place{0x7fffffff0000, 8}}) {
        for (OpKind const direction : {OpKind::put, OpKind::get})
          expect_refused(transfer(direction, buffer.data(), id, offset, bytes));
        std::int64_t const operand = 1;
        std::int64_t result = 0;
        expect_refused(addition(&operand, id, offset, bytes));
        expect_refused(addition(&operand, id, offset, bytes, &result));
        EXPECT_EQ(result, 0);
      }
      // Rows of which one lies outside, on either side.
      for (std::ptrdiff_t const stride : {std::ptrdiff_t{length / 2}, -std::ptrdiff_t{length / 2}}) {
        Dimension const rows{3, stride};
        RmaOp strided = transfer(OpKind::put, buffer.data(), id, stride > 0 ? 0 : length / 2, 24);
        strided.target_layout = {8, {&rows, 1}, {}};
        expect_refused(strided);
      }
    }
    rank.barrier();
    // Not even the rows within the exposure have been written.
    if (rank.rank() == 1) {
      EXPECT_TRUE(exposed.is_untouched());
    }
  });
}

TEST_P(ExposurePaths, MovesRowsWithinExposureFromAnyStart) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    if (rank.rank() == 0) {
      std::int64_t values[2] = {7, 8};
      Dimension const rows{2, -std::ptrdiff_t{length - 8}};
      RmaOp put = transfer(OpKind::put, values, shown_id(rank, 1), length - 8, 16);
      put.target_layout = {8, {&rows, 1}, {}};
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      std::int64_t const expected[2] = {8, 7};
      EXPECT_EQ(std::memcmp(exposed.at(0), &expected[0], 8), 0);
      EXPECT_EQ(std::memcmp(exposed.at(length - 8), &expected[1], 8), 0);
      EXPECT_TRUE(exposed.is_untouched(8, length - 8));
    }
  });
}

TEST_P(ExposurePaths, ExposurePermitsItsRightsOnly) {
  for (Rights const rights : {Rights::read, Rights::write, Rights::update, Rights::read | Rights::update}) {
    run_job(2, configure, [&](Rank& rank) {
      Exposed exposed(rank, true, rights);
      if (rank.rank() == 0) {
        ExposureId const id = shown_id(rank, 1);
        auto const expected = [&](Rights wanted) {
          return includes(rights, wanted) ? Status::ok : Status::access_denied;
        };
        auto const outcome = [&](auto const& operation) {
          return run(rank.engine(), rank.peer(1), operation);
        };
        std::int64_t value = 1;
        std::int64_t got = 0;
        EXPECT_EQ(outcome(transfer(OpKind::put, &value, id, 0, 8)), expected(Rights::write));
        EXPECT_EQ(outcome(transfer(OpKind::get, &got, id, 0, 8)), expected(Rights::read));
        EXPECT_EQ(outcome(addition(&value, id, 8, 8)), expected(Rights::update));
        EXPECT_EQ(outcome(no_op(&got, id, 16)), expected(Rights::read));
        EXPECT_EQ(outcome(addition(&value, id, 24, 8, &got)), expected(Rights::read | Rights::update));
      }
      rank.barrier();
      if (rank.rank() == 1) {
        EXPECT_EQ(exposed.is_untouched(0, 8), !includes(rights, Rights::write));
        EXPECT_EQ(exposed.is_untouched(8, 16), !includes(rights, Rights::update));
        EXPECT_EQ(exposed.is_untouched(24, 32), !includes(rights, Rights::read | Rights::update));
        std::fill_n(exposed.at(0), length, pattern);
      }
    });
  }
}

TEST_P(ExposurePaths, CounterIsAddressedByExposure) {
  with_both_kinds(configure, Rights::write | Rights::update, [](Rank& rank, Exposed& exposed) {
    if (rank.rank() == 1) std::memset(exposed.at(0), 0, 8);
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::byte> values(length - 8, std::byte{9});
      RmaOp put = transfer(OpKind::put, values.data(), shown_id(rank, 1), 8, values.size());
      put.exposed.notify = put.exposed.target;
      put.notify = 0;
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      put.exposed.target = ExposureId::none;  // only the counter, without data
      put.target_layout = put.origin_layout = Layout::contiguous(0);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      // Nothing is transferred if the counter does not exist.
      std::byte other{1};
      RmaOp wrong = transfer(OpKind::put, &other, shown_id(rank, 1), 8, 1);
      wrong.exposed.notify = wrong.exposed.target;
      wrong.notify = length;
      EXPECT_EQ(run(rank.engine(), rank.peer(1), wrong), Status::out_of_bounds);
      wrong.notify = 0;
      wrong.exposed.notify = make_exposure_id(slot_of(wrong.exposed.target), 1);
      EXPECT_EQ(run(rank.engine(), rank.peer(1), wrong), Status::stale_exposure);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      std::uint64_t counter = 0;
      std::memcpy(&counter, exposed.at(0), 8);
      EXPECT_EQ(counter, 2u);
      EXPECT_EQ(*exposed.at(8), std::byte{9});
      EXPECT_EQ(*exposed.at(length - 1), std::byte{9});
      std::fill_n(exposed.at(0), length, pattern);
    }
  });
}
}  // namespace
}  // namespace mpixrma::engine

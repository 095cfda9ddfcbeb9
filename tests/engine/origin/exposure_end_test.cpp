/// Exposures that are withdrawn and replaced by others.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/origin/exposed_view.hpp"
#include "tests/support/exposed.hpp"

namespace mpixrma::engine {
namespace {

class ExposureEndPaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, ExposureEndPaths, every_path(), path_name);

TEST_P(ExposureEndPaths, RevokedExposureIsStaleAfterReuseOfItsSlot) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    ExposureId const first = shown_id(rank, 1);
    std::int64_t value = 3;
    auto const put = [&](ExposureId id) {
      return run(rank.engine(), rank.peer(1), transfer(OpKind::put, &value, id, 0, 8));
    };
    if (rank.rank() == 0) {
      EXPECT_EQ(put(first), Status::ok);
      EXPECT_EQ(put(make_exposure_id(slot_of(first) + 1, 1)), Status::stale_exposure);
      EXPECT_EQ(put(make_exposure_id(slot_of(first), generation_of(first) + 2)), Status::stale_exposure);
      EXPECT_EQ(put(ExposureId{1}), Status::stale_exposure);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(rank.engine().exposures.withdraw(exposed.id), Status::ok);
      EXPECT_EQ(rank.engine().exposures.expose(exposed.at(8), 16, Rights::all, &exposed.id), Status::ok);
      rank.publish(0, static_cast<std::uint64_t>(exposed.id));
    }
    rank.barrier();
    if (rank.rank() == 0) {
      value = 4;
      EXPECT_EQ(put(first), Status::stale_exposure);
      EXPECT_EQ(put(shown_id(rank, 1)), Status::ok);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      std::int64_t expected = 3;
      EXPECT_EQ(std::memcmp(exposed.at(0), &expected, 8), 0);
      expected = 4;
      EXPECT_EQ(std::memcmp(exposed.at(8), &expected, 8), 0);
      EXPECT_TRUE(exposed.is_untouched(16));
    }
  });
}

TEST_P(ExposureEndPaths, ExposuresEndWithTheAllocation) {
  run_job(2, configure, [](Rank& rank) {
    void* base = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(length, &base), Status::ok);
    ExposureId id{};
    EXPECT_EQ(rank.engine().exposures.expose(base, length + 1, Rights::all, &id), Status::bad_argument);
    EXPECT_EQ(rank.engine().exposures.expose(base, length, Rights::none, &id), Status::bad_argument);
    ASSERT_EQ(rank.engine().exposures.expose(base, length, Rights::all, &id), Status::ok);
    rank.publish(0, static_cast<std::uint64_t>(id));
    rank.barrier();
    std::vector<std::byte> out(length, std::byte{1});
    auto const put = [&] {
      return run(rank.engine(), rank.peer(1),
                 transfer(OpKind::put, out.data(), shown_id(rank, 1), 0, length));
    };
    if (rank.rank() == 0) {
      EXPECT_EQ(put(), Status::ok);
    }
    rank.barrier();
    ASSERT_EQ(rank.engine().memory.free(base), Status::ok);
    EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::stale_exposure);
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(put(), Status::stale_exposure);
    }
    rank.barrier();
  });
}

/// An access to a temporary exposure reaches exactly that exposure, or fails with a stale id.
TEST_P(ExposureEndPaths, ReusedExposuresAreNeverConfused) {
  run_job(3, configure, [](Rank& rank) {
    constexpr std::size_t pieces = 4;
    constexpr std::size_t words = 3000;
    std::vector<std::int64_t> memory(pieces * words, 0);
    std::vector<ExposureId> ids(pieces);
    auto const expose = [&](std::size_t piece) {
      ASSERT_EQ(
          rank.engine().exposures.expose(memory.data() + piece * words, words * 8, Rights::all, &ids[piece]),
          Status::ok);
      rank.signal(static_cast<int>(piece), static_cast<std::uint64_t>(ids[piece]));
    };
    if (rank.rank() == 0) {
      for (std::size_t piece = 0; piece < pieces; ++piece) expose(piece);
    }
    rank.signal(8, 0);
    rank.barrier();
    auto const begin = std::chrono::steady_clock::now();
    auto const lasts = [&](int milliseconds) {
      return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(milliseconds);
    };
    std::uint64_t done = 0;
    std::uint64_t stale = 0;
    for (std::size_t round = 0;
         rank.rank() == 0 && rank.published(1, 8) + rank.published(2, 8) < 2 && lasts(60000); ++round) {
      ASSERT_EQ(rank.engine().exposures.withdraw(ids[round % pieces]), Status::ok);
      expose(round % pieces);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    for (std::size_t round = 0; rank.rank() != 0 && (lasts(200) || (done < 20 && lasts(20000))); ++round) {
      std::size_t const piece = round % pieces;
      std::vector<std::int64_t> out(round % 3 == 0 ? words : 1, static_cast<std::int64_t>(piece + 1));
      OpKind const direction = round % 5 == 0 ? OpKind::get : OpKind::put;
      ExposureId const id = shown_id(rank, 0, static_cast<int>(piece));
      Status const status =
          run(rank.engine(), rank.peer(0), transfer(direction, out.data(), id, 0, out.size() * 8));
      ASSERT_TRUE(status == Status::ok || status == Status::stale_exposure) << to_string(status);
      ++(status == Status::ok ? done : stale);
      for (std::int64_t const value : out)
        ASSERT_TRUE(value == 0 || value == static_cast<std::int64_t>(piece + 1)) << value;
    }
    rank.signal(8, 1);
    rank.barrier();
    if (rank.rank() != 0) {
      EXPECT_GE(done, 20u) << stale << " stale";
    }
    for (std::size_t piece = 0; rank.rank() == 0 && piece < pieces; ++piece) {
      for (std::size_t i = 0; i < words; ++i) {
        std::int64_t const value = memory[piece * words + i];
        ASSERT_TRUE(value == 0 || value == static_cast<std::int64_t>(piece + 1)) << piece << ": " << value;
      }
      EXPECT_EQ(rank.engine().exposures.withdraw(ids[piece]), Status::ok);
    }
    rank.barrier();
  });
}

/// Processes with different exposures agree on one id.
TEST_P(ExposureEndPaths, ExposuresOfAllProcessesCanShareOneId) {
  run_job(2, configure, [](Rank& rank) {
    Engine& engine = rank.engine();
    std::vector<std::int64_t> memory(100, rank.rank());
    ExposureId id{};
    ExposureId other{};
    for (int i = 0; i < 3 * rank.rank(); ++i)
      ASSERT_EQ(engine.exposures.expose(&memory[90], 8, Rights::all, &other), Status::ok);
    ASSERT_EQ(engine.exposures.expose(memory.data(), 80 * 8, Rights::all, &id), Status::ok);
    rank.signal(0, engine.exposures.unused_exposure_ids().slot);
    rank.signal(1, engine.exposures.unused_exposure_ids().generation);
    rank.barrier();
    auto const slot = static_cast<std::uint32_t>(std::max(rank.published(0, 0), rank.published(1, 0)));
    std::uint64_t const generation = std::max(rank.published(0, 1), rank.published(1, 1)) + 2;
    ExposureId const name = make_exposure_id(slot, generation);
    EXPECT_EQ(engine.exposures.change_id(id, id), Status::bad_argument);
    EXPECT_EQ(engine.exposures.change_id(id, make_exposure_id(slot, generation + 1)), Status::bad_argument);
    EXPECT_EQ(engine.exposures.change_id(make_exposure_id(slot, generation), name), Status::stale_exposure);
    ASSERT_EQ(engine.exposures.change_id(id, name), Status::ok);
    EXPECT_EQ(engine.exposures.change_id(name, name), Status::bad_argument) << "used";
    rank.barrier();
    for (int const target : {0, 1}) {
      std::int64_t const value = 10 + rank.rank();
      auto const put = [&](ExposureId to) {
        auto const place = static_cast<std::uint64_t>(8 * rank.rank());
        return run(engine, rank.peer(target),
                   transfer(OpKind::put, const_cast<std::int64_t*>(&value), to, place, 8));
      };
      EXPECT_EQ(put(name), Status::ok);
      EXPECT_EQ(put(make_exposure_id(slot, generation + 2)), Status::stale_exposure);
    }
    EXPECT_EQ(run(engine, rank.peer(rank.rank()), transfer(OpKind::get, &memory[95], id, 0, 8)),
              Status::stale_exposure);
    rank.barrier();
    EXPECT_EQ(memory[0], 10);
    EXPECT_EQ(memory[1], 11);
    ExposureId next{};
    ASSERT_EQ(engine.exposures.expose(&memory[90], 8, Rights::all, &next), Status::ok);
    EXPECT_GT(generation_of(next), generation);
    EXPECT_EQ(engine.exposures.withdraw(name), Status::ok);
    rank.barrier();
  });
}

TEST(ExposedView, GrantsAccessUntilRevocation) {
  run_job(
      2, [](mpix_engine_config&) {},
      [](Rank& rank) {
        Exposed exposed(rank, true, Rights::read | Rights::write);
        Exposed own(rank, false, Rights::all);
        ExposedView view;
        if (rank.rank() == 0) {
          EXPECT_EQ(rank.engine().peer_memory.view(rank.peer(1), shown_id(rank, 1), &view),
                    Status::unsupported)
              << "user memory";
        }
        rank.publish(1, static_cast<std::uint64_t>(exposed.id));
        rank.barrier();
        if (rank.rank() == 0) {
          ASSERT_EQ(rank.engine().peer_memory.view(rank.peer(1), shown_id(rank, 1, 1), &view), Status::ok);
          EXPECT_EQ(view.exposure.length, length);
          std::byte* const last = view.translate(length - 1, 1, Rights::write);
          ASSERT_NE(last, nullptr);
          *last = std::byte{77};
          EXPECT_EQ(view.translate(length - 1, 2, Rights::write), nullptr);
          EXPECT_EQ(view.translate(~std::uint64_t{0}, 2, Rights::write), nullptr);
          EXPECT_EQ(view.translate(0, 8, Rights::update), nullptr);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          EXPECT_EQ(*exposed.at(length - 1), std::byte{77});
          EXPECT_EQ(rank.engine().exposures.withdraw(exposed.id), Status::ok);
        }
        rank.barrier();
        if (rank.rank() == 0) {
          EXPECT_EQ(view.translate(0, 1, Rights::read), nullptr);
          EXPECT_EQ(rank.engine().peer_memory.view(rank.peer(1), shown_id(rank, 1, 1), &view),
                    Status::stale_exposure);
        }
        exposed.is_exposed = rank.rank() != 1;
      });
}

}  // namespace
}  // namespace mpixrma::engine

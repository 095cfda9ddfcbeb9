/// Memory that is named by an exposure and an offset, on every path: values, bounds, rights, withdrawal.
#include "engine/exposure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/peer/exposed_view.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpix::engine {
namespace {

INSTANTIATE_TEST_SUITE_P(Paths, EnginePath, every_path(), path_name);

constexpr std::size_t length = 40000;  // several messages
constexpr std::size_t margin = 64;     // exposed memory begins behind it, and others stand behind its end
constexpr auto pattern = std::byte{0x5a};

/// A piece of a larger one, at each process: allocated, or the process's own. Everything else keeps the
/// pattern.
class Exposed {
 public:
  Exposed(Rank& rank, bool allocated, Rights rights) : rank_(rank), allocated_(allocated) {
    void* base = own_.data();
    if (allocated) {
      EXPECT_EQ(rank.engine().allocate(own_.size(), &base), Status::ok);
    }
    memory_ = static_cast<std::byte*>(base);
    std::fill_n(memory_, own_.size(), pattern);
    EXPECT_EQ(rank.engine().expose(memory_ + margin, length, rights, &id), Status::ok);
    rank.show(0, static_cast<std::uint64_t>(id));
    rank.barrier();
  }
  ~Exposed() {
    rank_.barrier();
    if (is_exposed) {
      EXPECT_EQ(rank_.engine().conceal(id), Status::ok);
    }
    if (allocated_) {
      EXPECT_EQ(rank_.engine().free(memory_), Status::ok);
    }
    EXPECT_EQ(rank_.engine().conceal(id), Status::stale_exposure);
  }
  Exposed(Exposed const&) = delete;
  Exposed& operator=(Exposed const&) = delete;

  std::byte* at(std::size_t offset) const { return memory_ + margin + offset; }
  bool is_untouched(std::size_t begin = 0, std::size_t end = length) const {
    auto const same = [](std::byte value) { return value == pattern; };
    return std::all_of(at(begin), at(end), same) && std::all_of(memory_, at(0), same) &&
           std::all_of(at(length), at(length + margin), same);
  }

  ExposureId id{};
  bool is_exposed = true;

 private:
  Rank& rank_;
  bool allocated_;
  std::vector<std::byte> own_ = std::vector<std::byte>(length + 2 * margin);
  std::byte* memory_ = nullptr;
};

ExposureId shown_id(Rank& rank, int of, int slot = 0) {
  return static_cast<ExposureId>(rank.shown(of, slot));
}

/// Contiguous, at `offset` of what `id` names.
Transfer transfer(Direction direction, void* origin, ExposureId id, std::uint64_t offset, std::size_t bytes) {
  Transfer result = contiguous(direction, origin, offset, bytes);
  result.exposed.target = id;
  return result;
}

/// Adds integers to what is there.
Update addition(std::int64_t const* origin, ExposureId id, std::uint64_t offset, std::size_t bytes,
                std::int64_t* result = nullptr) {
  Update update = contiguous(Operation::sum, ElementType::int64, origin, offset, bytes, result);
  update.exposed.target = id;
  return update;
}

/// Fetches a value with the other updates of it, and changes nothing.
Update no_op(std::int64_t* result, ExposureId id, std::uint64_t offset) {
  Update update = addition(nullptr, id, offset, 8, result);
  update.operation = Operation::no_op;
  return update;
}

/// Runs `body` in a job of two whose memory is of either kind.
template <typename Configure>
void with_both_kinds(Configure configure, Rights rights, std::function<void(Rank&, Exposed&)> const& body) {
  for (bool const allocated : {true, false}) {
    run_job(2, configure, [&](Rank& rank) {
      Exposed exposed(rank, allocated, rights);
      body(rank, exposed);
    });
  }
}

TEST_P(EnginePath, operations_on_exposed_memory_move_the_values) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    Engine& engine = rank.engine();
    std::vector<std::int64_t> values(length / 8);
    std::iota(values.begin(), values.end(), 1);
    for (int const target : {1, 0}) {
      if (rank.rank() == 0) {
        ExposureId const id = shown_id(rank, target);
        Peer& peer = rank.peer(target);
        ASSERT_EQ(run(engine, peer, transfer(Direction::put, values.data(), id, 0, length)), Status::ok);
        ASSERT_EQ(run(engine, peer, addition(values.data(), id, 8, 16)), Status::ok);
        std::int64_t before = 0;
        ASSERT_EQ(run(engine, peer, addition(&values[99], id, length - 8, 8, &before)), Status::ok);
        EXPECT_EQ(before, static_cast<std::int64_t>(length / 8));
        Update atomic = addition(values.data() + 1000, id, 16000, 16000);
        atomic.guarantees = Guarantee::atomic;
        ASSERT_EQ(run(engine, peer, atomic), Status::ok);
        std::vector<std::int64_t> got(values.size());
        ASSERT_EQ(run(engine, peer, transfer(Direction::get, got.data(), id, 0, length)), Status::ok);
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

TEST_P(EnginePath, what_lies_outside_of_an_exposure_is_refused_and_stays) {
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
        for (Direction const direction : {Direction::put, Direction::get})
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
        Transfer strided = transfer(Direction::put, buffer.data(), id, stride > 0 ? 0 : length / 2, 24);
        strided.target_layout = {8, {&rows, 1}, {}};
        expect_refused(strided);
      }
    }
    rank.barrier();
    // Of the rows those that went in messages of their own may be there.
    if (rank.rank() == 1) {
      EXPECT_TRUE(exposed.is_untouched());
    }
  });
}

TEST_P(EnginePath, rows_that_lie_within_an_exposure_are_moved_from_wherever_they_begin) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    if (rank.rank() == 0) {
      std::int64_t values[2] = {7, 8};
      Dimension const rows{2, -std::ptrdiff_t{length - 8}};
      Transfer put = transfer(Direction::put, values, shown_id(rank, 1), length - 8, 16);
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

TEST_P(EnginePath, an_exposure_permits_its_rights_and_no_others) {
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
        EXPECT_EQ(outcome(transfer(Direction::put, &value, id, 0, 8)), expected(Rights::write));
        EXPECT_EQ(outcome(transfer(Direction::get, &got, id, 0, 8)), expected(Rights::read));
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

TEST_P(EnginePath, a_counter_is_named_by_an_exposure_too) {
  with_both_kinds(configure, Rights::write | Rights::update, [](Rank& rank, Exposed& exposed) {
    if (rank.rank() == 1) std::memset(exposed.at(0), 0, 8);
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::byte> values(length - 8, std::byte{9});
      Transfer put = transfer(Direction::put, values.data(), shown_id(rank, 1), 8, values.size());
      put.exposed.notify = put.exposed.target;
      put.notify = 0;
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      put.exposed.target = ExposureId::none;  // the counter alone, of nothing
      put.target_layout = put.origin_layout = Layout::contiguous(0);
      ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
      // Nothing is moved where there is no such counter.
      std::byte other{1};
      Transfer wrong = transfer(Direction::put, &other, shown_id(rank, 1), 8, 1);
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

TEST_P(EnginePath, a_withdrawn_exposure_is_stale_also_when_another_has_its_place) {
  with_both_kinds(configure, Rights::all, [](Rank& rank, Exposed& exposed) {
    ExposureId const first = shown_id(rank, 1);
    std::int64_t value = 3;
    auto const put = [&](ExposureId id) {
      return run(rank.engine(), rank.peer(1), transfer(Direction::put, &value, id, 0, 8));
    };
    if (rank.rank() == 0) {
      EXPECT_EQ(put(first), Status::ok);
      EXPECT_EQ(put(make_exposure_id(slot_of(first) + 1, 1)), Status::stale_exposure);
      EXPECT_EQ(put(make_exposure_id(slot_of(first), generation_of(first) + 2)), Status::stale_exposure);
      EXPECT_EQ(put(ExposureId{1}), Status::stale_exposure);
    }
    rank.barrier();
    if (rank.rank() == 1) {
      EXPECT_EQ(rank.engine().conceal(exposed.id), Status::ok);
      EXPECT_EQ(rank.engine().expose(exposed.at(8), 16, Rights::all, &exposed.id), Status::ok);
      rank.show(0, static_cast<std::uint64_t>(exposed.id));
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

TEST_P(EnginePath, exposures_end_with_the_allocation) {
  run_job(2, configure, [](Rank& rank) {
    void* base = nullptr;
    ASSERT_EQ(rank.engine().allocate(length, &base), Status::ok);
    ExposureId id{};
    EXPECT_EQ(rank.engine().expose(base, length + 1, Rights::all, &id), Status::bad_argument);
    EXPECT_EQ(rank.engine().expose(base, length, Rights::none, &id), Status::bad_argument);
    ASSERT_EQ(rank.engine().expose(base, length, Rights::all, &id), Status::ok);
    rank.show(0, static_cast<std::uint64_t>(id));
    rank.barrier();
    std::vector<std::byte> out(length, std::byte{1});
    auto const put = [&] {
      return run(rank.engine(), rank.peer(1),
                 transfer(Direction::put, out.data(), shown_id(rank, 1), 0, length));
    };
    if (rank.rank() == 0) {
      EXPECT_EQ(put(), Status::ok);
    }
    rank.barrier();
    ASSERT_EQ(rank.engine().free(base), Status::ok);
    EXPECT_EQ(rank.engine().conceal(id), Status::stale_exposure);
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(put(), Status::stale_exposure);
    }
    rank.barrier();
  });
}

/// Whoever names memory that comes and goes reaches that memory, or is told that it has gone.
TEST_P(EnginePath, exposures_that_come_and_go_are_never_taken_for_each_other) {
  run_job(3, configure, [](Rank& rank) {
    constexpr std::size_t pieces = 4;
    constexpr std::size_t words = 3000;
    std::vector<std::int64_t> memory(pieces * words, 0);
    std::vector<ExposureId> ids(pieces);
    auto const expose = [&](std::size_t piece) {
      ASSERT_EQ(rank.engine().expose(memory.data() + piece * words, words * 8, Rights::all, &ids[piece]),
                Status::ok);
      rank.tell(static_cast<int>(piece), static_cast<std::uint64_t>(ids[piece]));
    };
    if (rank.rank() == 0) {
      for (std::size_t piece = 0; piece < pieces; ++piece) expose(piece);
    }
    rank.tell(8, 0);
    rank.barrier();
    auto const begin = std::chrono::steady_clock::now();
    auto const lasts = [&](int milliseconds) {
      return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(milliseconds);
    };
    std::uint64_t done = 0;
    std::uint64_t stale = 0;
    for (std::size_t round = 0; rank.rank() == 0 && rank.shown(1, 8) + rank.shown(2, 8) < 2 && lasts(60000);
         ++round) {
      ASSERT_EQ(rank.engine().conceal(ids[round % pieces]), Status::ok);
      expose(round % pieces);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    for (std::size_t round = 0; rank.rank() != 0 && (lasts(200) || (done < 20 && lasts(20000))); ++round) {
      std::size_t const piece = round % pieces;
      std::vector<std::int64_t> out(round % 3 == 0 ? words : 1, static_cast<std::int64_t>(piece + 1));
      Direction const direction = round % 5 == 0 ? Direction::get : Direction::put;
      ExposureId const id = shown_id(rank, 0, static_cast<int>(piece));
      Status const status =
          run(rank.engine(), rank.peer(0), transfer(direction, out.data(), id, 0, out.size() * 8));
      ASSERT_TRUE(status == Status::ok || status == Status::stale_exposure) << to_string(status);
      ++(status == Status::ok ? done : stale);
      for (std::int64_t const value : out)
        ASSERT_TRUE(value == 0 || value == static_cast<std::int64_t>(piece + 1)) << value;
    }
    rank.tell(8, 1);
    rank.barrier();
    if (rank.rank() != 0) {
      EXPECT_GE(done, 20u) << stale << " stale";
    }
    for (std::size_t piece = 0; rank.rank() == 0 && piece < pieces; ++piece) {
      for (std::size_t i = 0; i < words; ++i) {
        std::int64_t const value = memory[piece * words + i];
        ASSERT_TRUE(value == 0 || value == static_cast<std::int64_t>(piece + 1)) << piece << ": " << value;
      }
      EXPECT_EQ(rank.engine().conceal(ids[piece]), Status::ok);
    }
    rank.barrier();
  });
}

TEST(ExposedView, reaches_what_it_may_until_that_is_withdrawn) {
  run_job(
      2, [](mpix_engine_config&) {},
      [](Rank& rank) {
        Exposed exposed(rank, true, Rights::read | Rights::write);
        Exposed own(rank, false, Rights::all);
        ExposedView view;
        if (rank.rank() == 0) {
          EXPECT_EQ(rank.engine().view(rank.peer(1), shown_id(rank, 1), &view), Status::unsupported)
              << "user memory";
        }
        rank.show(1, static_cast<std::uint64_t>(exposed.id));
        rank.barrier();
        if (rank.rank() == 0) {
          ASSERT_EQ(rank.engine().view(rank.peer(1), shown_id(rank, 1, 1), &view), Status::ok);
          EXPECT_EQ(view.exposure.length, length);
          std::byte* const last = view.reach(length - 1, 1, Rights::write);
          ASSERT_NE(last, nullptr);
          *last = std::byte{77};
          EXPECT_EQ(view.reach(length - 1, 2, Rights::write), nullptr);
          EXPECT_EQ(view.reach(~std::uint64_t{0}, 2, Rights::write), nullptr);
          EXPECT_EQ(view.reach(0, 8, Rights::update), nullptr);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          EXPECT_EQ(*exposed.at(length - 1), std::byte{77});
          EXPECT_EQ(rank.engine().conceal(exposed.id), Status::ok);
        }
        rank.barrier();
        if (rank.rank() == 0) {
          EXPECT_EQ(view.reach(0, 1, Rights::read), nullptr);
          EXPECT_EQ(rank.engine().view(rank.peer(1), shown_id(rank, 1, 1), &view), Status::stale_exposure);
        }
        exposed.is_exposed = rank.rank() != 1;
      });
}

}  // namespace
}  // namespace mpix::engine

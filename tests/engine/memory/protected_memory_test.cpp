/// Target memory that is read-only, or is protected, unmapped or truncated after it was exposed.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <vector>

#include "engine/op/exposure.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/exposed.hpp"
#include "tests/support/pages.hpp"

namespace mpixrma::engine {
namespace {

class ProtectedMemoryPaths : public EnginePath {};
INSTANTIATE_TEST_SUITE_P(Paths, ProtectedMemoryPaths, every_path(), path_name);

constexpr std::size_t pages = 16;

/// A shared mapping of a file of its own at each process.
class Pages {
 public:
  explicit Pages(int protection = PROT_READ | PROT_WRITE) {
    EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes())), 0);
    base_ = static_cast<std::byte*>(::mmap(nullptr, bytes(), protection, MAP_SHARED, file_, 0));
  }
  ~Pages() {
    ::munmap(base_, bytes());
    ::close(file_);
  }
  Pages(Pages const&) = delete;
  Pages& operator=(Pages const&) = delete;

  static std::size_t bytes() { return pages * page; }
  std::byte* base() const { return base_; }
  void protect(int protection) const { EXPECT_EQ(::mprotect(base_, bytes(), protection), 0); }
  void cut_off(std::size_t length) const { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(length)), 0); }
  /// As munmap(), but keeps the address range reserved.
  void unmap() const { EXPECT_NE(::mmap(base_, bytes(), PROT_NONE, hole, -1, 0), MAP_FAILED); }
  void map_again() const {
    EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes())), 0);
    EXPECT_EQ(::mmap(base_, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0), base_);
  }

 private:
  static constexpr int hole = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  int file_ = ::memfd_create("protected-memory-test", MFD_CLOEXEC);
  std::byte* base_ = nullptr;
};

/// The results of operations of each kind on the memory.
struct Outcomes {
  Status put;
  Status get;
  Status sum;
  Status fetching_sum;
  bool operator==(Outcomes const&) const = default;
};
void PrintTo(Outcomes const& outcomes, std::ostream* out) {
  for (Status const status : {outcomes.put, outcomes.get, outcomes.sum, outcomes.fetching_sum})
    *out << to_string(status) << "; ";
}
constexpr Outcomes all_well{Status::ok, Status::ok, Status::ok, Status::ok};
constexpr Outcomes only_reads{Status::not_writable, Status::ok, Status::not_writable, Status::not_writable};
constexpr Outcomes nothing{Status::bad_address, Status::bad_address, Status::bad_address,
                           Status::bad_address};

/// `id` is an exposure in which `target` is an offset, or none; `vouched`: the caller guarantees that the
/// target is registered.
Outcomes outcomes_of(Rank& rank, ExposureId id, RemoteAddress target, std::size_t bytes, bool vouched) {
  std::vector<std::int64_t> values(bytes / 8, 1);
  std::vector<std::int64_t> fetched(bytes / 8, -1);
  auto const outcome = [&](auto operation) {
    operation.exposed.target = id;
    if (vouched) operation.flags = operation.flags | OpFlags::target_registered;
    return run(rank.engine(), rank.peer(1), operation);
  };
  return {
      outcome(contiguous(OpKind::put, values.data(), target, bytes)),
      outcome(contiguous(OpKind::get, fetched.data(), target, bytes)),
      outcome(contiguous(ReduceOp::sum, ElementType::int64, values.data(), target, bytes)),
      outcome(contiguous(ReduceOp::sum, ElementType::int64, values.data(), target, bytes, fetched.data()))};
}

TEST_P(ProtectedMemoryPaths, RefusesWritesToExposedReadOnlyMemory) {
  run_job(2, configure, [](Rank& rank) {
    Pages const memory(PROT_READ);
    ExposureId id{};
    ASSERT_EQ(rank.engine().exposures.expose(memory.base(), Pages::bytes(), Rights::all, &id), Status::ok);
    rank.publish(0, static_cast<std::uint64_t>(id));
    rank.publish(1, memory.base());
    rank.barrier();
    if (rank.rank() == 0) {
      for (std::size_t const bytes : {std::size_t{8}, std::size_t{64}, Pages::bytes()}) {
        EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), 0, bytes, false), only_reads) << bytes;
        for (bool const vouched : {false, true})
          EXPECT_EQ(outcomes_of(rank, ExposureId::none, rank.published(1, 1), bytes, vouched), only_reads)
              << bytes;
      }
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
  });
}

/// The engine checks the rights of few pages by another method.
TEST_P(EnginePath, RefusesWritesToPartlyReadOnlyMemory) {
  run_job(2, configure, [](Rank& rank) {
    Pages const memory;
    std::fill_n(memory.base(), 2 * page, std::byte{7});
    EXPECT_EQ(::mprotect(memory.base() + page, page, PROT_READ), 0);
    EXPECT_EQ(::mprotect(memory.base() + 2 * page, page, PROT_NONE), 0);
    ExposureId mixed{};
    ExposureId whole{};
    ASSERT_EQ(rank.engine().exposures.expose(memory.base(), 2 * page, Rights::all, &mixed), Status::ok);
    ASSERT_EQ(rank.engine().exposures.expose(memory.base(), page, Rights::all, &whole), Status::ok);
    ExposureId none{};
    EXPECT_EQ(rank.engine().exposures.expose(memory.base() + page, page + 1, Rights::all, &none),
              Status::bad_address);
    EXPECT_TRUE(std::all_of(memory.base(), memory.base() + 2 * page,
                            [](std::byte value) { return value == std::byte{7}; }));
    rank.publish(0, static_cast<std::uint64_t>(mixed));
    rank.publish(1, static_cast<std::uint64_t>(whole));
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), 0, 64, false), only_reads);
      EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), page, page, false), only_reads);
      EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1, 1), 0, page, false), all_well);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().exposures.withdraw(whole), Status::ok);
    EXPECT_EQ(rank.engine().exposures.withdraw(mixed), Status::ok);
  });
}

/// Without hardware support UCX executes the operations of this path in the target's process and does not
/// survive a fault.
bool is_carried_out_by_ucx(PathCase const& paths) { return paths.paths == MPIX_ENGINE_PROTOCOL_NETWORK; }

/// Executes requests until the other process has raised its value in the slot to `value`.
void serve_until(Rank& rank, int other, int slot, std::uint64_t value) {
  while (__atomic_load_n(rank.place(other, slot), __ATOMIC_ACQUIRE) < value) rank.engine().waits.progress();
}

/// Returns the number of rounds: MPIX_TEST_ROUNDS, or `usual`, fewer under sanitizers.
std::uint64_t rounds(std::uint64_t usual) {
  char const* const asked = std::getenv("MPIX_TEST_ROUNDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : usual / test::slowness;
}

struct Change {
  char const* name;
  void (*make)(Pages const&);
  Outcomes first_page;
  Outcomes last_page;
};
std::array<Change, 4> const changes{
    Change{"read only", [](Pages const& memory) { memory.protect(PROT_READ); }, only_reads, only_reads},
    Change{"no access", [](Pages const& memory) { memory.protect(PROT_NONE); }, nothing, nothing},
    Change{"unmapped", [](Pages const& memory) { memory.unmap(); }, nothing, nothing},
    Change{"cut off", [](Pages const& memory) { memory.cut_off(Pages::bytes() / 2); }, all_well, nothing}};

/// Process 0 operates on changed memory of process 1, while process 1 calls attend(round).
template <typename Attend>
void operate_on_changed_memory(Rank& rank, Attend attend) {
  Pages const memory;
  ExposureId id{};
  ASSERT_EQ(rank.engine().exposures.expose(memory.base(), Pages::bytes(), Rights::all, &id), Status::ok);
  rank.publish(0, static_cast<std::uint64_t>(id));
  rank.publish(1, memory.base());
  rank.barrier();
  std::uint64_t round = 0;
  for (Change const& change : changes) {
    if (rank.rank() == 1) change.make(memory);
    rank.barrier();
    ++round;
    if (rank.rank() == 1) attend(round);
    if (rank.rank() == 0) {
      for (std::size_t const bytes : {std::size_t{8}, std::size_t{1000}, Pages::bytes() / 4}) {
        std::uint64_t const last = Pages::bytes() - bytes;
        EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), 0, bytes, false), change.first_page) << change.name;
        EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), last, bytes, false), change.last_page) << change.name;
        for (bool const vouched : {false, true}) {
          EXPECT_EQ(outcomes_of(rank, ExposureId::none, rank.published(1, 1) + last, bytes, vouched),
                    change.last_page)
              << change.name << ", " << bytes << " bytes, " << vouched;
        }
      }
      rank.signal(2, round);
    }
    rank.barrier();
    if (rank.rank() == 1) memory.map_again();
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), 0, Pages::bytes(), false), all_well) << change.name;
    }
    rank.barrier();
  }
  EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
}

TEST_P(ProtectedMemoryPaths, SurvivesOperationsOnMemoryThatChangesAfterItsExposure) {
  if (is_carried_out_by_ucx(GetParam())) GTEST_SKIP() << "by UCX in the target's process";
  run_job(2, configure, [](Rank& rank) { operate_on_changed_memory(rank, [](std::uint64_t) {}); });
}

TEST_P(ProtectedMemoryPaths, SurvivesChangedMemoryInThreadThatBlocksSignals) {
  if (is_carried_out_by_ucx(GetParam())) GTEST_SKIP() << "by UCX in the target's process";
  run_job(2, configure, [](Rank& rank) {
    sigset_t all;
    ::sigfillset(&all);
    operate_on_changed_memory(rank, [&](std::uint64_t round) {
      sigset_t before;
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
      serve_until(rank, 0, 2, round);
      sigset_t now;
      ::pthread_sigmask(SIG_SETMASK, &before, &now);
      EXPECT_TRUE(::sigismember(&now, SIGSEGV) == 1 && ::sigismember(&now, SIGBUS) == 1) << "blocked again";
    });
  });
}

TEST_P(ProtectedMemoryPaths, SurvivesConcurrentChangesOfProtection) {
  if (is_carried_out_by_ucx(GetParam())) GTEST_SKIP() << "by UCX in the target's process";
  std::uint64_t const operations = rounds(500);
  run_job(2, configure, [=](Rank& rank) {
    Pages const memory;
    ExposureId id{};
    ASSERT_EQ(rank.engine().exposures.expose(memory.base(), Pages::bytes(), Rights::all, &id), Status::ok);
    rank.publish(0, static_cast<std::uint64_t>(id));
    rank.barrier();
    if (rank.rank() == 0) {
      std::vector<std::int64_t> values(Pages::bytes() / 8, 1);
      std::uint64_t failures = 0;
      for (std::uint64_t i = 0; i < operations; ++i) {
        std::size_t const bytes = i % 16 == 0 ? 2 * page : 8;
        auto const offset = i * 8 % (Pages::bytes() - bytes);
        Status status = Status::ok;
        if (i % 3 == 0)
          status =
              run(rank.engine(), rank.peer(1), addition(values.data(), shown_id(rank, 1), offset, bytes));
        if (i % 3 != 0)
          status = run(rank.engine(), rank.peer(1),
                       transfer(i % 3 == 1 ? OpKind::put : OpKind::get, values.data(), shown_id(rank, 1),
                                offset, bytes));
        bool const expected =
            status == Status::ok || status == Status::bad_address || status == Status::not_writable;
        ASSERT_TRUE(expected) << to_string(status);
        if (failed(status)) ++failures;
      }
      ::testing::Test::RecordProperty("failures", static_cast<int>(failures));
      rank.signal(2, 1);
    } else {
      for (std::uint64_t i = 0; __atomic_load_n(rank.place(0, 2), __ATOMIC_ACQUIRE) == 0; ++i) {
        Change const& change = changes[i % changes.size()];
        change.make(memory);
        for (int looks = 0; looks < 20; ++looks) rank.engine().waits.progress();
        memory.map_again();
        for (int looks = 0; looks < 20; ++looks) rank.engine().waits.progress();
      }
    }
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(outcomes_of(rank, shown_id(rank, 1), 0, Pages::bytes(), false), all_well);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
  });
}

TEST_P(ProtectedMemoryPaths, ReportsCounterThatCannotBeRaised) {
  if (is_carried_out_by_ucx(GetParam())) GTEST_SKIP() << "by UCX in the target's process";
  run_job(2, configure, [](Rank& rank) {
    Pages const memory;
    Pages const counters;
    ExposureId id{};
    ExposureId counter{};
    ASSERT_EQ(rank.engine().exposures.expose(memory.base(), Pages::bytes(), Rights::all, &id), Status::ok);
    ASSERT_EQ(rank.engine().exposures.expose(counters.base(), Pages::bytes(), Rights::all, &counter),
              Status::ok);
    rank.publish(0, static_cast<std::uint64_t>(id));
    rank.publish(1, static_cast<std::uint64_t>(counter));
    if (rank.rank() == 1) counters.protect(PROT_READ);
    rank.barrier();
    if (rank.rank() == 0) {
      std::int64_t value = 5;
      for (OpKind const direction : {OpKind::put, OpKind::get}) {
        RmaOp notifying = transfer(direction, &value, shown_id(rank, 1), 0, 8);
        notifying.exposed.notify = shown_id(rank, 1, 1);
        EXPECT_EQ(run(rank.engine(), rank.peer(1), notifying), Status::not_writable);
      }
      EXPECT_EQ(run(rank.engine(), rank.peer(1), transfer(OpKind::get, &value, shown_id(rank, 1), 0, 8)),
                Status::ok);
    }
    rank.barrier();
    EXPECT_EQ(rank.engine().exposures.withdraw(id), Status::ok);
    EXPECT_EQ(rank.engine().exposures.withdraw(counter), Status::ok);
  });
}

}  // namespace
}  // namespace mpixrma::engine

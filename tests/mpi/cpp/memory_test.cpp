/// mpix: memory, registration, queries, notification, statistics, versions and errors.
#include <sys/mman.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "tests/mpi/cpp/support.hpp"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

class CppMemory : public Cpp {};

TEST_F(CppMemory, AllocationsOwnTheirMemory) {
  mpix::allocation<int> first = zeroed<int>(rank_ == 0 ? 0 : 100);
  EXPECT_EQ(first.size(), rank_ == 0 ? 0U : 100U);
  EXPECT_EQ(first.ranks(), size_);
  EXPECT_EQ(first.at(0), mpix::remote_ptr<int>(0, nullptr));
  EXPECT_FALSE(first.at(0));
  EXPECT_EQ(first.at(rank_).address(), first.data());
  mpix::allocation<int> second = std::move(first);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): it has no memory
  EXPECT_EQ(second.local().size(), second.size());
  int* const base = second.data();
  EXPECT_EQ(mpix::query(comm_, mpix::remote_ptr<int>(rank_, base)).has_value(), base != nullptr);
  second.free();
  EXPECT_EQ(second.data(), nullptr);
  second.free();  // nothing left
  EXPECT_FALSE(mpix::query(comm_, mpix::remote_ptr<int>(rank_, base)));
  void* freed = nullptr;
  {
    mpix::allocation<int> const scoped = mpix::allocate<int>(comm_, 50);
    freed = scoped.data();
    EXPECT_TRUE(mpix::query(comm_, scoped.at(rank_)));
  }
  EXPECT_FALSE(mpix::query(comm_, mpix::remote_ptr<int>(rank_, static_cast<int*>(freed))));
}

struct alignas(1 << 16) Aligned {
  int number;
};

TEST_F(CppMemory, AllocationsHaveTheAlignmentOfTheirElements) {
  auto const expect_aligned = [](Aligned const* address) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % alignof(Aligned), 0U);
  };
  mpix::allocation<char> const before = mpix::allocate<char>(comm_, 1);
  mpix::allocation<Aligned> const memory = mpix::allocate<Aligned>(comm_, 1);
  expect_aligned(memory.data());
  expect_aligned(mpix::allocate_local<Aligned>(1).data());
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "128");
  expect_aligned(mpix::allocate_local<Aligned>(1, info).data());
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "131072");
  mpix::local_allocation<Aligned> const stricter = mpix::allocate_local<Aligned>(1, info);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stricter.data()) % 131072, 0U);
  ErrorsReturn const returned(world);
  for (char const* wrong : {"3", "64abc", "0"}) {
    MPI_Info_set(info, "mpi_minimum_memory_alignment", wrong);
    EXPECT_EQ(thrown([&] { (void)mpix::allocate_local<Aligned>(1, info); }), MPI_ERR_INFO_VALUE) << wrong;
  }
  MPI_Info_free(&info);
}

TEST_F(CppMemory, AllocationIsKeptWhileAnExceptionIsThrown) {
  int* base = nullptr;
  try {
    mpix::allocation<int> const memory = mpix::allocate<int>(comm_, 50);
    base = memory.data();
    if (rank_ == 0) throw std::runtime_error("of one rank");
    mpix::allocation<int> const kept = mpix::allocate<int>(MPI_COMM_SELF, 1);
    throw std::runtime_error("of the others");
  } catch (std::runtime_error const&) {
  }
  EXPECT_TRUE(mpix::query(comm_, mpix::remote_ptr<int>(rank_, base)));
  EXPECT_EQ(rma_free(base, comm_), MPI_SUCCESS);  // the destructor has left it allocated
}

TEST_F(CppMemory, ImpossibleAllocationsFailAtAllRanks) {
  EXPECT_EQ(thrown([&] { (void)mpix::allocate<double>(comm_, std::size_t{1} << 62); }), MPI_ERR_NO_MEM);
  ErrorsReturn const returned(world);
  EXPECT_EQ(thrown([] { (void)mpix::allocate_local<double>(SIZE_MAX / 4); }), MPI_ERR_NO_MEM);
  mpix::result<mpix::allocation<double>> failed =
      mpix::allocate<double, mpix::results>(comm_, std::size_t{1} << 62);
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.status().error_class(), MPI_ERR_NO_MEM);
  EXPECT_EQ(thrown([&] { (void)failed.value(); }), MPI_ERR_NO_MEM);
}

TEST_F(CppMemory, RegistersMemoryForAScope) {
  std::vector<double> values = series(rank_, 1000);
  std::vector<mpix::remote_ptr<double>> const all = mpix::gather_addresses(comm_, values.data());
  EXPECT_EQ(all[static_cast<std::size_t>(rank_)].address(), values.data());
  {
    mpix::registration const registered = mpix::register_memory(values, mpix::access::read_write);
    MPI_Barrier(comm_);
    mpix::remote_ptr<double> const there = all[static_cast<std::size_t>(next_)];
    std::optional<mpix::segment> const found = mpix::query(comm_, there + 1);
    ASSERT_TRUE(found);
    EXPECT_EQ(static_cast<void*>(found->base.address()), there.address());
    EXPECT_EQ(found->size, 8000U);
    std::vector<mpix::segment> const segments = mpix::segments(comm_, next_);
    EXPECT_EQ(std::ranges::count(segments, *found), 1);
    mpix::put_value(comm_, -1.0, there + 999, {.target_communicatable = true});
    complete_all();
    EXPECT_EQ(values[999], -1.0);
  }
  MPI_Barrier(comm_);
  EXPECT_FALSE(mpix::query(comm_, all[static_cast<std::size_t>(rank_)]));
}

TEST_F(CppMemory, RegistersConstMemoryForReading) {
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::span<int const> const readable(static_cast<int const*>(page), 1024);
  int error_class = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &error_class);
  {
    mpix::registration registered = mpix::register_memory(readable, mpix::access::read);
    mpix::registration const moved = std::move(registered);
    EXPECT_TRUE(mpix::query(comm_, mpix::remote_ptr<int const>(rank_, readable.data() + 5)));
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  mpix::result<mpix::registration> const refused =
      mpix::register_memory<mpix::results>(readable, mpix::access::read_write);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.status().error_class(), error_class);
  EXPECT_TRUE(refused.status().is(mpix::errc::address));
  EXPECT_FALSE(refused.status().is(mpix::errc::transport));
  ::munmap(page, 4096);
}

TEST_F(CppMemory, LocalAllocationsServeAsTargets) {
  mpix::local_allocation<int> const memory = mpix::allocate_local<int>(10);
  std::ranges::fill(memory, 3);
  auto const all = mpix::gather_addresses(comm_, memory.data());
  EXPECT_EQ(mpix::fetch_add(comm_, all[static_cast<std::size_t>(next_)] + 9, 4), 3);
  complete_all();
  EXPECT_EQ(memory[9], 7);
  EXPECT_EQ(memory.local()[8], 3);
  MPI_Barrier(comm_);
}

TEST_F(CppMemory, MemoryAtOneAddress) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpix_same_address", "true");
  {
    mpix::allocation<long> const memory = mpix::allocate<long>(comm_, 10, info);
    mpix::remote_ptr<long> const mine(rank_, memory.data() + 3);
    EXPECT_EQ(mine.at(next_), memory.at(next_) + 3);
  }
  MPI_Info_free(&info);
}

TEST_F(CppMemory, NotifiesTheTarget) {
  mpix::set_num_notify(comm_, 3);
  EXPECT_EQ(mpix::get_num_notify(comm_), 3);
  mpix::allocation<double> const memory = zeroed<double>(10);
  std::vector<double> const values = series(rank_, 10);
  mpix::put(comm_, values, memory.at(next_), {.notify = 1});
  mpix::wait_notify_value(comm_, 1, 1).wait();
  EXPECT_TRUE(std::ranges::equal(memory, series(previous_, 10)));
  EXPECT_EQ(mpix::get_notify_value(comm_, 1), 1);
  EXPECT_EQ(mpix::reset_notify_value(comm_, 1), 1);
  EXPECT_EQ(mpix::get_notify_value(comm_, 1), 0);
  {
    // Never complete: the destructor must not wait.
    mpix::request const never = mpix::wait_notify_value(comm_, 2, 1000);
    mpix::request moved = mpix::wait_notify_value(comm_, 2, 2000);
    EXPECT_FALSE(moved.test());
    mpix::request last = std::move(moved);
    last = mpix::wait_notify_value(comm_, 2, 3000);
  }
  complete_all();
  EXPECT_EQ(thrown([&] { (void)mpix::get_notify_value(comm_, 3); }), MPI_ERR_ARG);
}

void expect_both_sides(mpix::attributes const& found) {
  EXPECT_TRUE(found.origin_communicatable);
  EXPECT_TRUE(found.target_communicatable);
}

TEST_F(CppMemory, CommunicatableSidesAreAdded) {
  mpix::set_attributes(comm_, {.origin_communicatable = true});
  EXPECT_FALSE(mpix::get_attributes(comm_).target_communicatable);
  mpix::set_attributes(comm_, {.target_communicatable = true});
  expect_both_sides(mpix::get_attributes(comm_));
  mpix::set_attributes(comm_, {.target_communicatable = true});
  expect_both_sides(mpix::get_attributes(comm_));
  ASSERT_EQ(MPI_Comm_set_attr(comm_, MPIX_RMA_KEY_COMMUNICATABLE, nullptr), MPI_SUCCESS);  // neither side
  mpix::set_attributes(comm_, {.origin_communicatable = true});
  EXPECT_FALSE(mpix::get_attributes(comm_).target_communicatable);
  mpix::request_object native({.target_communicatable = true});
  EXPECT_FALSE(native.get().origin_communicatable);
  native.set({.origin_communicatable = true});
  expect_both_sides(native.get());
  mpix::rma_request_object own({.origin_communicatable = true});
  own.set({.target_communicatable = true});
  expect_both_sides(own.get());
}

TEST_F(CppMemory, StatisticsAndVersions) {
  mpix::allocation<double> const memory = zeroed<double>(10);
  MPI_Count const before = mpix::statistics(comm_, mpix::all_ranks, mpix::statistic::operations);
  MPI_Count const counted = mpix::statistics(comm_, next_, mpix::statistic::counted);
  for (int i = 0; i < 5; ++i) mpix::put_value(comm_, 1.0, memory.at(next_));
  complete_all();
  MPI_Count const after = mpix::statistics(comm_, mpix::all_ranks, mpix::statistic::operations);
  EXPECT_GE(after, before);
  if (counted == 1) {
    EXPECT_EQ(after - before, 5);
  }
  EXPECT_EQ(mpix::statistics(comm_, MPI_PROC_NULL, mpix::statistic::bytes, mpix::protocol::message), 0);
  EXPECT_EQ(thrown([&] { (void)mpix::statistics(comm_, size_, mpix::statistic::bytes); }), MPI_ERR_RANK);
  EXPECT_EQ(mpix::library_version(), mpix::header_version);
  EXPECT_LT(mpix::header_version, (mpix::version{mpix::header_version.major_number + 1, 0}));
}

TEST_F(CppMemory, ErrorsAreExceptionsOrResults) {
  mpix::allocation<double> const memory = zeroed<double>(1);
  double const value = 1;
  double back = 0;
  EXPECT_EQ(thrown([&] { mpix::put(comm_, value, memory.at(size_)); }), MPI_ERR_RANK);
  EXPECT_EQ(thrown([&] { mpix::complete(comm_, size_); }), MPI_ERR_RANK);
  EXPECT_EQ(thrown([&] { mpix::put(comm_, value, mpix::remote_ptr<double>(next_, nullptr)); }), MPI_ERR_ARG);
  EXPECT_EQ(thrown([&] { mpix::strided_layout<double>(std::size_t{1} << 40, 1, 2); }), MPI_ERR_COUNT);
  using Bytes = std::array<char, 8>;
  EXPECT_EQ(thrown([&] { mpix::strided_layout<Bytes>(1, std::size_t{1} << 61, 1); }), MPI_ERR_COUNT);
  mpix::status const failed = mpix::put<mpix::results>(comm_, value, memory.at(size_));
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.error_class(), MPI_ERR_RANK);
  EXPECT_TRUE(says(failed.code(), std::to_string(size_))) << failed.message();
  EXPECT_EQ(failed.message(), text_of(failed.code()));
  EXPECT_TRUE(mpix::put<mpix::results>(comm_, value, memory.at(next_)));
  mpix::result<mpix::request> got = mpix::rget<mpix::results>(comm_, back, memory.at(next_));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->wait<mpix::results>());
  EXPECT_EQ(back, 1.0);
  EXPECT_FALSE(mpix::fetch_add<mpix::results>(comm_, memory.at(-3), 1.0));
  mpix::result<double> const before = mpix::fetch_add<mpix::results>(comm_, memory.at(next_), 1.0);
  ASSERT_TRUE(before);
  EXPECT_EQ(*before, 1.0);
  EXPECT_EQ(before.value(), 1.0);
  EXPECT_EQ(before.operator->(), &before.value());
  complete_all();
  EXPECT_EQ(memory[0], 2.0);
  MPI_Barrier(comm_);
}

/// Destroyed at exit, after MPI_Finalize: a call of MPI would end the program with an error.
struct {
  std::optional<mpix::strided_layout<double>> layout;
  std::optional<mpix::request_object> request;
  std::optional<mpix::local_allocation<double>> memory;
} left_behind;

TEST_F(CppMemory, MayOutliveMpi) {
  left_behind.layout.emplace(4, 1, 2);
  left_behind.request.emplace(mpix::attributes{.blocking = true});
  left_behind.memory = mpix::allocate_local<double>(8);
}

TEST_F(CppMemory, ProcNullIsAcceptedAsTarget) {
  mpix::allocation<double> const memory = zeroed<double>(10);
  mpix::remote_ptr<double> const nowhere = memory.at(MPI_PROC_NULL) + 5;
  std::vector<double> values = series(rank_, 3);
  mpix::put(comm_, values, nowhere, {.remote_completion = true});
  mpix::rget(comm_, values, nowhere).wait();
  EXPECT_EQ(values, series(rank_, 3));
  double expected = 1;
  EXPECT_EQ(mpix::exchange(comm_, nowhere, 7.0), 0.0);
  EXPECT_FALSE(mpix::compare_exchange(comm_, nowhere, expected, 2.0));
  EXPECT_EQ(expected, 0.0);
  mpix::complete(comm_, MPI_PROC_NULL);
  complete_all();
  EXPECT_TRUE(std::ranges::all_of(memory, [](double element) { return element == 0; }));
}

TEST_F(CppMemory, RemotePointersHaveArithmetic) {
  double numbers[10] = {};
  mpix::remote_ptr<double> pointer(3, numbers);
  mpix::remote_ptr<double const> const end = pointer + 10;
  EXPECT_EQ((pointer + 4).address(), numbers + 4);
  EXPECT_EQ((2 + pointer - 1).address(), numbers + 1);
  EXPECT_EQ(end - mpix::remote_ptr<double const>(pointer), 10);
  pointer += 5;
  --pointer;
  ++pointer;
  pointer -= 2;
  EXPECT_EQ(pointer.address(), numbers + 3);
  EXPECT_EQ((pointer++).address(), numbers + 3);
  EXPECT_EQ((pointer--).address(), numbers + 4);
  EXPECT_EQ(pointer.address(), numbers + 3);
  EXPECT_EQ(pointer.rank(), 3);
  EXPECT_LT(mpix::remote_ptr<double const>(pointer), end);
  EXPECT_LT(pointer, mpix::remote_ptr<double>(4, nullptr));
  EXPECT_NE(pointer, pointer.at(2));
  EXPECT_FALSE(mpix::remote_ptr<int>());
  static_assert(std::is_trivially_copyable_v<mpix::remote_ptr<double>>);  // it can be sent
}

}  // namespace
}  // namespace mpixrma::test

/// mpix: put, get and accumulate from all kinds of buffers, with attributes, requests and request objects.
#include <dlfcn.h>

#include <memory>

#include "tests/mpi/cpp/support.hpp"

static int freed_requests = 0;

/// Counts its calls, and calls the MPI library's function.
extern "C" int MPI_Request_free(MPI_Request* request) {
  static auto* const next =
      reinterpret_cast<decltype(&MPI_Request_free)>(::dlsym(RTLD_NEXT, "MPI_Request_free"));
  ++freed_requests;
  return next(request);
}

namespace mpixrma::test {
namespace {

class CppTransfers : public Cpp {};

static_assert(mpix::attributes{}.mask() == 0);
static_assert(mpix::attributes{.ordering = true, .blocking = true}.mask() ==
              (MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING));
static_assert(mpix::attributes{.atomicity = true,
                               .ordering = true,
                               .blocking = true,
                               .remote_completion = true,
                               .origin_communicatable = true,
                               .target_communicatable = true,
                               .accumulate_op = MPI_Op{},
                               .notify = 0}
                  .mask() == (0x1ff & ~MPIX_RMA_ATTR_ACCUMULATE_SCALE));

using Numbers = std::array<double, 3>;
static_assert(mpix::source_of<std::vector<double>&, double>);
static_assert(mpix::source_of<std::vector<double> const&, double>);
static_assert(mpix::source_of<std::span<double const>, double>);
static_assert(mpix::source_of<double const&, double>);
static_assert(mpix::source_of<Numbers&, Numbers>);
static_assert(!mpix::source_of<std::vector<double>, double>);
static_assert(!mpix::source_of<double, double>);
static_assert(!mpix::source_of<std::vector<float>&, double>);
static_assert(!mpix::destination_of<std::vector<double> const&, double>);
static_assert(std::is_convertible_v<mpix::remote_ptr<int>, mpix::remote_ptr<int const>>);
static_assert(!std::is_convertible_v<mpix::remote_ptr<int const>, mpix::remote_ptr<int>>);
static_assert(!std::is_convertible_v<mpix::remote_ptr<int>, mpix::remote_ptr<long>>);

TEST_F(CppTransfers, PutsEveryKindOfBuffer) {
  mpix::allocation<double> const memory = zeroed<double>(16);
  mpix::remote_ptr<double> const there = memory.at(next_);
  std::vector<double> const vector = series(rank_, 3);
  Numbers const array{-1.0, -2.0, -3.0};
  double plain[2] = {-4.0, -5.0};
  double const one = -6.0;
  mpix::put(comm_, vector, there);
  mpix::put(comm_, array, there + 3);
  mpix::put(comm_, plain, there + 6);
  mpix::put(comm_, one, there + 8);
  mpix::put(comm_, std::span(vector).subspan(1, 2), there + 9);
  mpix::put(comm_, std::span<double>(), there + 15);
  mpix::put_value(comm_, 7.5, there + 11);
  complete_all();
  double const first = 1000.0 * (previous_ + 1);
  std::vector<double> const expected{first, first + 1, first + 2, -1,  -2, -3, -4, -5,
                                     -6,    first + 1, first + 2, 7.5, 0,  0,  0,  0};
  EXPECT_TRUE(std::ranges::equal(memory, expected));
}

TEST_F(CppTransfers, GetReturnsValuesOfTheTarget) {
  mpix::allocation<double> const memory = zeroed<double>(64);
  std::ranges::copy(series(rank_, 64), memory.begin());
  MPI_Barrier(comm_);
  mpix::remote_ptr<double const> const there = memory.at(next_);
  std::vector<double> all(64);
  double last = 0;
  mpix::get(comm_, all, there, {.blocking = true});
  mpix::get(comm_, last, there + 63);
  EXPECT_EQ(all, series(next_, 64));
  EXPECT_EQ(mpix::get_value(comm_, there + 1), 1000.0 * (next_ + 1) + 1);
  complete_all();
  EXPECT_EQ(last, all.back());
}

TEST_F(CppTransfers, TransfersOtherTypesAsBytes) {
  struct Record {
    long key;
    char text[13];
    float value;
  };
  static_assert(!mpix::reducible<Record> && mpix::transferable<Record>);
  mpix::allocation<Record> const memory = zeroed<Record>(3);
  Record const records[2] = {{rank_, "twelve bytes", 0.5F}, {-rank_, "others", 1.5F}};
  mpix::put(comm_, records, memory.at(next_) + 1);
  complete_all();
  EXPECT_EQ(memory[0].key, 0);
  EXPECT_EQ(memory[1].key, previous_);
  EXPECT_STREQ(memory[1].text, "twelve bytes");
  EXPECT_EQ(memory[2].key, -previous_);
  EXPECT_EQ(memory[2].value, 1.5F);
  float value = 0;
  char const changed = 'T';
  mpix::get(comm_, value, (memory.at(next_) + 2).member(&Record::value), {.blocking = true});
  EXPECT_EQ(value, 1.5F);
  MPI_Barrier(comm_);
  mpix::put(comm_, changed, (memory.at(next_) + 1).member(&Record::text).elements(), {.blocking = true});
  complete_all();
  EXPECT_STREQ(memory[1].text, "Twelve bytes");
}

TEST_F(CppTransfers, AccumulatesWithOperationAndScale) {
  mpix::allocation<double> const memory = zeroed<double>(4);
  std::ranges::fill(memory, 10.0);
  MPI_Barrier(comm_);
  Numbers const numbers{1.0, 20.0, 3.0}, others{1.0, 200.0, 3.0};
  mpix::remote_ptr<double> const there = memory.at(next_);
  mpix::accumulate(comm_, numbers, there);
  complete_all();
  mpix::accumulate(comm_, others, there, {.atomicity = true, .accumulate_op = MPI_MAX});
  complete_all();
  mpix::accumulate_scaled(comm_, -2.0, numbers, there, {.remote_completion = true});
  complete_all();
  std::vector<double> const expected{9, 160, 7, 10};  // max(10 + x, y) - 2 x
  EXPECT_TRUE(std::ranges::equal(memory, expected)) << memory[0] << ' ' << memory[1] << ' ' << memory[2];
}

TEST_F(CppTransfers, AccumulatesComplexNumbersAndPairs) {
  using Complex = std::complex<double>;
  mpix::allocation<Complex> const numbers = zeroed<Complex>(2);
  std::vector<Complex> const some{{1, 2}, {3, -4}};
  mpix::accumulate(comm_, some, numbers.at(next_));
  using Pair = std::pair<double, int>;
  mpix::allocation<Pair> const pairs = zeroed<Pair>(1);
  Pair const largest{2.5, rank_};
  mpix::accumulate(comm_, largest, pairs.at(next_), {.accumulate_op = MPI_MAXLOC});
  complete_all();
  EXPECT_EQ(numbers[0], Complex(1, 2));
  EXPECT_EQ(numbers[1], Complex(3, -4));
  EXPECT_EQ(pairs[0], Pair(2.5, previous_));
}

TEST_F(CppTransfers, RequestsCompleteTransfers) {
  mpix::allocation<double> const memory = zeroed<double>(2000);
  std::vector<double> const values = series(rank_, 2000);
  std::vector<double> back(2000);
  mpix::request put = mpix::rput(comm_, values, memory.at(next_), {.remote_completion = true});
  put.wait();
  EXPECT_FALSE(put.is_active());
  put.wait();  // nothing left to wait for
  MPI_Barrier(comm_);
  EXPECT_TRUE(std::ranges::equal(memory, series(previous_, 2000)));
  mpix::request get = mpix::rget(comm_, back, memory.at(next_));
  while (!get.test()) continue;
  EXPECT_EQ(back, values);
  MPI_Barrier(comm_);
  mpix::raccumulate(comm_, values, memory.at(next_), {.remote_completion = true}).wait();
  MPI_Barrier(comm_);
  EXPECT_EQ(memory[1999], 2 * series(previous_, 2000)[1999]);
  MPI_Request native = mpix::rget(comm_, back, memory.at(next_)).release();
  EXPECT_EQ(MPI_Wait(&native, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back[1999], 2 * values[1999]);
  MPI_Barrier(comm_);
}

TEST_F(CppTransfers, RequestWaitsInItsDestructor) {
  mpix::allocation<double> const memory = zeroed<double>(1 << 16);
  std::ranges::copy(series(rank_, 1 << 16), memory.begin());
  MPI_Barrier(comm_);
  std::vector<double> const expected = series(next_, 1 << 16);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> back(1 << 16);
    {
      mpix::request const first = mpix::rget(comm_, std::span(back).first(1 << 15), memory.at(next_));
      mpix::request second;
      second = mpix::rget(comm_, std::span(back).last(1 << 15), memory.at(next_) + (1 << 15));
    }
    ASSERT_EQ(back, expected);
  }
  MPI_Barrier(comm_);
}

TEST_F(CppTransfers, WaitsForSeveralRequests) {
  mpix::allocation<double> const memory = zeroed<double>(8000);
  std::vector<double> const values = series(rank_, 8000);
  std::vector<mpix::request> requests;
  for (std::size_t i = 0; i < 8; ++i) {
    auto const part = std::span(values).subspan(1000 * i, 1000);
    requests.push_back(mpix::rput(comm_, part, memory.at(next_) + static_cast<std::ptrdiff_t>(1000 * i),
                                  {.remote_completion = true}));
  }
  std::optional<std::size_t> const first = mpix::wait_any(requests);
  ASSERT_TRUE(first);
  EXPECT_FALSE(requests[*first].is_active());
  EXPECT_EQ(std::ranges::count_if(requests, &mpix::request::is_active), 7);
  mpix::wait_all(requests);
  EXPECT_FALSE(mpix::wait_any(requests));
  MPI_Barrier(comm_);
  EXPECT_TRUE(std::ranges::equal(memory, series(previous_, 8000)));
  MPI_Barrier(comm_);
}

template <typename Object>
class CppObjects : public Cpp {};

TEST_F(Cpp, FreesRequestOfObjectWithInvalidAttribute) {
  freed_requests = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_THROW(mpix::request_object({.ordering = true, .notify = -1}), mpix::error);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  EXPECT_EQ(freed_requests, 1);
}

using Objects = ::testing::Types<mpix::request_object, mpix::rma_request_object>;
TYPED_TEST_SUITE(CppObjects, Objects);

TYPED_TEST(CppObjects, AreReusedForSuccessiveOperations) {
  mpix::allocation<double> const memory = this->template zeroed<double>(2);
  {
    TypeParam object({.remote_completion = true, .accumulate_op = MPI_PROD});
    object.set({.atomicity = true});
    mpix::attributes const chosen = object.get();
    EXPECT_EQ(chosen,
              (mpix::attributes{.atomicity = true, .remote_completion = true, .accumulate_op = MPI_PROD}));
    double const factor = 3;
    double const start = 5;
    mpix::xfer<mpix::xfer_op::put>(object, this->comm_, start, memory.at(this->next_));
    object.wait();
    for (int i = 0; i < 4; ++i) {
      mpix::xfer<mpix::xfer_op::accumulate>(object, this->comm_, factor, memory.at(this->next_));
      while (!object.test()) continue;
    }
    double back = 0;
    TypeParam other = std::move(object);
    mpix::xfer<mpix::xfer_op::get>(other, this->comm_, back, memory.at(this->next_));
    other.wait();
    EXPECT_EQ(back, 5.0 * 3 * 3 * 3 * 3);
    mpix::xfer<mpix::xfer_op::put>(other, this->comm_, start, memory.at(this->next_) + 1);
  }  // waits
  MPI_Barrier(this->comm_);
  EXPECT_EQ(memory[1], 5.0);
  MPI_Barrier(this->comm_);
}

TYPED_TEST(CppObjects, AreUsedForUpdates) {
  mpix::allocation<long> const memory = this->template zeroed<long>(3);
  mpix::remote_ptr<long> const there = memory.at(this->next_);
  std::vector<TypeParam> objects;
  objects.emplace_back(mpix::attributes{.remote_completion = true});
  objects.emplace_back(mpix::attributes{.remote_completion = true});
  std::array<long, 3> const added{5, 6, 7};
  std::vector<long> before(3, -1);
  mpix::rmw<mpix::rmw_op::sum>(objects[0], this->comm_, added, mpix::none, there);
  objects[0].wait();
  long const expected = 6;
  long const desired = 60;
  long previous = -1;
  mpix::rmw<mpix::rmw_op::no_op>(objects[0], this->comm_, mpix::none, before, there);
  mpix::rmw2<mpix::rmw2_op::comp_swap_e>(objects[1], this->comm_, expected, desired, previous, there + 1);
  mpix::wait_all(objects);
  EXPECT_EQ(previous, 6);
  EXPECT_TRUE(before[0] == 5 && (before[1] == 6 || before[1] == 60) && before[2] == 7);
  std::vector<long> const two(2);
  EXPECT_EQ(thrown([&] { mpix::rmw<mpix::rmw_op::sum>(objects[0], this->comm_, two, before, there); }),
            MPI_ERR_COUNT);
  EXPECT_EQ(thrown([&] {
              mpix::rmw2<mpix::rmw2_op::mask_swap>(objects[0], this->comm_, two, added, mpix::none, there);
            }),
            MPI_ERR_COUNT);
  MPI_Barrier(this->comm_);
  EXPECT_EQ(memory[1], 60);
  MPI_Barrier(this->comm_);
}

TEST_F(CppTransfers, StridedLayoutsOnEitherSide) {
  constexpr std::size_t rows = 5;
  constexpr std::size_t columns = 7;
  constexpr std::ptrdiff_t end = rows * columns;
  mpix::allocation<double> const memory = zeroed<double>(rows * columns + 3 * rows);
  std::vector<double> const matrix = series(rank_, rows * columns);
  std::vector<double> const expected = series(previous_, rows * columns);
  mpix::strided_layout<double> const column(rows, 1, columns);
  mpix::strided_layout<double> reversed(rows, 1, -1);
  reversed = mpix::strided_layout<double>(std::move(reversed));
  mpix::remote_ptr<double> const there = memory.at(next_);
  mpix::put(comm_, column(matrix.data() + 2), column(there + 4));
  mpix::put(comm_, column(matrix.data() + 3), there + end);
  mpix::put(comm_, std::span(matrix).first(rows), reversed(there + end + 2 * rows - 1));
  mpix::put(comm_, mpix::local_view<double const>{matrix.data(), 1, column.native()}, there + end + 2 * rows);
  complete_all();
  for (std::size_t i = 0; i < rows; ++i) {
    EXPECT_EQ(memory[i * columns + 4], expected[i * columns + 2]) << "row " << i;
    EXPECT_EQ(memory[i * columns + 3], 0) << "row " << i;
    EXPECT_EQ(memory[end + i], expected[i * columns + 3]) << "row " << i;
    EXPECT_EQ(memory[end + rows + i], expected[rows - 1 - i]) << "row " << i;
    EXPECT_EQ(memory[end + 2 * rows + i], expected[i * columns]) << "row " << i;
  }
  std::vector<double> line(rows);
  mpix::remote_ptr<double const> const readable = there;
  mpix::get(comm_, line, column(readable + 4), {.blocking = true});
  for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(line[i], matrix[i * columns + 2]) << "row " << i;
  MPI_Barrier(comm_);
}

TEST_F(CppTransfers, StridedLayoutsOfBytesAndPairs) {
  struct Point {
    int x, y, z;
  };
  mpix::allocation<Point> const points = zeroed<Point>(6);
  Point const two[2] = {{rank_, 1, 2}, {rank_, 3, 4}};
  mpix::put(comm_, two, mpix::strided_layout<Point>(2, 1, 4)(points.at(next_) + 1));
  using Pair = std::pair<double, int>;
  mpix::allocation<Pair> const pairs = zeroed<Pair>(2);
  Pair const some[3] = {{1.5, 1}, {2.5, 2}, {3.5, rank_}};
  mpix::put(comm_, mpix::strided_layout<Pair>(2, 1, 2)(some), pairs.at(next_));
  complete_all();
  EXPECT_EQ(points[0].x + points[0].y + points[2].z + points[4].y, 0);
  EXPECT_EQ(points[1].x, previous_);
  EXPECT_EQ(points[1].z, 2);
  EXPECT_EQ(points[5].x, previous_);
  EXPECT_EQ(points[5].z, 4);
  EXPECT_EQ(pairs[0], Pair(1.5, 1));
  EXPECT_EQ(pairs[1], Pair(3.5, previous_));
}

TEST_F(CppTransfers, PlansIssueTransfers) {
  mpix::allocation<long> const memory = zeroed<long>(100);
  std::vector<long> back(10);
  {
    mpix::put_plan<long> puts(comm_, next_, {.ordering = true});
    mpix::accumulate_plan<long> adds(comm_, next_);
    long const two = 2;
    for (long i = 0; i < 100; ++i) {
      long const value = 10 * rank_ + i;
      puts.issue(value, memory.at(next_) + i);
      mpix::complete_local(comm_, next_);
    }
    complete_all();
    EXPECT_EQ(memory[99], 10 * previous_ + 99);
    MPI_Barrier(comm_);
    adds.rissue(two, memory.at(next_) + 99).wait();
    complete_all();
    EXPECT_EQ(memory[99], 10 * previous_ + 101);
    mpix::put_plan<long> moved = std::move(puts);
    moved.issue(back, memory.at(next_));
    complete_all();
    EXPECT_EQ(memory[9], 0);
    EXPECT_EQ(memory[10], 10 * previous_ + 10);
  }
  mpix::get_plan<long> gets(comm_, next_);
  gets.rissue(back, memory.at(next_) + 20).wait();
  EXPECT_EQ(back[9], 10 * rank_ + 29);
  EXPECT_EQ(thrown([&] { mpix::put_plan<long>(comm_, size_); }), MPI_ERR_RANK);
  MPI_Barrier(comm_);
}

TEST_F(CppTransfers, OrdersAndCompletes) {
  mpix::allocation<long> const memory = zeroed<long>(2);
  mpix::remote_ptr<long> const there = memory.at(next_);
  long const values[] = {1, 2};
  mpix::put(comm_, values[0], there);
  mpix::fence(comm_, next_);
  mpix::put(comm_, values[1], there);
  mpix::icomplete_local(comm_).wait();
  mpix::request done = mpix::icomplete(comm_, next_);
  while (!done.test()) continue;
  MPI_Barrier(comm_);
  EXPECT_EQ(memory[0], 2);
  mpix::put(comm_, values[0], there + 1, {.ordering = true, .blocking = true, .remote_completion = true});
  MPI_Barrier(comm_);
  EXPECT_EQ(memory[1], 1);
  MPI_Barrier(comm_);
}

TEST_F(CppTransfers, CommunicatorsHaveAttributes) {
  double const scale = 3;
  mpix::attributes const chosen{.atomicity = true,
                                .remote_completion = true,
                                .origin_communicatable = true,
                                .target_communicatable = true,
                                .accumulate_op = MPI_SUM,
                                .accumulate_scale = &scale,
                                .notify = 2};
  EXPECT_EQ(mpix::get_attributes(comm_), mpix::attributes{});
  mpix::set_attributes(comm_, chosen);
  EXPECT_EQ(mpix::get_attributes(comm_), chosen);
  mpix::clear_attributes(comm_);
  EXPECT_EQ(mpix::get_attributes(comm_), mpix::attributes{});
  mpix::set_attributes(comm_, {.accumulate_op = MPI_MIN});
  mpix::allocation<double> const memory = zeroed<double>(1);
  double const value = -4.0;
  mpix::accumulate(comm_, value, memory.at(next_));
  complete_all();
  mpix::accumulate(comm_, value, memory.at(next_));
  complete_all();
  EXPECT_EQ(memory[0], -4.0);
}

}  // namespace
}  // namespace mpixrma::test

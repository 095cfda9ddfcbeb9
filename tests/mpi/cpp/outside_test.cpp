/// mpix before MPI_Init and after MPI_Finalize: calls throw, or return a status, and end no process.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "include/mpix_rma.hpp"

namespace {

int failures = 0;

void expect(bool right, char const* when, char const* what) {
  if (right) return;
  std::fprintf(stderr, "%s: %s\n", when, what);
  ++failures;
}

template <typename Call>
void expect_thrown(char const* when, char const* what, Call call, int error_class = MPI_ERR_OTHER) {
  try {
    call();
    expect(false, when, what);
  } catch (mpix::error const& failure) {
    expect(failure.status().error_class() == error_class, when, what);
    expect(std::string(failure.what()).find("MPI is not initialized") == 0, when, failure.what());
    expect(!failure.status().is(mpix::errc::address), when, what);
  }
}

struct alignas(256) Aligned {
  int number;
};

/// Makes the look-ups of communicator, datatype and target known to the fast paths, which later calls must
/// not use.
void fill_caches() {
  auto const memory = mpix::allocate<int>(MPI_COMM_WORLD, 5);
  std::vector<int> two(2);
  for (int round = 0; round < 3; ++round) {
    mpix::put(MPI_COMM_WORLD, two, memory.at(0));
    mpix::complete(MPI_COMM_WORLD);
  }
}

void call_outside(char const* when) {
  std::vector<int> two(2);
  std::vector<int> three(3);
  mpix::remote_ptr<int> const there(0, two.data());
  MPI_Comm const comm = MPI_COMM_WORLD;
  expect_thrown(when, "complete", [&] { mpix::complete(comm); });
  expect_thrown(when, "put", [&] { mpix::put(comm, two, there); });
  expect_thrown(when, "allocate", [&] { (void)mpix::allocate<int>(comm, 5); });
  expect_thrown(when, "allocate aligned", [&] { (void)mpix::allocate<Aligned>(comm, 5); });
  expect_thrown(when, "allocate_local", [] { (void)mpix::allocate_local<int>(5); });
  expect_thrown(when, "allocate_local aligned", [] { (void)mpix::allocate_local<Aligned>(5); });
  expect_thrown(when, "register_memory", [&] { (void)mpix::register_memory(two, mpix::access::read); });
  expect_thrown(when, "strided_layout", [] { mpix::strided_layout<int> const layout(1, 1, 1); });
  expect_thrown(when, "gather_addresses", [&] { (void)mpix::gather_addresses(comm, two.data()); });
  expect_thrown(when, "set_attributes", [&] { mpix::set_attributes(comm, {.ordering = true}); });
  expect_thrown(when, "get_attributes", [&] { (void)mpix::get_attributes(comm); });
  expect_thrown(when, "clear_attributes", [&] { mpix::clear_attributes(comm); });
  expect_thrown(
      when, "rmw", [&] { mpix::rmw<mpix::rmw_op::sum>(comm, two, three, there); }, MPI_ERR_COUNT);
  mpix::status const status = mpix::complete<mpix::results>(comm);
  expect(!status && status.code() == MPI_ERR_OTHER, when, "status of complete");
  expect(!mpix::allocate<int, mpix::results>(comm, 5), when, "result of allocate");
}

}  // namespace

int main(int argc, char** argv) {
  call_outside("before MPI_Init");
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  mpix::status const failed = mpix::complete<mpix::results>(MPI_COMM_WORLD, 1000);
  expect(failed.error_class() == MPI_ERR_RANK, "after MPI_Init", "class of an error");
  fill_caches();
  MPI_Finalize();
  call_outside("after MPI_Finalize");
  expect(failed.message().find(std::to_string(failed.code())) != std::string::npos, "after MPI_Finalize",
         "text of an earlier error");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

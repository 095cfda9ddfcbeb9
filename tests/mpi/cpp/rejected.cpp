/// Programs that must not compile: compile.py compiles the source with all cases, or once for each, and case
/// 0, without any of them.
#include <array>
#include <vector>

#include "mpix_rma.hpp"

#ifndef CASE
#define CASE 0
#endif
#define TRIED(number) (CASE == number || CASE == -1)

struct Record {
  int number;
};

void transfers(MPI_Comm comm, mpix::remote_ptr<double> there, mpix::remote_ptr<double const> readable) {
  std::vector<double> values(3);
  std::vector<double> const constant(3);
  std::vector<float> floats(3);
  mpix::put_plan<double> puts(comm, 1);
#if TRIED(1)  // a buffer of another type
  { mpix::put(comm, floats, there); }
#endif
#if TRIED(2)  // an object of another type
  { mpix::put(comm, floats[0], there); }
#endif
#if TRIED(3)  // a put to const memory
  { mpix::put(comm, values, readable); }
#endif
#if TRIED(4)  // a get into a const buffer
  { mpix::get(comm, constant, there); }
#endif
#if TRIED(5)  // a temporary, which is gone when the operation reads it
  { mpix::put(comm, std::vector<double>(3), there); }
#endif
#if TRIED(6)  // a temporary object
  { mpix::put(comm, 1.0, there); }
#endif
#if TRIED(7)  // attributes in another order than they are declared
  { mpix::put(comm, values, there, {.blocking = true, .atomicity = true}); }
#endif
#if TRIED(8)  // a plan's transfer of another type
  { puts.issue(floats, there); }
#endif
#if TRIED(9)  // a rank in the place of a pointer
  { mpix::put(comm, values, 1); }
#endif
#if TRIED(10)  // columns of a const matrix as destination
  {
    mpix::strided_layout<double> const column(3, 1, 3);
    mpix::get(comm, column(constant.data()), there);
  }
#endif
#if CASE == 0
  mpix::put(comm, values, there, {.atomicity = true, .blocking = true});
  mpix::put(comm, constant, there);
  mpix::get(comm, floats, mpix::remote_ptr<float const>());
  mpix::get(comm, values, readable);
  mpix::put(comm, Record{1}.number == 1 ? values : values, there);
  puts.issue(values, there);
#endif
}

void updates(MPI_Comm comm, mpix::remote_ptr<double> there) {
  mpix::remote_ptr<double const> const readable = there;
  mpix::remote_ptr<Record> const record;
  mpix::remote_ptr<int> const number;
#if TRIED(11)  // an accumulate of a type without predefined datatype
  {
    Record one{1};
    mpix::accumulate(comm, one, record);
  }
#endif
#if TRIED(12)  // bitwise operations on real numbers
  { (void)mpix::fetch<mpix::rmw_op::band>(comm, there, 1.0); }
#endif
#if TRIED(13)  // a sum of records
  { (void)mpix::fetch_add(comm, record, Record{1}); }
#endif
#if TRIED(14)  // an update of const memory
  { (void)mpix::fetch_add(comm, readable, 1.0); }
#endif
#if TRIED(15)  // an operation of rmw2 for rmw
  { mpix::rmw<mpix::rmw2_op::mask_swap>(comm, mpix::none, mpix::none, number); }
#endif
#if TRIED(16)  // a mask swap without its operands
  { mpix::rmw2<mpix::rmw2_op::mask_swap>(comm, mpix::none, mpix::none, mpix::none, number); }
#endif
#if CASE == 0
  (void)mpix::fetch<mpix::rmw_op::band>(comm, number, 1);
#endif
}

void objects(MPI_Comm comm, mpix::remote_ptr<double> there, mpix::remote_ptr<double const> readable) {
  std::vector<double> values(3);
#if TRIED(17)  // a pointer to const as a pointer to mutable
  { there = readable; }
#endif
#if TRIED(18)  // a pointer to another type
  { mpix::remote_ptr<int> other = there; }
#endif
#if TRIED(19)  // a copied request
  {
    mpix::request const request = mpix::rput(comm, values, there);
    mpix::request const copy = request;
  }
#endif
#if TRIED(20)  // a copied allocation
  {
    mpix::allocation<double> const memory = mpix::allocate<double>(comm, 3);
    mpix::allocation<double> const copy = memory;
  }
#endif
#if TRIED(21)  // memory of a type that cannot be copied byte by byte
  { (void)mpix::allocate<std::vector<int>>(comm, 3); }
#endif
#if CASE == 0
  mpix::request const request = mpix::rput(comm, values, there);
  readable = there;
#endif
}

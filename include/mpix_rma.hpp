/// MPIX_RMA for C++20: namespace mpix, on the C interface of mpix_rma.h, in headers alone.
///
///     auto memory = mpix::allocate<double>(comm, 100);          // at every rank; freed with the object
///     mpix::put(comm, values, memory.at(rank) + 10);             // values: any contiguous range of double
///     mpix::complete(comm, rank);
///     long const item = mpix::fetch_add(comm, counter, 1);       // counter: mpix::remote_ptr<long>
///
/// Types follow from remote_ptr<T>: a buffer of another type, a write to a const target and an operation that
/// is not defined for T do not compile. mpix_rma.h describes completion, order, threads and errors; the names
/// are those of the C interface, without MPIX_RMA_. docs/cpp.md is a guide.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "mpix_rma.hpp needs C++20; mpix_rma.h serves C11 and every C++"
#endif

#include "mpix_rma.h"

#include "mpix/attributes.hpp"
#include "mpix/completion.hpp"
#include "mpix/datatype.hpp"
#include "mpix/error.hpp"
#include "mpix/memory.hpp"
#include "mpix/notify.hpp"
#include "mpix/plan.hpp"
#include "mpix/remote_ptr.hpp"
#include "mpix/request.hpp"
#include "mpix/rmw.hpp"
#include "mpix/statistics.hpp"
#include "mpix/xfer.hpp"

/// Plans: the arguments of a series of transfers, checked once. Included by mpix_rma.hpp.
#pragma once

#include <cassert>
#include <utility>

#include "xfer.hpp"

namespace mpix
{

namespace detail
{
/// The memory of a plan's target: a get may read const memory.
template <xfer_op op, typename T>
using plan_target = remote_ptr<std::conditional_t<op == xfer_op::get, T const, T>>;
template <xfer_op op, typename T>
concept plannable = !std::is_const_v<T> && (op != xfer_op::accumulate || reducible<T>);
template <xfer_op op, typename T, typename Buffer>
concept plan_permits = transferable_between<op, Buffer, plan_target<op, T>> && !view_of<Buffer, T>;
} // namespace detail

/// A series of transfers of contiguous elements of type T to or from one rank, with the same attributes. Each
/// takes fewer instructions than put, get or accumulate.
template <xfer_op op, transferable T>
    requires(detail::plannable<op, T>)
class plan
{
  public:
    using target_type = detail::plan_target<op, T>;

    /// @param comm    must not be freed before the plan
    /// @param rank    the target of all transfers; with MPI_PROC_NULL nothing is transferred
    /// @param chosen  attributes of all transfers; copied, a scale included
    ///
    /// Local. Throws mpix::error if MPIX_RMA_Plan_create fails.
    plan(MPI_Comm comm, int rank, attributes const &chosen = {}) : rank_(rank)
    {
        detail::native_attributes const native(chosen);
        int const code = MPIX_RMA_Plan_create(static_cast<MPIX_RMA_Op>(op), datatype_of<T>(), rank,
                                              datatype_of<T>(), comm, native.get(), &plan_);
        if (code != MPI_SUCCESS) throw error(status(code));
    }
    plan(plan &&other) noexcept : plan_(std::exchange(other.plan_, MPIX_RMA_PLAN_NULL)), rank_(other.rank_) {}
    plan &operator=(plan &&other) noexcept
    {
        std::swap(plan_, other.plan_);
        std::swap(rank_, other.rank_);
        return *this;
    }
    /// Frees the plan; transfers already issued continue.
    ~plan()
    {
        if (plan_ != MPIX_RMA_PLAN_NULL && !detail::is_finalized()) MPIX_RMA_Plan_free(&plan_);
    }

    /// Transfers `buffer`, a contiguous range or an object; complete() completes the transfer.
    ///
    /// @param target  an address of the plan's rank
    template <error_policy Errors = exceptions, typename Buffer>
        requires(detail::plan_permits<op, T, Buffer>)
    outcome<Errors> issue(Buffer &&buffer, target_type target)
    {
        return detail::finish<Errors>(start(std::forward<Buffer>(buffer), target, nullptr));
    }
    /// issue with a request.
    template <error_policy Errors = exceptions, typename Buffer>
        requires(detail::plan_permits<op, T, Buffer>)
    outcome<Errors, request> rissue(Buffer &&buffer, target_type target)
    {
        MPI_Request native = MPI_REQUEST_NULL;
        int const code = start(std::forward<Buffer>(buffer), target, &native);
        return detail::finish<Errors>(code, request(native));
    }
    /// Returns the handle, which the object keeps.
    MPIX_RMA_Plan native() const noexcept { return plan_; }

  private:
    template <typename Buffer>
    int start(Buffer &&buffer, target_type target, MPI_Request *native)
    {
        assert(target.rank() == rank_);
        auto const here = detail::view<T>(std::forward<Buffer>(buffer));
        auto *const origin = const_cast<void *>(static_cast<void const *>(here.address));
        auto *const there = const_cast<void *>(static_cast<void const *>(target.address()));
        if constexpr (std::is_same_v<detail::count_type<T, Buffer>, int>) {
            auto const count = static_cast<int>(here.count);
            return MPIX_RMA_Plan_issue(plan_, origin, count, there, count, native);
        } else {
            return MPIX_RMA_Plan_issue_c(plan_, origin, here.count, there, here.count, native);
        }
    }

    MPIX_RMA_Plan plan_ = MPIX_RMA_PLAN_NULL;
    int rank_ = 0;
};

/// A series of puts.
template <transferable T>
using put_plan = plan<xfer_op::put, T>;
/// A series of gets.
template <transferable T>
using get_plan = plan<xfer_op::get, T>;
/// A series of accumulates.
template <transferable T>
using accumulate_plan = plan<xfer_op::accumulate, T>;

} // namespace mpix

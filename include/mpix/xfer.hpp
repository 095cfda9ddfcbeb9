/// Transfers: put, get, accumulate. Included by mpix_rma.hpp.
///
/// Arguments that all transfers share:
///
///   comm    the communicator
///   buffer  this process's memory: a contiguous range, an object, or a view with a layout (source_of,
///           destination_of). Must stay valid, and a source unchanged, until completion
///   target  a remote_ptr, which names as many contiguous elements as `buffer` has, or a remote_view. Its
///           elements must have the type of the buffer's, and not be const for put and accumulate
///   chosen  attributes of the operation
///
/// Transfers are local and do not wait, unless attributes::blocking is set; MPIX_RMA_xfer describes
/// completion, order and errors. put, get and accumulate are completed by complete(); rput, rget and
/// raccumulate return a request.
#pragma once

#include <type_traits>

#include "attributes.hpp"
#include "datatype.hpp"
#include "error.hpp"
#include "request.hpp"

namespace mpix
{

/// The operations of xfer.
enum class xfer_op : int {
    put = MPIX_RMA_PUT,              ///< this process's memory to the target's
    get = MPIX_RMA_GET,              ///< the target's memory to this process's
    accumulate = MPIX_RMA_ACCUMULATE ///< combine this process's memory into the target's
};

namespace detail
{

template <typename Target>
using value_of = std::remove_cv_t<typename Target::element_type>;

/// The arguments that an operation permits: the side that it writes is not const, and elements that it
/// combines are reducible.
template <xfer_op op, typename Buffer, typename Target>
concept writes_mutable = (op == xfer_op::get && destination_of<Buffer, value_of<Target>>) ||
                         (op != xfer_op::get && remote_destination<Target>);
template <xfer_op op, typename Buffer, typename Target>
concept transferable_between = remote_source<Target> && source_of<Buffer, value_of<Target>> &&
    writes_mutable<op, Buffer, Target> &&(op != xfer_op::accumulate || reducible<value_of<Target>>);

/// Calls `issue`, which has the arguments of MPIX_RMA_xfer or MPIX_RMA_xfer_c up to target_datatype.
template <xfer_op op, typename Target, typename Buffer, typename Issue>
int transfer(Buffer &&buffer, Target const &target, Issue issue)
{
    auto const here = view<value_of<Target>>(std::forward<Buffer>(buffer));
    auto const there = target_view<Buffer>(target, here);
    using count = std::conditional_t<is_remote_ptr<Target>, count_type<value_of<Target>, Buffer>, MPI_Count>;
    return issue(static_cast<MPIX_RMA_Op>(op), const_cast<void *>(static_cast<void const *>(here.address)),
                 static_cast<count>(here.count), here.type, there.address.rank(),
                 const_cast<void *>(static_cast<void const *>(there.address.address())),
                 static_cast<count>(there.count), there.type);
}

/// Transfers with attributes and a native request, which may be null.
template <xfer_op op, typename Buffer, typename Target>
int transfer(MPI_Comm const &comm, Buffer &&buffer, Target const &target, MPI_Request *request,
             attributes const &chosen)
{
    native_attributes const native(chosen);
    auto *const communicator = const_cast<MPI_Comm *>(&comm);
    return transfer<op>(
        std::forward<Buffer>(buffer), target, [&](MPIX_RMA_Op which, void *here, auto count, auto... rest) {
            if constexpr (std::is_same_v<decltype(count), int>) {
                return MPIX_RMA_xfer(which, here, count, rest..., request, communicator, native.get());
            } else {
                return MPIX_RMA_xfer_c(which, here, count, rest..., request, communicator, native.get());
            }
        });
}

} // namespace detail

/// Transfers data; complete() completes the operation.
template <xfer_op op, error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<op, Buffer, Target>)
outcome<Errors> xfer(MPI_Comm const &comm, Buffer &&buffer, Target target, attributes const &chosen = {})
{
    return detail::finish<Errors>(
        detail::transfer<op>(comm, std::forward<Buffer>(buffer), target, nullptr, chosen));
}

/// Transfers data, and returns a request.
template <xfer_op op, error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<op, Buffer, Target>)
outcome<Errors, request> rxfer(MPI_Comm const &comm, Buffer &&buffer, Target target,
                               attributes const &chosen = {})
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code = detail::transfer<op>(comm, std::forward<Buffer>(buffer), target, &native, chosen);
    return detail::finish<Errors>(code, request(native));
}

/// Transfers data with the attributes of a request object, which then stands for the operation.
template <xfer_op op, error_policy Errors = exceptions, typename Calls, typename Buffer, typename Target>
    requires(detail::transferable_between<op, Buffer, Target>)
outcome<Errors> xfer(basic_request_object<Calls> &object, MPI_Comm const &comm, Buffer &&buffer,
                     Target target)
{
    return detail::finish<Errors>(
        detail::transfer<op>(std::forward<Buffer>(buffer), target, [&](auto... arguments) {
            return Calls::xfer(arguments..., &object.native(), const_cast<MPI_Comm *>(&comm));
        }));
}

/// Copies this process's memory to the target.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::put, Buffer, Target>)
outcome<Errors> put(MPI_Comm const &comm, Buffer &&buffer, Target target, attributes const &chosen = {})
{
    return xfer<xfer_op::put, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// Copies the target's memory to this process. The buffer has the data when the operation is complete.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::get, Buffer, Target>)
outcome<Errors> get(MPI_Comm const &comm, Buffer &&buffer, Target target, attributes const &chosen = {})
{
    return xfer<xfer_op::get, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// Combines this process's memory into the target's by attributes::accumulate_op, which without it is
/// MPI_SUM. Without attributes::atomicity concurrent updates of an element can be lost.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::accumulate, Buffer, Target>)
outcome<Errors> accumulate(MPI_Comm const &comm, Buffer &&buffer, Target target,
                           attributes const &chosen = {})
{
    return xfer<xfer_op::accumulate, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// Adds `scale` times this process's memory to the target's.
///
/// @param scale  read during the call
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::accumulate, Buffer, Target>)
outcome<Errors> accumulate_scaled(MPI_Comm const &comm, detail::value_of<Target> const &scale,
                                  Buffer &&buffer, Target target, attributes chosen = {})
{
    chosen.accumulate_scale = &scale;
    return xfer<xfer_op::accumulate, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// put with a request.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::put, Buffer, Target>)
outcome<Errors, request> rput(MPI_Comm const &comm, Buffer &&buffer, Target target,
                              attributes const &chosen = {})
{
    return rxfer<xfer_op::put, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// get with a request.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::get, Buffer, Target>)
outcome<Errors, request> rget(MPI_Comm const &comm, Buffer &&buffer, Target target,
                              attributes const &chosen = {})
{
    return rxfer<xfer_op::get, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// accumulate with a request.
template <error_policy Errors = exceptions, typename Buffer, typename Target>
    requires(detail::transferable_between<xfer_op::accumulate, Buffer, Target>)
outcome<Errors, request> raccumulate(MPI_Comm const &comm, Buffer &&buffer, Target target,
                                     attributes const &chosen = {})
{
    return rxfer<xfer_op::accumulate, Errors>(comm, std::forward<Buffer>(buffer), target, chosen);
}

/// Copies a value to the target. Returns when the value has been taken: it may be a temporary.
template <error_policy Errors = exceptions, transferable T>
    requires(!std::is_const_v<T>)
outcome<Errors> put_value(MPI_Comm const &comm, std::type_identity_t<T> const &value, remote_ptr<T> target,
                          attributes chosen = {})
{
    chosen.blocking = true;
    return put<Errors>(comm, value, target, chosen);
}

/// Returns a value of the target's memory.
template <error_policy Errors = exceptions, transferable T>
    requires(std::default_initializable<std::remove_const_t<T>>)
outcome<Errors, std::remove_const_t<T>> get_value(MPI_Comm const &comm, remote_ptr<T> target,
                                                  attributes chosen = {})
{
    chosen.blocking = true;
    std::remove_const_t<T> value{};
    int const code = detail::transfer<xfer_op::get>(comm, value, target, nullptr, chosen);
    return detail::finish<Errors>(code, std::move(value));
}

} // namespace mpix

/// Read-modify-write operations. Included by mpix_rma.hpp.
///
/// Each element is updated atomically with respect to all other such operations on it. The operation is a
/// template argument; a type for which the operation is not defined does not compile. The arguments are those
/// of transfers (xfer.hpp); operands and results are contiguous and of equal length. MPIX_RMA_rmw describes
/// completion, atomicity and errors.
#pragma once

#include <complex>
#include <string>
#include <type_traits>

#include "attributes.hpp"
#include "datatype.hpp"
#include "error.hpp"
#include "request.hpp"

namespace mpix
{

/// The operations of rmw, and the new value of the target's element.
enum class rmw_op : int {
    inc = MPIX_RMW_INC,     ///< target + 1
    prod = MPIX_RMW_PROD,   ///< target * operand
    sum = MPIX_RMW_SUM,     ///< target + operand
    land = MPIX_RMW_LAND,   ///< target && operand
    lor = MPIX_RMW_LOR,     ///< target || operand
    lxor = MPIX_RMW_LXOR,   ///< !target != !operand
    band = MPIX_RMW_BAND,   ///< target & operand
    bor = MPIX_RMW_BOR,     ///< target | operand
    bxor = MPIX_RMW_BXOR,   ///< target ^ operand
    swap = MPIX_RMW_SWAP,   ///< operand
    no_op = MPIX_RMW_NO_OP, ///< target, which is read only
    min = MPIX_RMW_MIN,     ///< the smaller of target and operand
    max = MPIX_RMW_MAX      ///< the larger of target and operand
};

/// The operations of rmw2, and the new value of the target's element.
enum class rmw2_op : int {
    mask_swap = MPIX_RMW2_MASK_SWAP,       ///< bits that are set in operand are taken from operand2
    comp_swap_lt = MPIX_RMW2_COMP_SWAP_LT, ///< operand < target ? operand2 : target
    comp_swap_le = MPIX_RMW2_COMP_SWAP_LE, ///< operand <= target ? operand2 : target
    comp_swap_e = MPIX_RMW2_COMP_SWAP_E,   ///< operand == target ? operand2 : target
    comp_swap_ge = MPIX_RMW2_COMP_SWAP_GE, ///< operand >= target ? operand2 : target
    comp_swap_gt = MPIX_RMW2_COMP_SWAP_GT, ///< operand > target ? operand2 : target
    comp_swap_ne = MPIX_RMW2_COMP_SWAP_NE  ///< operand != target ? operand2 : target
};

/// An operand that the operation ignores, or a result that is not fetched.
struct none_t {
};
inline constexpr none_t none{};

namespace detail
{

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <typename T>
inline constexpr bool is_pair = false;
template <typename T, typename U>
inline constexpr bool is_pair<std::pair<T, U>> = true;
template <typename T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool is_real = is_integer<T> || std::is_floating_point_v<T>;

template <typename T>
inline constexpr bool is_known =
    std::is_arithmetic_v<T> || is_complex<T> || is_pair<T> || std::is_same_v<T, std::byte>;

template <rmw_op op, typename T>
consteval bool is_defined()
{
    switch (op) {
    case rmw_op::inc:
    case rmw_op::min:
    case rmw_op::max:
        return is_real<T>;
    case rmw_op::prod:
    case rmw_op::sum:
        return is_real<T> || is_complex<T>;
    case rmw_op::land:
    case rmw_op::lor:
    case rmw_op::lxor:
        return std::is_integral_v<T>;
    case rmw_op::band:
    case rmw_op::bor:
    case rmw_op::bxor:
        return is_integer<T> || std::is_same_v<T, std::byte>;
    case rmw_op::swap:
    case rmw_op::no_op:
        return true;
    }
    return false;
}

template <rmw2_op op, typename T>
consteval bool is_defined()
{
    switch (op) {
    case rmw2_op::mask_swap:
        return std::is_integral_v<T> || std::is_same_v<T, std::byte>;
    case rmw2_op::comp_swap_e:
    case rmw2_op::comp_swap_ne:
        return !is_pair<T>;
    default:
        return is_real<T>;
    }
}

/// Whether `op` is defined for T. Types of the program's own are left to the library.
template <auto op, typename T>
concept defined_for = reducible<T> && !std::is_const_v<T> && (is_defined<op, T>() || !is_known<T>);

template <typename Buffer>
inline constexpr bool is_none = std::is_same_v<std::remove_cvref_t<Buffer>, none_t>;
template <typename Buffer, typename T>
concept rmw_operand = (source_of<Buffer, T> && !view_of<Buffer, T>) || is_none<Buffer>;
template <typename Buffer, typename T>
concept rmw_result = (destination_of<Buffer, T> && !view_of<Buffer, T>) || is_none<Buffer>;

template <rmw_op op, typename T, typename Operand, typename Result>
concept rmw_permits = defined_for<op, T> && rmw_operand<Operand, T> && rmw_result<Result, T>;
template <rmw2_op op, typename T, typename Operand, typename Operand2, typename Result>
concept rmw2_permits = defined_for<op, T> && rmw_operand<Operand, T> && !is_none<Operand> &&
                       rmw_operand<Operand2, T> && !is_none<Operand2> && rmw_result<Result, T>;

/// Address and number of the elements of an operand or result; a null address if there is none.
template <typename T, typename Buffer>
auto elements(Buffer &&buffer) noexcept
{
    if constexpr (is_none<Buffer>) {
        return local_view<T>{nullptr, -1, datatype_of<T>()};
    } else {
        return view<T>(std::forward<Buffer>(buffer));
    }
}

/// Returns the common number of elements: -1 if both are absent, -2 if they differ.
constexpr MPI_Count common_count(MPI_Count one, MPI_Count other) noexcept
{
    if (one == -1) return other;
    return other < 0 || one == other ? one : -2;
}

/// The arguments of a read-modify-write without request, communicator and attributes. Count: see count_type.
template <typename T, typename Count>
struct rmw_arguments {
    T const *operand;
    T const *operand2;
    T *result;
    Count count; ///< if the lengths differ, the negative of an MPI error code
    remote_ptr<T> target;

    MPI_Aint displacement() const noexcept { return reinterpret_cast<MPI_Aint>(target.address()); }
};

template <typename T, typename Buffer>
inline constexpr bool has_int_count = std::is_same_v<count_type<T, Buffer>, int>;
template <typename T>
inline constexpr bool has_int_count<T, none_t const &> = true;
template <typename T, typename... Buffers>
using common_count_type = std::conditional_t<(has_int_count<T, Buffers> && ...), int, MPI_Count>;

/// Returns the error code for buffers of different lengths; -1: there is no such buffer.
[[gnu::cold, gnu::noinline]] inline int length_error(char const *call, MPI_Count operand, MPI_Count operand2,
                                                     MPI_Count result)
{
    std::string text = std::string(call) + ": the lengths differ";
    char const *separator = ": ";
    auto const name = [&](char const *argument, MPI_Count elements) {
        if (elements < 0) return;
        text += separator + std::string(argument) + ' ' + std::to_string(elements);
        separator = ", ";
    };
    name("operand", operand);
    name("operand2", operand2);
    name("result", result);
    return count_error(text);
}

template <typename T, typename Operand, typename Operand2, typename Result>
auto collect(Operand &&operand, Operand2 &&operand2, Result &&fetched, remote_ptr<T> target)
{
    auto const first = elements<T>(std::forward<Operand>(operand));
    auto const second = elements<T>(std::forward<Operand2>(operand2));
    auto const third = elements<T>(std::forward<Result>(fetched));
    MPI_Count count = common_count(common_count(first.count, second.count), third.count);
    if (count == -2) [[unlikely]] {
        constexpr char const *call = is_none<Operand2> ? "mpix::rmw" : "mpix::rmw2";
        count = -length_error(call, first.count, second.count, third.count);
    }
    using type = common_count_type<T, Operand &&, Operand2 &&, Result &&>;
    return rmw_arguments<T, type>{first.address, second.address, third.address,
                                  static_cast<type>(count == -1 ? 1 : count), target};
}

template <rmw_op op, typename T, typename Count>
int update(MPI_Comm const &comm, rmw_arguments<T, Count> const &given, MPI_Request *request,
           attributes const &chosen)
{
    if (given.count < 0) [[unlikely]]
        return reject(comm, static_cast<int>(-given.count));
    native_attributes const native(chosen);
    constexpr auto which = static_cast<MPIX_RMW_Op>(op);
    auto *const communicator = const_cast<MPI_Comm *>(&comm);
    if constexpr (std::is_same_v<Count, int>) {
        return MPIX_RMA_rmw(which, given.operand, given.count, datatype_of<T>(), given.result,
                            given.target.rank(), given.displacement(), request, communicator, native.get());
    } else {
        return MPIX_RMA_rmw_c(which, given.operand, given.count, datatype_of<T>(), given.result,
                              given.target.rank(), given.displacement(), request, communicator, native.get());
    }
}

template <rmw2_op op, typename T, typename Count>
int update(MPI_Comm const &comm, rmw_arguments<T, Count> const &given, MPI_Request *request,
           attributes const &chosen)
{
    if (given.count < 0) [[unlikely]]
        return reject(comm, static_cast<int>(-given.count));
    native_attributes const native(chosen);
    constexpr auto which = static_cast<MPIX_RMW2_Op>(op);
    auto *const communicator = const_cast<MPI_Comm *>(&comm);
    if constexpr (std::is_same_v<Count, int>) {
        return MPIX_RMA_rmw2(which, given.operand, given.count, datatype_of<T>(), given.operand2,
                             given.result, given.target.rank(), given.displacement(), request, communicator,
                             native.get());
    } else {
        return MPIX_RMA_rmw2_c(which, given.operand, given.count, datatype_of<T>(), given.operand2,
                               given.result, given.target.rank(), given.displacement(), request, communicator,
                               native.get());
    }
}

} // namespace detail

/// Updates elements of the target; complete() completes the operation.
///
/// @param operand  the operand, or none
/// @param fetched  receives the previous elements; none: they are not fetched
template <rmw_op op, error_policy Errors = exceptions, typename Operand, typename Result, typename T>
    requires(detail::rmw_permits<op, T, Operand, Result>)
outcome<Errors> rmw(MPI_Comm const &comm, Operand &&operand, Result &&fetched, remote_ptr<T> target,
                    attributes const &chosen = {})
{
    return detail::finish<Errors>(detail::update<op>(
        comm, detail::collect(std::forward<Operand>(operand), none, std::forward<Result>(fetched), target),
        nullptr, chosen));
}

/// rmw with a request.
template <rmw_op op, error_policy Errors = exceptions, typename Operand, typename Result, typename T>
    requires(detail::rmw_permits<op, T, Operand, Result>)
outcome<Errors, request> rrmw(MPI_Comm const &comm, Operand &&operand, Result &&fetched, remote_ptr<T> target,
                              attributes const &chosen = {})
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code = detail::update<op>(
        comm, detail::collect(std::forward<Operand>(operand), none, std::forward<Result>(fetched), target),
        &native, chosen);
    return detail::finish<Errors>(code, request(native));
}

/// Updates elements of the target with two operands; complete() completes the operation.
///
/// @param operand   the mask, or the values that the target is compared with
/// @param operand2  the new values
/// @param fetched   receives the previous elements; none: they are not fetched
template <rmw2_op op, error_policy Errors = exceptions, typename Operand, typename Operand2, typename Result,
          typename T>
    requires(detail::rmw2_permits<op, T, Operand, Operand2, Result>)
outcome<Errors> rmw2(MPI_Comm const &comm, Operand &&operand, Operand2 &&operand2, Result &&fetched,
                     remote_ptr<T> target, attributes const &chosen = {})
{
    return detail::finish<Errors>(
        detail::update<op>(comm,
                           detail::collect(std::forward<Operand>(operand), std::forward<Operand2>(operand2),
                                           std::forward<Result>(fetched), target),
                           nullptr, chosen));
}

/// rmw2 with a request.
template <rmw2_op op, error_policy Errors = exceptions, typename Operand, typename Operand2, typename Result,
          typename T>
    requires(detail::rmw2_permits<op, T, Operand, Operand2, Result>)
outcome<Errors, request> rrmw2(MPI_Comm const &comm, Operand &&operand, Operand2 &&operand2, Result &&fetched,
                               remote_ptr<T> target, attributes const &chosen = {})
{
    MPI_Request native = MPI_REQUEST_NULL;
    int const code =
        detail::update<op>(comm,
                           detail::collect(std::forward<Operand>(operand), std::forward<Operand2>(operand2),
                                           std::forward<Result>(fetched), target),
                           &native, chosen);
    return detail::finish<Errors>(code, request(native));
}

/// rmw with the attributes of a request object, which then stands for the operation.
template <rmw_op op, error_policy Errors = exceptions, typename Calls, typename Operand, typename Result,
          typename T>
    requires(detail::rmw_permits<op, T, Operand, Result>)
outcome<Errors> rmw(basic_request_object<Calls> &object, MPI_Comm const &comm, Operand &&operand,
                    Result &&fetched, remote_ptr<T> target)
{
    auto const given =
        detail::collect(std::forward<Operand>(operand), none, std::forward<Result>(fetched), target);
    if (given.count < 0) return detail::finish<Errors>(detail::reject(comm, static_cast<int>(-given.count)));
    return detail::finish<Errors>(
        Calls::rmw(static_cast<MPIX_RMW_Op>(op), given.operand, given.count, datatype_of<T>(), given.result,
                   target.rank(), given.displacement(), &object.native(), const_cast<MPI_Comm *>(&comm)));
}

/// rmw2 with the attributes of a request object, which then stands for the operation.
template <rmw2_op op, error_policy Errors = exceptions, typename Calls, typename Operand, typename Operand2,
          typename Result, typename T>
    requires(detail::rmw2_permits<op, T, Operand, Operand2, Result>)
outcome<Errors> rmw2(basic_request_object<Calls> &object, MPI_Comm const &comm, Operand &&operand,
                     Operand2 &&operand2, Result &&fetched, remote_ptr<T> target)
{
    auto const given = detail::collect(std::forward<Operand>(operand), std::forward<Operand2>(operand2),
                                       std::forward<Result>(fetched), target);
    if (given.count < 0) return detail::finish<Errors>(detail::reject(comm, static_cast<int>(-given.count)));
    return detail::finish<Errors>(Calls::rmw2(
        static_cast<MPIX_RMW2_Op>(op), given.operand, given.count, datatype_of<T>(), given.operand2,
        given.result, target.rank(), given.displacement(), &object.native(), const_cast<MPI_Comm *>(&comm)));
}

/// Updates one element by `op`, and returns its previous value; T{} if the target is at MPI_PROC_NULL.
template <rmw_op op, error_policy Errors = exceptions, typename T>
    requires(detail::defined_for<op, T>)
outcome<Errors, T> fetch(MPI_Comm const &comm, remote_ptr<T> target, std::type_identity_t<T> const &operand,
                         attributes chosen = {})
{
    chosen.blocking = true;
    T previous{}; // stays so if the target is MPI_PROC_NULL
    int const code =
        detail::update<op>(comm, detail::collect(operand, none, previous, target), nullptr, chosen);
    return detail::finish<Errors>(code, std::move(previous));
}

/// Adds to one element, and returns its previous value.
template <error_policy Errors = exceptions, typename T>
    requires(detail::defined_for<rmw_op::sum, T>)
outcome<Errors, T> fetch_add(MPI_Comm const &comm, remote_ptr<T> target,
                             std::type_identity_t<T> const &operand, attributes const &chosen = {})
{
    return fetch<rmw_op::sum, Errors>(comm, target, operand, chosen);
}

/// Replaces one element, and returns its previous value.
template <error_policy Errors = exceptions, typename T>
    requires(detail::defined_for<rmw_op::swap, T>)
outcome<Errors, T> exchange(MPI_Comm const &comm, remote_ptr<T> target,
                            std::type_identity_t<T> const &desired, attributes const &chosen = {})
{
    return fetch<rmw_op::swap, Errors>(comm, target, desired, chosen);
}

/// Returns one element, read atomically.
template <error_policy Errors = exceptions, typename T>
    requires(detail::defined_for<rmw_op::no_op, std::remove_const_t<T>>)
outcome<Errors, std::remove_const_t<T>> atomic_read(MPI_Comm const &comm, remote_ptr<T> target,
                                                    attributes const &chosen = {})
{
    using value = std::remove_const_t<T>;
    remote_ptr<value> const same(target.rank(), const_cast<value *>(target.address()));
    return fetch<rmw_op::no_op, Errors>(comm, same, value{}, chosen);
}

/// Replaces one element by `desired` if it equals `expected`, and returns whether it did; otherwise stores
/// the element's value in `expected`. An element at MPI_PROC_NULL has the value T{}.
template <error_policy Errors = exceptions, typename T>
    requires(detail::defined_for<rmw2_op::comp_swap_e, T>)
outcome<Errors, bool> compare_exchange(MPI_Comm const &comm, remote_ptr<T> target,
                                       std::type_identity_t<T> &expected,
                                       std::type_identity_t<T> const &desired, attributes chosen = {})
{
    chosen.blocking = true;
    T previous{}; // stays so if the target is MPI_PROC_NULL
    int const code = detail::update<rmw2_op::comp_swap_e>(
        comm, detail::collect(expected, desired, previous, target), nullptr, chosen);
    bool const equal = previous == expected;
    if (code == MPI_SUCCESS) expected = previous;
    return detail::finish<Errors>(code, bool{equal});
}

} // namespace mpix

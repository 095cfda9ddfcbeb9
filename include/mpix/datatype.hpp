/// MPI datatypes of C++ types, and views of memory that an MPI datatype describes. Included by mpix_rma.hpp.
#pragma once

#include <array>
#include <climits>
#include <complex>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "remote_ptr.hpp"

namespace mpix
{

/// The predefined MPI datatype of a C++ type: a specialisation has a static function get(). Programs may add
/// specialisations for types of their own. Types without a specialisation are transferred as bytes.
template <typename T>
struct predefined_datatype {
};

#define MPIX_DATATYPE_(type, datatype)                                                                       \
    template <>                                                                                              \
    struct predefined_datatype<type> {                                                                       \
        static MPI_Datatype get() noexcept { return datatype; }                                              \
    };
MPIX_DATATYPE_(bool, MPI_C_BOOL)
MPIX_DATATYPE_(std::byte, MPI_BYTE)
MPIX_DATATYPE_(char, MPI_CHAR)
MPIX_DATATYPE_(signed char, MPI_SIGNED_CHAR)
MPIX_DATATYPE_(unsigned char, MPI_UNSIGNED_CHAR)
MPIX_DATATYPE_(short, MPI_SHORT)
MPIX_DATATYPE_(unsigned short, MPI_UNSIGNED_SHORT)
MPIX_DATATYPE_(int, MPI_INT)
MPIX_DATATYPE_(unsigned, MPI_UNSIGNED)
MPIX_DATATYPE_(long, MPI_LONG)
MPIX_DATATYPE_(unsigned long, MPI_UNSIGNED_LONG)
MPIX_DATATYPE_(long long, MPI_LONG_LONG)
MPIX_DATATYPE_(unsigned long long, MPI_UNSIGNED_LONG_LONG)
MPIX_DATATYPE_(float, MPI_FLOAT)
MPIX_DATATYPE_(double, MPI_DOUBLE)
MPIX_DATATYPE_(long double, MPI_LONG_DOUBLE)
MPIX_DATATYPE_(std::complex<float>, MPI_C_FLOAT_COMPLEX)
MPIX_DATATYPE_(std::complex<double>, MPI_C_DOUBLE_COMPLEX)
MPIX_DATATYPE_(std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX)
/* The pairs of MPI_MINLOC and MPI_MAXLOC. Their padding is not transferred. */
using short_int_pair_ = std::pair<short, int>;
using int_int_pair_ = std::pair<int, int>;
using long_int_pair_ = std::pair<long, int>;
using float_int_pair_ = std::pair<float, int>;
using double_int_pair_ = std::pair<double, int>;
using long_double_int_pair_ = std::pair<long double, int>;
MPIX_DATATYPE_(short_int_pair_, MPI_SHORT_INT)
MPIX_DATATYPE_(int_int_pair_, MPI_2INT)
MPIX_DATATYPE_(long_int_pair_, MPI_LONG_INT)
MPIX_DATATYPE_(float_int_pair_, MPI_FLOAT_INT)
MPIX_DATATYPE_(double_int_pair_, MPI_DOUBLE_INT)
MPIX_DATATYPE_(long_double_int_pair_, MPI_LONG_DOUBLE_INT)
#undef MPIX_DATATYPE_

/// A type with a predefined MPI datatype: accumulates and read-modify-writes are defined for it.
template <typename T>
concept reducible = requires
{
    predefined_datatype<std::remove_cv_t<T>>::get();
};

/// A type whose objects can be transferred: a reducible one, or one that may be copied byte by byte.
template <typename T>
concept transferable = reducible<T> || std::is_trivially_copyable_v<std::remove_cv_t<T>>;

/// Returns the MPI datatype of the elements of a T: its predefined one, or MPI_BYTE.
template <transferable T>
MPI_Datatype datatype_of() noexcept
{
    if constexpr (reducible<T>) {
        return predefined_datatype<std::remove_cv_t<T>>::get();
    } else {
        return MPI_BYTE;
    }
}

/// The number of elements of datatype_of<T>() in a T.
template <transferable T>
inline constexpr MPI_Count elements_of = reducible<T> ? MPI_Count{1} : static_cast<MPI_Count>(sizeof(T));

/// Memory of this process that an MPI datatype describes: `count` elements of `type` from `address` on.
/// `type` must consist of elements of datatype_of<T>() alone.
template <transferable T>
struct local_view {
    using element_type = T;
    T *address;
    MPI_Count count;
    MPI_Datatype type;
};

/// Memory of another process that an MPI datatype describes, as local_view does for this one.
template <transferable T>
struct remote_view {
    using element_type = T;
    remote_ptr<T> address;
    MPI_Count count;
    MPI_Datatype type;
};

/// Blocks of equal length at equal distances, as an MPI datatype that the object owns: rows of a matrix,
/// columns, the side of a grid. Give the layout a pointer to apply it:
///
///     mpix::strided_layout<double> column(rows, 1, columns);
///     mpix::put(comm, column(&matrix[0][0]), column(there));
template <transferable T>
class strided_layout
{
  public:
    /// @param blocks        number of blocks, at most INT_MAX
    /// @param block_length  elements in each, at most INT_MAX; if they are transferred as bytes, at most
    ///                      INT_MAX bytes
    /// @param stride        elements from the begin of a block to the begin of the next; may be negative
    ///
    /// Local. Throws mpix::error if MPI refuses the datatype.
    strided_layout(std::size_t blocks, std::size_t block_length, std::ptrdiff_t stride)
    {
        constexpr auto each = static_cast<std::size_t>(elements_of<T>);
        if (!std::in_range<int>(blocks) || block_length > INT_MAX / each) {
            throw error(status(detail::count_error("mpix::strided_layout: " + std::to_string(blocks) +
                                                   " blocks of " + std::to_string(block_length) +
                                                   " elements are more than an MPI datatype describes")));
        }
        if (!detail::is_initialized()) throw error(status(MPI_ERR_OTHER));
        int code = MPI_Type_create_hvector(static_cast<int>(blocks), static_cast<int>(block_length * each),
                                           stride * static_cast<std::ptrdiff_t>(sizeof(T)), datatype_of<T>(),
                                           &type_);
        if (code == MPI_SUCCESS) code = MPI_Type_commit(&type_);
        if (code != MPI_SUCCESS) throw error(status(code));
    }
    strided_layout(strided_layout &&other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
    strided_layout &operator=(strided_layout &&other) noexcept
    {
        std::swap(type_, other.type_);
        return *this;
    }
    /// Frees the datatype; operations that use it continue.
    ~strided_layout()
    {
        if (type_ != MPI_DATATYPE_NULL && !detail::is_finalized()) MPI_Type_free(&type_);
    }

    /// Returns the blocks of this process's memory of which the first begins at `base`.
    local_view<T> operator()(T *base) const noexcept { return {base, 1, type_}; }
    /// Returns the blocks of this process's memory of which the first begins at `base`, for reading.
    local_view<T const> operator()(T const *base) const noexcept { return {base, 1, type_}; }
    /// Returns the blocks of the target's memory of which the first begins at `base`.
    remote_view<T> operator()(remote_ptr<T> base) const noexcept { return {base, 1, type_}; }
    /// Returns the blocks of the target's memory of which the first begins at `base`, for reading.
    remote_view<T const> operator()(remote_ptr<T const> base) const noexcept { return {base, 1, type_}; }
    /// Returns the datatype, which the layout keeps.
    MPI_Datatype native() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

namespace detail
{

template <typename V>
inline constexpr bool is_local_view = false;
template <typename T>
inline constexpr bool is_local_view<local_view<T>> = true;
template <typename V>
inline constexpr bool is_remote_view = false;
template <typename T>
inline constexpr bool is_remote_view<remote_view<T>> = true;
template <typename P>
inline constexpr bool is_remote_ptr = false;
template <typename T>
inline constexpr bool is_remote_ptr<remote_ptr<T>> = true;

/// A contiguous range of T that is an lvalue, or does not own its elements: they must outlive the call.
template <typename R, typename T>
concept range_of = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && std::same_as<std::ranges::range_value_t<R>, std::remove_cv_t<T>>;
/// An lvalue of type T.
template <typename V, typename T>
concept lvalue_of =
    std::is_lvalue_reference_v<V> && std::same_as<std::remove_cvref_t<V>, std::remove_cv_t<T>>;
template <typename V, typename T>
concept view_of = is_local_view<std::remove_cvref_t<V>> &&
    std::same_as<std::remove_cv_t<typename std::remove_cvref_t<V>::element_type>, std::remove_cv_t<T>>;

/// Returns a buffer as a view. A T that is itself a range is one element.
template <typename T, typename Buffer>
auto view(Buffer &&buffer) noexcept
{
    if constexpr (view_of<Buffer, T>) {
        return buffer;
    } else if constexpr (lvalue_of<Buffer, T>) {
        return local_view<std::remove_reference_t<Buffer>>{std::addressof(buffer), elements_of<T>,
                                                           datatype_of<T>()};
    } else {
        using element = std::remove_pointer_t<decltype(std::ranges::data(buffer))>;
        return local_view<element>{std::ranges::data(buffer),
                                   static_cast<MPI_Count>(std::ranges::size(buffer)) * elements_of<T>,
                                   datatype_of<T>()};
    }
}
/// The number of elements of a container type if it is fixed, otherwise 0. Other types may have a tuple_size
/// that is no number of elements: std::ranges::subrange is a pair of iterators.
template <typename Container>
inline constexpr std::size_t fixed_size = 0;
template <typename U, std::size_t length>
inline constexpr std::size_t fixed_size<U[length]> = length;
template <typename U, std::size_t length>
inline constexpr std::size_t fixed_size<std::array<U, length>> = length;
template <typename U, std::size_t length>
    requires(length != std::dynamic_extent)
inline constexpr std::size_t fixed_size<std::span<U, length>> = length;

/// The number of elements of a buffer's view if the type of the buffer determines it, otherwise 0.
template <typename T, typename Buffer>
constexpr std::size_t fixed_count() noexcept
{
    constexpr auto each = static_cast<std::size_t>(elements_of<T>);
    return lvalue_of<Buffer, T> ? each : fixed_size<std::remove_cvref_t<Buffer>> * each;
}
/// The type of the count that is passed to the C interface: int where the type of the buffer shows that int
/// suffices, because the calls with int take fewer instructions.
template <typename T, typename Buffer>
using count_type =
    std::conditional_t<(fixed_count<T, Buffer>() > 0 && fixed_count<T, Buffer>() <= INT_MAX), int, MPI_Count>;

template <typename T, typename Buffer>
using view_type = decltype(view<T>(std::declval<Buffer>()));

} // namespace detail

/// Memory of this process that can be the source of elements of type T: a contiguous range (std::span,
/// std::vector, std::array, an array), a single object, or a local_view. A temporary that owns its elements
/// is not a source, because the operation may read them after the call.
template <typename Buffer, typename T>
concept source_of = detail::range_of<Buffer, T> || detail::lvalue_of<Buffer, T> || detail::view_of<Buffer, T>;

/// Memory of this process that can receive elements of type T.
template <typename Buffer, typename T>
concept destination_of =
    source_of<Buffer, T> && !std::is_const_v<typename detail::view_type<T, Buffer>::element_type>;

/// Memory of a target: remote_ptr, for as many contiguous elements as the buffer of this process has, or
/// remote_view.
template <typename Target>
concept remote_source = detail::is_remote_ptr<Target> || detail::is_remote_view<Target>;

/// Memory of a target that may be written.
template <typename Target>
concept remote_destination = remote_source<Target> && !std::is_const_v<typename Target::element_type>;

namespace detail
{

/// Returns the target's side of a transfer whose other side is `local`, the view of a Buffer.
template <typename Buffer, typename T, typename Local>
remote_view<T> target_view(remote_view<T> const &target, local_view<Local> const &) noexcept
{
    return target;
}
template <typename Buffer, typename T, typename Local>
remote_view<T> target_view(remote_ptr<T> target, local_view<Local> const &local) noexcept
{
    if constexpr (view_of<Buffer, T>) {
        MPI_Count bytes = 0, element_bytes = 1;
        MPI_Type_size_x(local.type, &bytes);
        MPI_Type_size_x(datatype_of<T>(), &element_bytes);
        return {target, local.count * bytes / element_bytes, datatype_of<T>()};
    } else {
        return {target, local.count, local.type};
    }
}

} // namespace detail
} // namespace mpix

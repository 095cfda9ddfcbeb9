/// Typed addresses in the memory of other processes. Included by mpix_rma.hpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <concepts>
#include <memory>
#include <type_traits>
#include <vector>

#include "error.hpp"

namespace mpix
{

/// The address of a T in the memory of a rank. The rank is one of the communicator with which the pointer is
/// used. The pointer is a value that can be sent: it means the same at every process. It has the arithmetic
/// of T *.
template <typename T>
class remote_ptr
{
  public:
    using element_type = T;
    using difference_type = std::ptrdiff_t;

    /// The null address of rank 0.
    constexpr remote_ptr() noexcept = default;
    /// @param rank     the rank that has the memory
    /// @param address  the virtual address in that process
    constexpr remote_ptr(int rank, T *address) noexcept : rank_(rank), address_(address) {}
    /// A pointer to T as a pointer to T const.
    template <typename Other>
        requires(std::convertible_to<Other (*)[], T (*)[]>)
    constexpr remote_ptr(remote_ptr<Other> const &other) noexcept
        : rank_(other.rank()), address_(other.address())
    {
    }

    /// Returns the rank.
    constexpr int rank() const noexcept { return rank_; }
    /// Returns the address, which is valid at the rank only.
    constexpr T *address() const noexcept { return address_; }
    /// Returns whether the address is not null.
    constexpr explicit operator bool() const noexcept { return address_ != nullptr; }
    /// Returns the same address at another rank, for memory with one base at all ranks (mpix_same_address).
    constexpr remote_ptr at(int rank) const noexcept { return {rank, address_}; }
    /// Returns the address of a member of the object.
    template <typename Member, typename Class = std::remove_const_t<T>>
        requires(std::is_class_v<Class>)
    remote_ptr<std::conditional_t<std::is_const_v<T>, Member const, Member>>
    member(Member Class::*which) const noexcept
    {
        return {rank_, std::addressof(address_->*which)};
    }

    /// Returns the address of the first element, if T is an array.
    auto elements() const noexcept { return remote_ptr<std::remove_extent_t<T>>(rank_, *address_); }

    // Arithmetic by integers, because in this process there is no object at the address.
    remote_ptr &operator+=(difference_type count) noexcept
    {
        address_ = reinterpret_cast<T *>(number() + static_cast<std::uintptr_t>(count) * sizeof(T));
        return *this;
    }
    remote_ptr &operator-=(difference_type count) noexcept { return *this += -count; }
    remote_ptr &operator++() noexcept { return *this += 1; }
    remote_ptr &operator--() noexcept { return *this -= 1; }
    remote_ptr operator++(int) noexcept
    {
        remote_ptr const before = *this;
        ++*this;
        return before;
    }
    remote_ptr operator--(int) noexcept
    {
        remote_ptr const before = *this;
        --*this;
        return before;
    }
    friend remote_ptr operator+(remote_ptr pointer, difference_type count) noexcept
    {
        return pointer += count;
    }
    friend remote_ptr operator+(difference_type count, remote_ptr pointer) noexcept
    {
        return pointer += count;
    }
    friend remote_ptr operator-(remote_ptr pointer, difference_type count) noexcept
    {
        return pointer -= count;
    }
    /// Returns the number of elements between two addresses of one rank.
    friend difference_type operator-(remote_ptr const &left, remote_ptr const &right) noexcept
    {
        return static_cast<difference_type>(left.number() - right.number()) /
               static_cast<difference_type>(sizeof(T));
    }
    /// Compares the ranks first, then the addresses.
    friend constexpr auto operator<=>(remote_ptr const &, remote_ptr const &) noexcept = default;

  private:
    std::uintptr_t number() const noexcept { return reinterpret_cast<std::uintptr_t>(address_); }

    int rank_ = 0;
    T *address_ = nullptr;
};

/// Returns the addresses of a local object, by rank.
///
/// @param comm   an intracommunicator
/// @param local  this process's address; null addresses and different ones at each rank are permitted
///
/// Collective. The memory may be allocated, registered or any other (static, stack, heap).
template <error_policy Errors = exceptions, typename T>
outcome<Errors, std::vector<remote_ptr<T>>> gather_addresses(MPI_Comm comm, T *local)
{
    int size = 0;
    int code = detail::is_initialized() ? MPI_Comm_size(comm, &size) : MPI_ERR_OTHER;
    std::vector<T *> addresses(code == MPI_SUCCESS ? static_cast<std::size_t>(size) : 0);
    constexpr int bytes = static_cast<int>(sizeof local);
    if (code == MPI_SUCCESS) {
        code = MPI_Allgather(&local, bytes, MPI_BYTE, addresses.data(), bytes, MPI_BYTE, comm);
    }
    std::vector<remote_ptr<T>> pointers;
    pointers.reserve(addresses.size());
    for (T *address : addresses) {
        pointers.emplace_back(static_cast<int>(pointers.size()), address);
    }
    return detail::finish<Errors>(code, std::move(pointers));
}

} // namespace mpix

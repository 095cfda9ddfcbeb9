/// Errors: exceptions, or results, by the caller's choice. Included by mpix_rma.hpp.
///
/// Every function that can fail has a first or second template parameter `Errors`. With `exceptions`, the
/// default, it throws mpix::error; with `results` it throws no mpix::error, and returns a status, or a result
/// that has a value or a status. Either way MPI invokes the error handler of the communicator first: with
/// MPI_ERRORS_ARE_FATAL, MPI's default, the job ends there.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "../mpix_rma.h"

namespace mpix
{

/// The error classes that MPI lacks.
enum class errc : int {
    address = MPIX_RMA_ERR_ADDRESS,          ///< target memory not mapped, or not readable or writable
    transport = MPIX_RMA_ERR_TRANSPORT,      ///< no connection to the target
    notification = MPIX_RMA_ERR_NOTIFICATION ///< notification index out of range, of calls on windows
};

namespace detail
{

/// Whether MPI_Finalize has been called: destructors make no calls then.
inline bool is_finalized() noexcept
{
    int finalized = 0;
    return MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

/// Whether MPI can be called: other calls end the process before MPI_Init and after MPI_Finalize.
inline bool is_initialized() noexcept
{
    int initialized = 0;
    return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 && !is_finalized();
}

} // namespace detail

/// An MPI error code, or success.
class [[nodiscard]] status
{
  public:
    /// Success.
    constexpr status() noexcept = default;
    /// @param code  an MPI error code
    constexpr explicit status(int code) noexcept : code_(code) {}

    /// Returns the MPI error code.
    constexpr int code() const noexcept { return code_; }
    /// Returns whether the call has succeeded.
    constexpr explicit operator bool() const noexcept { return code_ == MPI_SUCCESS; }
    /// Returns the error class of the code, such as MPI_ERR_RANK; before MPI_Init and after MPI_Finalize the
    /// code itself.
    int error_class() const noexcept
    {
        int found = code_;
        if (detail::is_initialized()) MPI_Error_class(code_, &found);
        return found;
    }
    /// Returns whether the error class is `which`.
    bool is(errc which) const noexcept
    {
        int number = 0;
        return code_ != MPI_SUCCESS && detail::is_initialized() &&
               MPIX_RMA_Error_class(static_cast<MPIX_RMA_Error>(which), &number) == MPI_SUCCESS &&
               error_class() == number;
    }
    /// Returns MPI's text for the code. It names the call and the wrong argument with its value. Before
    /// MPI_Init and after MPI_Finalize MPI gives no text: the text has the number of the code.
    std::string message() const
    {
        if (!detail::is_initialized())
            return "MPI is not initialized, or has been finalized: error code " + std::to_string(code_);
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code_, text, &length);
        return {text, static_cast<std::size_t>(length)};
    }
    friend constexpr bool operator==(status, status) noexcept = default;

  private:
    int code_ = MPI_SUCCESS;
};

/// The exception that functions throw. what() is the text of the error code.
class error : public std::runtime_error
{
  public:
    /// @param reason  the status of the failed call
    explicit error(mpix::status reason) : std::runtime_error(reason.message()), status_(reason) {}

    /// Returns the code, its class and its text.
    mpix::status status() const noexcept { return status_; }

  private:
    mpix::status status_;
};

/// A value, or the status of the call that has failed to return one.
template <typename T>
class [[nodiscard]] result
{
  public:
    /// A value.
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    /// The status of a failure.
    result(mpix::status failure) noexcept : status_(failure) {}

    /// Returns whether there is a value.
    explicit operator bool() const noexcept { return value_.has_value(); }
    /// Returns the status of the call.
    mpix::status status() const noexcept { return status_; }
    /// Returns the value; throws mpix::error if there is none.
    T &value() & { return checked(*this); }
    /// Returns the value; throws mpix::error if there is none.
    T const &value() const & { return checked(*this); }
    /// Returns the value; throws mpix::error if there is none.
    T value() && { return std::move(checked(*this)); }
    /// Returns the value, which must exist.
    T &operator*() &noexcept { return *value_; }
    /// Returns the value, which must exist.
    T const &operator*() const &noexcept { return *value_; }
    /// Returns the value, which must exist.
    T operator*() && { return std::move(*value_); }
    /// Returns the address of the value, which must exist.
    T *operator->() noexcept { return &*value_; }
    /// Returns the address of the value, which must exist.
    T const *operator->() const noexcept { return &*value_; }

  private:
    template <typename Self>
    static auto &checked(Self &self)
    {
        if (!self.value_) throw error(self.status_);
        return *self.value_;
    }

    std::optional<T> value_;
    mpix::status status_;
};

/// Policy: a failure is an exception of type mpix::error.
struct exceptions {
};
/// Policy: a failure is returned as a status, or in a result.
struct results {
};
/// One of the two policies.
template <typename Errors>
concept error_policy = std::same_as<Errors, exceptions> || std::same_as<Errors, results>;

namespace detail
{

template <typename Errors, typename T>
struct outcome_type {
    using type = T;
};
template <typename T>
struct outcome_type<results, T> {
    using type = result<T>;
};
template <>
struct outcome_type<results, void> {
    using type = status;
};

/// Out of line, so that the success path stays short.
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(int code)
{
    throw error(status(code));
}

} // namespace detail

/// The return type of a function with the policy `Errors` that returns a T if it succeeds.
template <error_policy Errors, typename T = void>
using outcome = typename detail::outcome_type<Errors, T>::type;

namespace detail
{

/// Ends a call without a value.
template <error_policy Errors>
outcome<Errors> finish(int code)
{
    if constexpr (std::same_as<Errors, results>) {
        return status(code);
    } else if (code != MPI_SUCCESS) [[unlikely]] {
        raise(code);
    }
}

/// Ends a call whose value is valid if it has succeeded.
template <error_policy Errors, typename T>
outcome<Errors, T> finish(int code, T &&value)
{
    if (code != MPI_SUCCESS) [[unlikely]] {
        if constexpr (std::same_as<Errors, results>) {
            return status(code);
        } else {
            raise(code);
        }
    }
    return std::forward<T>(value);
}

/// Returns an error code of class MPI_ERR_COUNT for arguments that cannot be passed to the C interface.
/// Sixteen codes are used in turn, so that a code keeps its text during the next fifteen such errors.
[[gnu::cold, gnu::noinline]] inline int count_error(std::string const &text)
{
    static std::mutex mutex;
    static std::array<int, 16> codes{}; // MPI_SUCCESS: not made yet
    static std::size_t next = 0;
    if (!is_initialized()) return MPI_ERR_COUNT;
    std::scoped_lock const lock(mutex);
    int &code = codes[next++ % codes.size()];
    if (code == MPI_SUCCESS && MPI_Add_error_code(MPI_ERR_COUNT, &code) != MPI_SUCCESS) return MPI_ERR_COUNT;
    MPI_Add_error_string(code, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
    return code;
}

/// Invokes the error handler of a communicator for such arguments.
[[gnu::cold, gnu::noinline]] inline int reject(MPI_Comm comm, int code)
{
    if (is_initialized()) MPI_Comm_call_errhandler(comm, code);
    return code;
}

} // namespace detail
} // namespace mpix

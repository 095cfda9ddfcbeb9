/// Requests: their completion, and objects with attributes of their own. Included by mpix_rma.hpp.
#pragma once

#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "attributes.hpp"
#include "error.hpp"

namespace mpix
{

/// Owns the request of one operation. An active object must be destroyed before MPI_Finalize: later, its
/// destructor does nothing.
///
/// The destructor waits for the operation, so that no buffer ends before the operation that uses it, also
/// while an exception propagates. A failure then reaches the error handler only; wait() reports it to the
/// caller. No such wait depends on a call by the target. A request of wait_notify_value has no buffer, and a
/// wait for it might never end: its destructor frees the request instead.
class [[nodiscard]] request
{
  public:
    /// The destructor's treatment of a request that is not complete.
    enum class at_end {
        wait,
        free
    };

    /// A request without an operation, which counts as complete.
    request() noexcept = default;
    /// Takes over a native request.
    explicit request(MPI_Request native, at_end end = at_end::wait) noexcept : native_(native), end_(end) {}
    request(request &&other) noexcept : native_(other.release()), end_(other.end_) {}
    /// Waits for or frees the previous request of this object, as the destructor does.
    request &operator=(request &&other) noexcept
    {
        if (this != &other) {
            finish();
            native_ = other.release();
            end_ = other.end_;
        }
        return *this;
    }
    ~request() { finish(); }

    /// Returns whether there is an operation that neither wait() nor test() has found complete.
    bool is_active() const noexcept { return native_ != MPI_REQUEST_NULL; }
    /// Waits until the operation is complete. Fails with the operation's error.
    template <error_policy Errors = exceptions>
    outcome<Errors> wait()
    {
        return detail::finish<Errors>(MPI_Wait(&native_, MPI_STATUS_IGNORE));
    }
    /// Returns whether the operation is complete; does not wait. Fails with the operation's error.
    template <error_policy Errors = exceptions>
    outcome<Errors, bool> test()
    {
        int flag = 0;
        int const code = MPI_Test(&native_, &flag, MPI_STATUS_IGNORE);
        return detail::finish<Errors>(code, flag != 0);
    }
    /// Gives the native request to the caller, for MPI_Waitall and similar calls.
    [[nodiscard]] MPI_Request release() noexcept { return std::exchange(native_, MPI_REQUEST_NULL); }
    /// Gives the request up without waiting: complete() completes the operation.
    template <error_policy Errors = exceptions>
    outcome<Errors> free()
    {
        return detail::finish<Errors>(is_active() ? MPI_Request_free(&native_) : MPI_SUCCESS);
    }

  private:
    void finish() noexcept
    {
        if (!is_active() || detail::is_finalized()) return;
        if (end_ == at_end::wait) {
            MPI_Wait(&native_, MPI_STATUS_IGNORE);
        } else {
            MPI_Request_free(&native_);
        }
    }

    MPI_Request native_ = MPI_REQUEST_NULL;
    at_end end_ = at_end::wait;
};

/// A range of requests.
template <typename R>
concept request_range = std::ranges::forward_range<R> && std::same_as<std::ranges::range_value_t<R>, request>;

/// Waits until one of the active requests of a range is complete, and returns its index; no value if none is
/// active. Fails with that operation's error.
template <error_policy Errors = exceptions, request_range Range>
outcome<Errors, std::optional<std::size_t>> wait_any(Range &&requests)
{
    std::optional<std::size_t> which;
    for (bool any = true; any && !which;) {
        any = false;
        std::size_t index = 0;
        for (request &each : requests) {
            if (each.is_active()) {
                any = true;
                result<bool> done = each.template test<results>();
                if (!done) return detail::finish<Errors>(done.status().code(), std::move(which));
                if (*done) {
                    which = index;
                    break;
                }
            }
            ++index;
        }
    }
    return detail::finish<Errors>(MPI_SUCCESS, std::move(which));
}

namespace detail
{

/// The calls of the second prototype form, with MPI's requests.
struct native_calls {
    using handle = MPI_Request;
    static handle none() noexcept { return MPI_REQUEST_NULL; }
    template <typename... Arguments>
    static int xfer(Arguments... arguments)
    {
        return MPIX_RMA_xfer_req_c(arguments...);
    }
    template <typename... Arguments>
    static int rmw(Arguments... arguments)
    {
        return MPIX_RMA_rmw_req_c(arguments...);
    }
    template <typename... Arguments>
    static int rmw2(Arguments... arguments)
    {
        return MPIX_RMA_rmw2_req_c(arguments...);
    }
    static int set(handle *request, int key, void *value) { return MPIX_Req_set_attr(request, key, value); }
    static int get(handle *request, int key, void *value, int *flag)
    {
        return MPIX_Req_get_attr(request, key, value, flag);
    }
    static int free(handle *request) { return MPI_Request_free(request); }
    static int wait(handle *request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }
    static int test(handle *request, int *flag) { return MPI_Test(request, flag, MPI_STATUS_IGNORE); }
};
/// The calls of the third prototype form, with the library's own requests.
struct own_calls {
    using handle = MPIX_Rma_request;
    static handle none() noexcept { return MPIX_RMA_REQUEST_NULL; }
    template <typename... Arguments>
    static int xfer(Arguments... arguments)
    {
        return MPIX_RMA_xfer_rma_c(arguments...);
    }
    template <typename... Arguments>
    static int rmw(Arguments... arguments)
    {
        return MPIX_RMA_rmw_rma_c(arguments..., nullptr);
    }
    template <typename... Arguments>
    static int rmw2(Arguments... arguments)
    {
        return MPIX_RMA_rmw2_rma_c(arguments..., nullptr);
    }
    static int set(handle *request, int key, void *value)
    {
        return MPIX_Rma_request_set_attr(request, key, value);
    }
    static int get(handle *request, int key, void *value, int *flag)
    {
        return MPIX_Rma_request_get_attr(request, key, value, flag);
    }
    static int free(handle *request) { return MPIX_Rma_request_free(request); }
    static int wait(handle *request) { return MPIX_Rma_request_wait(request); }
    static int test(handle *request, int *flag) { return MPIX_Rma_request_test(request, flag); }
};

} // namespace detail

/// A request with attributes, which xfer and rmw use for one operation after the other: the operations have
/// the attributes of the object and of the communicator. The destructor waits for the operation in progress,
/// if there is one, as that of request does.
template <typename Calls>
class basic_request_object
{
  public:
    using calls = Calls;

    /// An object with attributes.
    ///
    /// @param chosen  at least one; the memory of accumulate_scale must live as long as the object
    ///
    /// Local. Throws mpix::error.
    explicit basic_request_object(attributes const &chosen) : basic_request_object()
    {
        set(chosen); // the object exists already: if this throws, the destructor frees the request
    }
    basic_request_object(basic_request_object &&other) noexcept
        : handle_(std::exchange(other.handle_, Calls::none()))
    {
    }
    basic_request_object &operator=(basic_request_object &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~basic_request_object()
    {
        if (handle_ == Calls::none() || detail::is_finalized()) return;
        Calls::wait(&handle_);
        if (handle_ != Calls::none()) Calls::free(&handle_);
    }

    /// Adds attributes while no operation is in progress. Local.
    template <error_policy Errors = exceptions>
    outcome<Errors> set(attributes const &chosen)
    {
        return detail::finish<Errors>(detail::add_attributes(
            chosen,
            [this](int key, void *value, int *flag) {
                return handle_ == Calls::none() ? MPI_SUCCESS : Calls::get(&handle_, key, value, flag);
            },
            [this](int key, void *value) { return Calls::set(&handle_, key, value); }));
    }
    /// Returns the object's attributes. Local.
    template <error_policy Errors = exceptions>
    outcome<Errors, attributes> get()
    {
        attributes found;
        int const code = detail::read_attributes(&found, [this](int key, void *value, int *flag) {
            return Calls::get(&handle_, key, value, flag);
        });
        return detail::finish<Errors>(code, std::move(found));
    }
    /// Waits until the operation in progress is complete; the object can then be used again. Fails with the
    /// operation's error; MPI frees the object of a failed native request.
    template <error_policy Errors = exceptions>
    outcome<Errors> wait()
    {
        return detail::finish<Errors>(Calls::wait(&handle_));
    }
    /// Returns whether no operation is in progress; does not wait. Fails with the operation's error.
    template <error_policy Errors = exceptions>
    outcome<Errors, bool> test()
    {
        int flag = 0;
        int const code = Calls::test(&handle_, &flag);
        return detail::finish<Errors>(code, flag != 0);
    }
    /// Returns the handle, which the object keeps.
    typename Calls::handle &native() noexcept { return handle_; }

  private:
    basic_request_object() noexcept = default;

    typename Calls::handle handle_ = Calls::none();
};

/// A request object that is an MPI_Request: native() may be given to MPI_Waitall and similar calls.
using request_object = basic_request_object<detail::native_calls>;
/// A request object of the library's own type, MPIX_Rma_request.
using rma_request_object = basic_request_object<detail::own_calls>;

/// A range of requests or request objects.
template <typename R>
concept waitable_range = std::ranges::forward_range<R> &&
    std::same_as<decltype(std::declval<std::ranges::range_reference_t<R>>().template wait<results>()),
                 status>;

/// Waits for every request of a range, even if one has failed. Fails with the error of the first failed one
/// in the order of the range.
template <error_policy Errors = exceptions, waitable_range Range>
outcome<Errors> wait_all(Range &&requests)
{
    status first;
    for (auto &each : requests) {
        status const one = each.template wait<results>();
        if (first) first = one;
    }
    return detail::finish<Errors>(first.code());
}

} // namespace mpix

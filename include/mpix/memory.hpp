/// Communicatable memory: allocation, registration, queries. Included by mpix_rma.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datatype.hpp"
#include "error.hpp"
#include "remote_ptr.hpp"

namespace mpix
{

/// Owns memory at every rank of a communicator; made by allocate(). As a range, the elements of this process.
///
/// Destruction is collective, as MPIX_RMA_Free is: every rank of the communicator destroys its object, in the
/// same order if there are several, before MPI_Finalize and before the communicator is freed. While an
/// exception propagates, because the other ranks may never destroy theirs, and after MPI_Finalize, the
/// destructor frees nothing: the memory stays allocated until the process ends. An error of the destructor
/// reaches the communicator's error handler only; free() reports an error to the caller.
template <transferable T>
class allocation
{
  public:
    /// No memory.
    allocation() noexcept = default;
    allocation(allocation &&other) noexcept { swap(other); }
    /// Exchanges the memory of the two objects: the destructor of `other` frees the memory of this one.
    allocation &operator=(allocation &&other) noexcept
    {
        swap(other);
        return *this;
    }
    ~allocation()
    {
        if (comm_ == MPI_COMM_NULL || std::uncaught_exceptions() > exceptions_) return;
        if (!detail::is_finalized()) MPIX_RMA_Free(data_, comm_);
    }

    /// Returns this process's elements.
    std::span<T> local() const noexcept { return {data_, size_}; }
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    /// Returns an element of this process.
    T &operator[](std::size_t index) const noexcept { return data_[index]; }

    /// Returns the address of the first element of a rank. The address is null if the rank has no elements,
    /// is MPI_PROC_NULL (operations do nothing) or is not in the communicator (operations reject the rank).
    remote_ptr<T> at(int rank) const noexcept
    {
        auto const index = static_cast<std::size_t>(rank);
        return {rank, index < bases_.size() ? bases_[index] : nullptr};
    }
    /// Returns the number of ranks.
    int ranks() const noexcept { return static_cast<int>(bases_.size()); }

    /// Frees the memory. Collective. Fails as MPIX_RMA_Free does.
    template <error_policy Errors = exceptions>
    outcome<Errors> free()
    {
        MPI_Comm const comm = std::exchange(comm_, MPI_COMM_NULL);
        int const code = comm == MPI_COMM_NULL ? MPI_SUCCESS : MPIX_RMA_Free(data_, comm);
        data_ = nullptr;
        size_ = 0;
        bases_.clear();
        return detail::finish<Errors>(code);
    }

    template <typename U, error_policy Errors>
    friend outcome<Errors, allocation<U>> allocate(MPI_Comm comm, std::size_t count, MPI_Info info);

  private:
    void swap(allocation &other) noexcept
    {
        std::swap(comm_, other.comm_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        bases_.swap(other.bases_);
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    T *data_ = nullptr;
    std::size_t size_ = 0;
    std::vector<T *> bases_;
    int exceptions_ = std::uncaught_exceptions();
};

namespace detail
{
/// Returns the size of `count` elements; if they exceed the address space, the largest size, for which every
/// allocation fails with MPI_ERR_NO_MEM.
template <typename T>
constexpr MPI_Aint bytes_of(std::size_t count) noexcept
{
    constexpr auto largest = static_cast<std::size_t>(PTRDIFF_MAX);
    return static_cast<MPI_Aint>(count <= largest / sizeof(T) ? count * sizeof(T) : largest);
}

/// The largest alignment that an allocation can have.
inline constexpr std::size_t largest_alignment = std::size_t{1} << 30;

/// An info object for allocations of elements of an alignment: the given one, or a copy that demands more
/// than the 64 bytes which every allocation has.
class aligned_info
{
  public:
    aligned_info(MPI_Info given, std::size_t alignment) : info_(given)
    {
        // The library reports a call before MPI_Init or after MPI_Finalize; MPI would end the process.
        if (alignment <= 64 || !is_initialized()) return;
        constexpr char key[] = "mpi_minimum_memory_alignment";
        char text[MPI_MAX_INFO_VAL + 1] = "";
        int found = 0;
        if (given != MPI_INFO_NULL) code_ = MPI_Info_get(given, key, MPI_MAX_INFO_VAL, text, &found);
        char *end = text;
        unsigned long long const demanded = found != 0 ? std::strtoull(text, &end, 10) : 1;
        // The library refuses a value that is no power of two, or has other text behind it.
        if (code_ != MPI_SUCCESS || *end != '\0' || !std::has_single_bit(demanded) || demanded >= alignment)
            return;
        MPI_Info made = MPI_INFO_NULL;
        code_ = given != MPI_INFO_NULL ? MPI_Info_dup(given, &made) : MPI_Info_create(&made);
        if (code_ != MPI_SUCCESS) return;
        owned_ = true;
        info_ = made;
        code_ = MPI_Info_set(made, key, std::to_string(alignment).c_str());
    }
    aligned_info(aligned_info const &) = delete;
    aligned_info &operator=(aligned_info const &) = delete;
    ~aligned_info()
    {
        if (owned_) MPI_Info_free(&info_);
    }

    /// Returns the error code of the construction.
    int code() const noexcept { return code_; }
    MPI_Info get() const noexcept { return info_; }

  private:
    MPI_Info info_;
    bool owned_ = false;
    int code_ = MPI_SUCCESS;
};
} // namespace detail

/// Allocates communicatable memory at every rank.
///
/// @param comm   an intracommunicator, which outlives the memory
/// @param count  elements at this process; counts may differ
/// @param info   the keys of MPIX_RMA_Allocate
///
/// Collective. The memory has the alignment of T. The elements are not initialised.
template <typename T, error_policy Errors = exceptions>
outcome<Errors, allocation<T>> allocate(MPI_Comm comm, std::size_t count, MPI_Info info = MPI_INFO_NULL)
{
    static_assert(alignof(T) <= detail::largest_alignment);
    allocation<T> made;
    int ranks = 0;
    // MPIX_RMA_Allocate reports a call before MPI_Init or after MPI_Finalize; MPI would end the process.
    int code = detail::is_initialized() ? MPI_Comm_size(comm, &ranks) : MPI_SUCCESS;
    if (code != MPI_SUCCESS) return detail::finish<Errors>(code, std::move(made));
    std::vector<void *> bases(static_cast<std::size_t>(ranks));
    MPI_Aint const bytes = detail::bytes_of<T>(count);
    void *mine = nullptr;
    detail::aligned_info const aligned(info, alignof(T));
    code = aligned.code();
    if (code == MPI_SUCCESS) code = MPIX_RMA_Allocate(bytes, aligned.get(), comm, &mine, bases.data());
    if (code == MPI_SUCCESS) {
        made.comm_ = comm;
        made.data_ = static_cast<T *>(mine);
        made.size_ = count;
        made.bases_.reserve(bases.size());
        for (void *base : bases)
            made.bases_.push_back(static_cast<T *>(base));
    }
    return detail::finish<Errors>(code, std::move(made));
}

/// Owns communicatable memory of this process alone; made by allocate_local(). A range of the elements. The
/// destructor is local; operations on the memory must be complete.
template <transferable T>
class local_allocation
{
  public:
    /// No memory.
    local_allocation() noexcept = default;
    local_allocation(local_allocation &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0))
    {
    }
    local_allocation &operator=(local_allocation &&other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~local_allocation()
    {
        if (data_ != nullptr && !detail::is_finalized()) MPIX_RMA_Free_local(data_);
    }

    /// Returns the elements.
    std::span<T> local() const noexcept { return {data_, size_}; }
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    /// Returns an element.
    T &operator[](std::size_t index) const noexcept { return data_[index]; }

    template <typename U, error_policy Errors>
    friend outcome<Errors, local_allocation<U>> allocate_local(std::size_t count, MPI_Info info);

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Allocates communicatable memory at this process alone.
///
/// @param count  elements, at least one
/// @param info   the keys of MPIX_RMA_Allocate_local
///
/// Local. The memory has the alignment of T. The elements are not initialised.
template <typename T, error_policy Errors = exceptions>
outcome<Errors, local_allocation<T>> allocate_local(std::size_t count, MPI_Info info = MPI_INFO_NULL)
{
    static_assert(alignof(T) <= detail::largest_alignment);
    local_allocation<T> made;
    MPI_Aint const bytes = detail::bytes_of<T>(count);
    void *mine = nullptr;
    detail::aligned_info const aligned(info, alignof(T));
    int code = aligned.code();
    if (code == MPI_SUCCESS) code = MPIX_RMA_Allocate_local(bytes, aligned.get(), &mine);
    if (code == MPI_SUCCESS) {
        made.data_ = static_cast<T *>(mine);
        made.size_ = count;
    }
    return detail::finish<Errors>(code, std::move(made));
}

/// The rights of peers to registered memory.
enum class access {
    as_mapped, ///< whatever the memory permits
    read,      ///< peers only read; this process need not be able to write the memory
    read_write ///< peers read and write
};

class registration;
namespace detail
{
/// A contiguous range that is an lvalue, or does not own its elements.
template <typename Range>
concept outlives = std::ranges::contiguous_range<Range> && std::ranges::borrowed_range<Range>;
} // namespace detail
template <error_policy Errors = exceptions, typename Range>
    requires(detail::outlives<Range>)
outcome<Errors, registration> register_memory(Range &&memory, access rights = access::as_mapped);

/// Owns the registration of existing memory; made by register_memory(). The destructor is local; no process
/// uses the registration afterwards.
class [[nodiscard]] registration
{
  public:
    /// No registration.
    registration() noexcept = default;
    registration(registration &&other) noexcept
        : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0))
    {
    }
    registration &operator=(registration &&other) noexcept
    {
        std::swap(base_, other.base_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~registration()
    {
        if (base_ != nullptr && !detail::is_finalized()) MPIX_RMA_Deregister(base_, bytes_);
    }

    template <error_policy Errors, typename Range>
        requires(detail::outlives<Range>)
    friend outcome<Errors, registration> register_memory(Range &&memory, access rights);

  private:
    void const *base_ = nullptr;
    MPI_Aint bytes_ = 0;
};

/// Makes existing memory communicatable, until the returned object is destroyed. Local.
///
/// @param memory  a contiguous range that outlives the registration, not empty; its elements may be const
/// @param rights  what peers may do
template <error_policy Errors, typename Range>
    requires(detail::outlives<Range>)
outcome<Errors, registration> register_memory(Range &&memory, access rights)
{
    registration made;
    void const *const base = std::ranges::data(memory);
    auto const bytes =
        static_cast<MPI_Aint>(std::ranges::size(memory) * sizeof(std::ranges::range_value_t<Range>));
    MPI_Info info = MPI_INFO_NULL;
    int code = MPI_SUCCESS;
    if (rights != access::as_mapped && detail::is_initialized()) {
        code = MPI_Info_create(&info);
        if (code == MPI_SUCCESS) {
            code = MPI_Info_set(info, "mpix_access", rights == access::read ? "read" : "readwrite");
        }
    }
    if (code == MPI_SUCCESS) code = MPIX_RMA_Register(base, bytes, info);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (code == MPI_SUCCESS) {
        made.base_ = base;
        made.bytes_ = bytes;
    }
    return detail::finish<Errors>(code, std::move(made));
}

/// A contiguous range of a rank's communicatable memory: an allocation, or registrations that overlap.
struct segment {
    remote_ptr<std::byte> base; ///< its first byte
    std::size_t size = 0;       ///< bytes
    friend bool operator==(segment const &, segment const &) noexcept = default;
};

/// Returns the segment in which an address lies; no value if it is not communicatable. Local; may have to
/// query the target.
template <error_policy Errors = exceptions, typename T>
outcome<Errors, std::optional<segment>> query(MPI_Comm comm, remote_ptr<T> address)
{
    int flag = 0;
    void *base = nullptr;
    MPI_Aint size = 0;
    int const code = MPIX_RMA_Query(comm, address.rank(), address.address(), &flag, &base, &size);
    std::optional<segment> found;
    if (code == MPI_SUCCESS && flag != 0) {
        found = segment{{address.rank(), static_cast<std::byte *>(base)}, static_cast<std::size_t>(size)};
    }
    return detail::finish<Errors>(code, std::move(found));
}

/// Returns the segments of a rank in the order of their addresses.
/// Local; may have to query the target.
template <error_policy Errors = exceptions>
outcome<Errors, std::vector<segment>> segments(MPI_Comm comm, int rank)
{
    std::vector<MPIX_RMA_Segment> native;
    int count = 0;
    int code = MPIX_RMA_Segments(comm, rank, 0, nullptr, &count);
    while (code == MPI_SUCCESS &&
           static_cast<std::size_t>(count) > native.size()) { // the number may have grown meanwhile
        native.resize(static_cast<std::size_t>(count));
        code = MPIX_RMA_Segments(comm, rank, count, native.data(), &count);
    }
    native.resize(code == MPI_SUCCESS ? static_cast<std::size_t>(count) : 0);
    std::vector<segment> found;
    found.reserve(native.size());
    for (MPIX_RMA_Segment const &each : native) {
        found.push_back({{rank, static_cast<std::byte *>(each.base)}, static_cast<std::size_t>(each.size)});
    }
    return detail::finish<Errors>(code, std::move(found));
}

} // namespace mpix

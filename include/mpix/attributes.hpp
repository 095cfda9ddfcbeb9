/// Attributes of operations, for a call or for a communicator. Included by mpix_rma.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "error.hpp"

namespace mpix
{

/// Attributes of one call, by designated initialisers in this order: {.ordering = true, .blocking = true}.
/// They are merged with those of the communicator. MPIX_RMA_Attributes describes what each guarantees.
struct attributes {
    bool atomicity = false;                   ///< indivisible among operations with this attribute
    bool ordering = false;                    ///< takes effect after earlier operations with this attribute
    bool blocking = false;                    ///< returns when complete
    bool remote_completion = false;           ///< complete: in the target's memory
    bool origin_communicatable = false;       ///< origin memory is allocated or registered
    bool target_communicatable = false;       ///< target memory is allocated or registered
    std::optional<MPI_Op> accumulate_op = {}; ///< predefined operation of an accumulate, instead of MPI_SUM
    void const *accumulate_scale = nullptr;   ///< one element: see accumulate_scaled
    std::optional<int> notify = {};           ///< counter of the target that the operation increments

    /// Returns the bits MPIX_RMA_ATTR_* of the attributes that are set.
    constexpr std::uint64_t mask() const noexcept
    {
        return (atomicity ? MPIX_RMA_ATTR_ATOMICITY : 0) | (ordering ? MPIX_RMA_ATTR_ORDERING : 0) |
               (blocking ? MPIX_RMA_ATTR_BLOCKING : 0) |
               (remote_completion ? MPIX_RMA_ATTR_REMOTE_COMPLETION : 0) |
               (origin_communicatable ? MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE : 0) |
               (target_communicatable ? MPIX_RMA_ATTR_TARGET_COMMUNICATABLE : 0) |
               (accumulate_op ? MPIX_RMA_ATTR_ACCUMULATE_OP : 0) |
               (accumulate_scale != nullptr ? MPIX_RMA_ATTR_ACCUMULATE_SCALE : 0) |
               (notify ? MPIX_RMA_ATTR_NOTIFY : 0);
    }
    friend constexpr bool operator==(attributes const &, attributes const &) noexcept = default;
};

namespace detail
{

/// The C form of attributes, for the time of a call.
class native_attributes
{
  public:
    constexpr explicit native_attributes(attributes const &chosen) noexcept
        : value_{chosen.mask(), chosen.accumulate_op.value_or(MPI_Op{}), chosen.accumulate_scale,
                 chosen.notify.value_or(0)}
    {
    }
    /// Returns null if no attribute is set: then the library has nothing to read.
    constexpr MPIX_RMA_Attributes const *get() const noexcept { return value_.set == 0 ? nullptr : &value_; }

  private:
    MPIX_RMA_Attributes value_;
};

/// The attributes that are on or off, with their keys.
struct attribute_switch {
    bool attributes::*member;
    char const *key;
};
inline constexpr attribute_switch attribute_switches[] = {
    {&attributes::atomicity, "MPIX_RMA_KEY_ATOMICITY"},
    {&attributes::ordering, "MPIX_RMA_KEY_ORDERING"},
    {&attributes::blocking, "MPIX_RMA_KEY_BLOCKING"},
    {&attributes::remote_completion, "MPIX_RMA_KEY_REMOTE_COMPLETION"}};

/// Gives `set`, a function of key and value that returns an MPI error code, each attribute that is set.
/// Returns the first error.
template <typename Set>
int for_each_attribute(attributes const &chosen, Set set)
{
    int code = MPI_SUCCESS;
    auto const give = [&](int key, void *value) {
        if (code == MPI_SUCCESS) code = set(key, value);
    };
    for (attribute_switch const &each : attribute_switches) {
        if (chosen.*each.member) give(MPIX_RMA_Keyval(each.key), MPIX_RMA_ON);
    }
    if (chosen.origin_communicatable || chosen.target_communicatable) {
        void *const one = chosen.origin_communicatable ? MPIX_RMA_ORIGIN : MPIX_RMA_TARGET;
        bool const both = chosen.origin_communicatable && chosen.target_communicatable;
        give(MPIX_RMA_KEY_COMMUNICATABLE, both ? MPIX_RMA_BOTH : one);
    }
    if (chosen.accumulate_op) give(MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(*chosen.accumulate_op));
    if (chosen.accumulate_scale != nullptr) {
        give(MPIX_RMA_KEY_ACCUMULATE_SCALE, const_cast<void *>(chosen.accumulate_scale));
    }
    if (chosen.notify) give(MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(*chosen.notify));
    return code;
}

/// Converts an attribute value to an operation: MPI's handles are pointers in some MPI libraries, and
/// integers in others.
template <typename Op = MPI_Op>
Op op_of_value(void *value) noexcept
{
    if constexpr (std::is_pointer_v<Op>) {
        return static_cast<Op>(value);
    } else {
        return static_cast<Op>(reinterpret_cast<std::intptr_t>(value));
    }
}

/// Reads attributes by `get`, a function of key, address of a value and address of a flag, that returns an
/// MPI error code.
template <typename Get>
int read_attributes(attributes *found, Get get)
{
    int code = MPI_SUCCESS;
    auto const take = [&](int key, auto use) {
        void *value = nullptr;
        int flag = 0;
        if (code == MPI_SUCCESS) code = get(key, &value, &flag);
        if (code == MPI_SUCCESS && flag != 0) use(value);
    };
    for (attribute_switch const &each : attribute_switches) {
        take(MPIX_RMA_Keyval(each.key), [&](void *value) { found->*each.member = value != nullptr; });
    }
    take(MPIX_RMA_KEY_COMMUNICATABLE, [&](void *value) {
        found->origin_communicatable = value == MPIX_RMA_ORIGIN || value == MPIX_RMA_BOTH;
        found->target_communicatable = value == MPIX_RMA_TARGET || value == MPIX_RMA_BOTH;
    });
    take(MPIX_RMA_KEY_ACCUMULATE_OP, [&](void *value) { found->accumulate_op = op_of_value(value); });
    take(MPIX_RMA_KEY_ACCUMULATE_SCALE, [&](void *value) { found->accumulate_scale = value; });
    take(MPIX_RMA_KEY_NOTIFY,
         [&](void *value) { found->notify = static_cast<int>(reinterpret_cast<std::intptr_t>(value)); });
    return code;
}

/// Adds attributes to those that `get` finds, by for_each_attribute and `set`. One key has both sides of
/// communicatable memory: the side that it has already stays. Returns the first error.
template <typename Get, typename Set>
int add_attributes(attributes chosen, Get get, Set set)
{
    int code = MPI_SUCCESS;
    if (chosen.origin_communicatable != chosen.target_communicatable) {
        void *value = nullptr;
        int flag = 0;
        code = get(MPIX_RMA_KEY_COMMUNICATABLE, &value, &flag);
        void *const other = chosen.origin_communicatable ? MPIX_RMA_TARGET : MPIX_RMA_ORIGIN;
        bool const both =
            code == MPI_SUCCESS && flag != 0 && (value == MPIX_RMA_BOTH || value == other);
        if (both) chosen.origin_communicatable = chosen.target_communicatable = true;
    }
    return code == MPI_SUCCESS ? for_each_attribute(chosen, set) : code;
}

} // namespace detail

/// Adds attributes to all operations through a communicator.
///
/// @param comm    the communicator; MPI_Comm_dup copies its attributes, except notify
/// @param chosen  those that are set are added, the others stay as they are. The memory of accumulate_scale
///                must stay valid as long as the attribute
///
/// Local; only this process's operations have the attributes.
template <error_policy Errors = exceptions>
outcome<Errors> set_attributes(MPI_Comm comm, attributes const &chosen)
{
    if (!detail::is_initialized()) return detail::finish<Errors>(MPI_ERR_OTHER);
    return detail::finish<Errors>(detail::add_attributes(
        chosen, [comm](int key, void *value, int *flag) { return MPI_Comm_get_attr(comm, key, value, flag); },
        [comm](int key, void *value) { return MPI_Comm_set_attr(comm, key, value); }));
}

/// Returns the attributes of a communicator. Local.
template <error_policy Errors = exceptions>
outcome<Errors, attributes> get_attributes(MPI_Comm comm)
{
    attributes found;
    if (!detail::is_initialized()) return detail::finish<Errors>(MPI_ERR_OTHER, std::move(found));
    int const code = detail::read_attributes(&found, [comm](int key, void *value, int *flag) {
        return MPI_Comm_get_attr(comm, key, value, flag);
    });
    return detail::finish<Errors>(code, std::move(found));
}

/// Removes all attributes from a communicator. Local.
template <error_policy Errors = exceptions>
outcome<Errors> clear_attributes(MPI_Comm comm)
{
    int code = detail::is_initialized() ? MPI_SUCCESS : MPI_ERR_OTHER;
    for (char const *name :
         {"MPIX_RMA_KEY_ATOMICITY", "MPIX_RMA_KEY_ORDERING", "MPIX_RMA_KEY_BLOCKING",
          "MPIX_RMA_KEY_REMOTE_COMPLETION", "MPIX_RMA_KEY_COMMUNICATABLE", "MPIX_RMA_KEY_ACCUMULATE_OP",
          "MPIX_RMA_KEY_ACCUMULATE_SCALE", "MPIX_RMA_KEY_NOTIFY"}) {
        void *value = nullptr;
        int flag = 0;
        int const key = MPIX_RMA_Keyval(name);
        if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(comm, key, &value, &flag);
        if (code == MPI_SUCCESS && flag != 0) code = MPI_Comm_delete_attr(comm, key);
    }
    return detail::finish<Errors>(code);
}

} // namespace mpix

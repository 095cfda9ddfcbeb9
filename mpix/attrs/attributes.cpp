#include "mpix/attrs/attributes.hpp"

#include <cstdio>

#include "datatype/handle.hpp"
#include "datatype/predefined.hpp"

namespace mpixrma {

namespace {

/// Any value but null switches the attribute on.
template <std::uint64_t bit>
bool assign_switch(MPIX_RMA_Attributes& attributes, void* value) {
  attributes.set = value != nullptr ? attributes.set | bit : attributes.set & ~bit;
  return true;
}

bool assign_communicatable(MPIX_RMA_Attributes& attributes, void* value) {
  auto const sides = reinterpret_cast<std::uintptr_t>(value);
  if (sides > reinterpret_cast<std::uintptr_t>(MPIX_RMA_BOTH)) return false;
  bool const origin = (sides & reinterpret_cast<std::uintptr_t>(MPIX_RMA_ORIGIN)) != 0;
  bool const target = (sides & reinterpret_cast<std::uintptr_t>(MPIX_RMA_TARGET)) != 0;
  attributes.set &= ~(MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE);
  if (origin) attributes.set |= MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE;
  if (target) attributes.set |= MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  return true;
}

bool assign_operation(MPIX_RMA_Attributes& attributes, void* value) {
  auto const op = handle_from<MPI_Op>(reinterpret_cast<std::uintptr_t>(value));
  if (!operation_of(op)) return false;
  attributes.accumulate_op = op;
  attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
  return true;
}

bool assign_scale(MPIX_RMA_Attributes& attributes, void* value) {
  if (value == nullptr) return false;
  attributes.accumulate_scale = value;
  attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_SCALE;
  return true;
}

bool assign_index(MPIX_RMA_Attributes& attributes, void* value) {
  auto const index = reinterpret_cast<std::intptr_t>(value);
  if (index < 0 || index > INT32_MAX) return false;
  attributes.notify_index = static_cast<int>(index);
  attributes.set |= MPIX_RMA_ATTR_NOTIFY;
  return true;
}

void inherit_nothing(MPIX_RMA_Attributes&, MPIX_RMA_Attributes const&) {}

constexpr AttributeEntry switched(char const* name, std::uint64_t bit, engine::OpFlags flags,
                                  bool (*assign)(MPIX_RMA_Attributes&, void*)) {
  return {name, bit, bit, flags, assign, &inherit_nothing};
}

}  // namespace

std::array<AttributeEntry, attribute_count> const attribute_table = {{
    switched("MPIX_RMA_KEY_ATOMICITY", MPIX_RMA_ATTR_ATOMICITY, engine::OpFlags::atomic,
             &assign_switch<MPIX_RMA_ATTR_ATOMICITY>),
    switched("MPIX_RMA_KEY_ORDERING", MPIX_RMA_ATTR_ORDERING, engine::OpFlags::ordered,
             &assign_switch<MPIX_RMA_ATTR_ORDERING>),
    switched("MPIX_RMA_KEY_BLOCKING", MPIX_RMA_ATTR_BLOCKING, engine::OpFlags::none,
             &assign_switch<MPIX_RMA_ATTR_BLOCKING>),
    switched("MPIX_RMA_KEY_REMOTE_COMPLETION", MPIX_RMA_ATTR_REMOTE_COMPLETION,
             engine::OpFlags::remote_completion, &assign_switch<MPIX_RMA_ATTR_REMOTE_COMPLETION>),
    {"MPIX_RMA_KEY_COMMUNICATABLE", MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE,
     MPIX_RMA_ATTR_TARGET_COMMUNICATABLE, engine::OpFlags::target_registered, &assign_communicatable,
     &inherit_nothing},
    {"MPIX_RMA_KEY_ACCUMULATE_OP", MPIX_RMA_ATTR_ACCUMULATE_OP, 0, engine::OpFlags::none, &assign_operation,
     [](MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& from) { to.accumulate_op = from.accumulate_op; }},
    {"MPIX_RMA_KEY_ACCUMULATE_SCALE", MPIX_RMA_ATTR_ACCUMULATE_SCALE, 0, engine::OpFlags::none, &assign_scale,
     [](MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& from) {
       to.accumulate_scale = from.accumulate_scale;
     }},
    {"MPIX_RMA_KEY_NOTIFY", MPIX_RMA_ATTR_NOTIFY, 0, engine::OpFlags::none, &assign_index,
     [](MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& from) { to.notify_index = from.notify_index; }},
}};

std::string text_of_value(AttributeEntry const& attribute, void* value) {
  if (attribute.bits == MPIX_RMA_ATTR_NOTIFY) return std::to_string(reinterpret_cast<std::intptr_t>(value));
  char text[24];
  (void)std::snprintf(text, sizeof text, "%p", value);
  return text;
}

std::uint64_t known_attributes() noexcept {
  std::uint64_t all = 0;
  for (auto const& entry : attribute_table) all |= entry.bits;
  return all;
}

void join(MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& weaker) noexcept {
  for (auto const& entry : attribute_table) {
    if ((to.set & entry.bits) == 0 && (weaker.set & entry.bits) != 0) entry.inherit(to, weaker);
    to.set |= weaker.set & entry.bits;
  }
}

engine::OpFlags op_flags_of(std::uint64_t set) noexcept {
  auto flags = engine::OpFlags::none;
  for (auto const& entry : attribute_table) {
    if ((set & entry.flag_bits) != 0) flags = flags | entry.flags;
  }
  return flags;
}

}  // namespace mpixrma

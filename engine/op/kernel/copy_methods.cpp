#include "engine/op/kernel/copy_methods.hpp"

#include <atomic>
#include <cstring>

namespace mpixrma::engine {

namespace {

constexpr std::array<char const*, copy_method_count> method_names{"library", "vector", "string"};
constexpr std::array<char const*, copy_shift_count> shift_names{"alike", "close", "ahead", "other"};
constexpr std::array<char const*, copy_size_count> size_names{"2k", "8k", "32k", "128k", "512k", "2m", "8m"};

/// The table in use: of the process, because its processor is the same for all engines.
constinit std::array<std::array<std::atomic<CopyMethod>, copy_shift_count>, copy_size_count> in_use{};

#if MPIX_KERNEL_X86_64
void copy_string(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#endif

template <std::size_t count>
std::optional<std::size_t> find_name(std::array<char const*, count> const& names,
                                     std::string_view word) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    if (names[i] == word) return i;
  return std::nullopt;
}

/// Sets the decisions that `place` names: "SIZE" or "SIZE.SHIFT"; returns false if it is neither.
bool set_place(CopyTable& table, std::string_view place, CopyMethod method) noexcept {
  std::size_t const dot = place.find('.');
  std::optional<std::size_t> const size_class = find_name(size_names, place.substr(0, dot));
  if (!size_class) return false;
  if (dot == place.npos) {
    table.methods[*size_class].fill(method);
    return true;
  }
  std::optional<std::size_t> const shift = find_name(shift_names, place.substr(dot + 1));
  if (shift) table.methods[*size_class][*shift] = method;
  return shift.has_value();
}

bool set_item(CopyTable& table, std::string_view item) noexcept {
  std::size_t const equals = item.find('=');
  std::string_view const word = equals == item.npos ? item : item.substr(equals + 1);
  std::optional<std::size_t> const found = find_name(method_names, word);
  if (!found) return false;
  auto const method = static_cast<CopyMethod>(*found);
  if (equals != item.npos) return set_place(table, item.substr(0, equals), method);
  for (auto& of_size : table.methods) of_size.fill(method);
  return true;
}

}  // namespace

CopyTable merge(CopyTable const& first, CopyTable const& second) noexcept {
  CopyTable merged = first;
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    if (!merged.at(size_class, shift)) merged.at(size_class, shift) = second.at(size_class, shift);
  });
  return merged;
}

bool is_available(CopyMethod method) noexcept {
  switch (method) {
    case CopyMethod::vector: return active_kernels->copy_vectors != nullptr;
    case CopyMethod::string: return MPIX_KERNEL_X86_64 != 0;
    default: return true;
  }
}

void use_copy_methods(CopyTable const& table) noexcept {
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    CopyMethod const method = table.at(size_class, shift).value_or(CopyMethod::library);
    in_use[size_class][static_cast<std::size_t>(shift)].store(
        is_available(method) ? method : CopyMethod::library, std::memory_order_relaxed);
  });
}

CopyMethod copy_method(void const* to, void const* from, std::size_t bytes) noexcept {
  auto const shift = static_cast<std::size_t>(copy_shift(to, from));
  return in_use[copy_size_class(bytes)][shift].load(std::memory_order_relaxed);
}

void copy_by(CopyMethod method, std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  switch (method) {
    case CopyMethod::vector: return active_kernels->copy_vectors(to, from, bytes);
#if MPIX_KERNEL_X86_64
    case CopyMethod::string: return copy_string(to, from, bytes);
#endif
    default: std::memcpy(to, from, bytes);
  }
}

void copy_by_table(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  copy_by(copy_method(to, from, bytes), to, from, bytes);
}

char const* name_of(CopyMethod method) noexcept { return method_names[static_cast<std::size_t>(method)]; }
char const* name_of(CopyShift shift) noexcept { return shift_names[static_cast<std::size_t>(shift)]; }
char const* name_of_copy_size(std::size_t size_class) noexcept { return size_names[size_class]; }

std::string_view read_copy_methods(std::string_view text, CopyTable& table) noexcept {
  if (text == "auto") return {};
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view const item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
    if (!set_item(table, item)) return item.empty() ? text : item;
  }
  return {};
}

std::string to_text(CopyTable const& table) {
  std::string text;
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    std::optional<CopyMethod> const method = table.at(size_class, shift);
    if (!method) return;
    if (!text.empty()) text += ',';
    text.append(name_of_copy_size(size_class)).append(".").append(name_of(shift));
    text.append("=").append(name_of(*method));
  });
  return text;
}

}  // namespace mpixrma::engine

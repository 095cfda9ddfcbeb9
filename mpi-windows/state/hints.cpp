#include "mpi-windows/state/hints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mpixrma::windows {

namespace {

constexpr char const* keys[] = {"no_locks",
                                "accumulate_ordering",
                                "accumulate_ops",
                                "mpix_order",
                                "mpi_accumulate_granularity",
                                "acc_single_intrinsic",
                                "same_size",
                                "same_disp_unit",
                                "alloc_shared_noncontig",
                                "mpi_minimum_memory_alignment",
                                "mpi_assert_max_num_notify",
                                "deep_mem_kind",
                                "deep_win_port_name",
                                "mpix_nam_durability",
                                "mpix_nam_mode",
                                "mpix_nam_stripe",
                                "mpix_nam_encrypt",
                                "mpix_nam_follow",
                                nullptr};

bool is_true(std::string_view value) noexcept { return value == "true" || value == "yes" || value == "1"; }
char const* truth(bool value) noexcept { return value ? "true" : "false"; }

constexpr char order_overlapping[] = "overlapping";
constexpr char order_none[] = "none";

/// Whether the value is `none` or a list of any of the four orders, separated by commas.
bool is_ordering(std::string_view value) noexcept {
  if (value == "none") return true;
  while (!value.empty()) {
    std::string_view const word = value.substr(0, value.find(','));
    if (word != "rar" && word != "raw" && word != "war" && word != "waw") return false;
    value.remove_prefix(std::min(word.size() + 1, value.size()));
  }
  return true;
}

}  // namespace

constinit Hints::Order Hints::default_order_ = Order::overlapping;

std::optional<Hints::Order> Hints::parse_order(std::string_view value) noexcept {
  if (value == order_overlapping) return Order::overlapping;
  if (value == order_none) return Order::none;
  return std::nullopt;
}

Hints::Hints(mpix_window_hint const* given) {
  for (; given != nullptr && given->key != nullptr; ++given) {
    if (given->value == nullptr) continue;
    std::string_view const key = given->key;
    if (key == "no_locks") no_locks_ = is_true(given->value);
    if (key == "same_size") same_size_ = is_true(given->value);
    if (key == "same_disp_unit") same_disp_unit_ = is_true(given->value);
    if (key == "alloc_shared_noncontig") noncontiguous_ = is_true(given->value);
    if (key == "mpi_minimum_memory_alignment") {
      std::size_t const wanted = std::strtoul(given->value, nullptr, 10);
      bool const power = wanted != 0 && (wanted & (wanted - 1)) == 0;
      if (power && wanted <= std::size_t{1} << 30) alignment_ = wanted;
      alignment_text_ = std::to_string(std::max<std::size_t>(alignment_, 64));
    }
    if (key == "mpi_assert_max_num_notify") parse_counters(given->value);
    parse_memory(key, given->value);
    parse(given->key, given->value);
  }
}

bool Hints::contain_port(mpix_window_hint const* given) noexcept {
  for (; given != nullptr && given->key != nullptr; ++given)
    if (std::string_view(given->key) == "deep_win_port_name")
      return given->value != nullptr && *given->value != '\0';
  return false;
}

/// Parses the hints for a memory server.
void Hints::parse_memory(std::string_view key, char const* value) {
  std::string_view const text = value;
  if (key == "deep_mem_kind") {
    kind_ = text == "deep_nam"              ? MemoryKind::nam
            : text == "deep_nam_persistent" ? MemoryKind::nam_persistent
                                            : MemoryKind::unknown;
  }
  if (key == "deep_win_port_name") port_name_ = text;
  if (key == "mpix_nam_durability") durability_ = text;
  if (key == "mpix_nam_mode") mode_ = text;
  if (key == "mpix_nam_stripe") chunk_size_ = text;
  if (key == "mpix_nam_encrypt") encrypt_ = is_true(text);
  if (key == "mpix_nam_follow") follow_ = is_true(text);
}

/// A value of 0, or an invalid number, asserts nothing.
void Hints::parse_counters(std::string_view value) {
  int number = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 0) {
    counters_ = number;
    counters_text_ = std::to_string(number);
  }
}

/// An invalid number changes nothing.
void Hints::parse_granularity(std::string_view value) {
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return;
  granularity_ = number;
  granularity_text_ = std::to_string(number);
}

void Hints::parse(char const* key, char const* value) {
  std::string_view const name = key;
  if (name == "accumulate_ordering" && is_ordering(value)) {
    ordering_ = value;
    accumulates_ordered_ = ordering_ != "none" && !ordering_.empty();
  }
  if (name == "mpix_order") order_ = parse_order(value).value_or(order_);
  bool const known = std::strcmp(value, "same_op") == 0 || std::strcmp(value, "same_op_no_op") == 0;
  if (name == "accumulate_ops" && known) operations_ = value;
  if (name == "acc_single_intrinsic") single_intrinsic_ = is_true(value);
  if (name == "mpi_accumulate_granularity") parse_granularity(value);
}

char const* Hints::set(char const* key, char const* value, int flavor) {
  if (value != nullptr) parse(key, value);
  std::string_view const name = key;
  if (name == "no_locks") return truth(no_locks_);
  if (name == "accumulate_ordering") return ordering_.c_str();
  if (name == "accumulate_ops") return operations_.c_str();
  if (name == "mpix_order") return keeps_order() ? order_overlapping : order_none;
  if (name == "mpi_accumulate_granularity") return granularity_text_.c_str();
  if (name == "acc_single_intrinsic") return truth(single_intrinsic_);
  if (name == "same_size") return truth(same_size_);
  if (name == "same_disp_unit") return truth(same_disp_unit_);
  if (name == "alloc_shared_noncontig")
    return noncontiguous_ || flavor == MPI_WIN_FLAVOR_SHARED ? truth(noncontiguous_) : nullptr;
  if (name == "mpi_minimum_memory_alignment") {
    bool const allocates = flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED;
    return allocates || alignment_ != 0 ? alignment_text_.c_str() : nullptr;
  }
  auto const known = [](std::string const& text) { return text.empty() ? nullptr : text.c_str(); };
  if (name == "mpi_assert_max_num_notify") return known(counters_text_);
  if (name == "deep_win_port_name") return known(port_name_);
  if (name == "mpix_nam_durability") return known(durability_);
  if (name == "mpix_nam_mode") return known(mode_);
  if (name == "mpix_nam_stripe") return known(chunk_size_);
  if (name == "mpix_nam_encrypt" && encrypt_) return truth(encrypt_);
  if (name == "mpix_nam_follow" && follow_) return truth(follow_);
  if (name == "deep_mem_kind" && kind_ != MemoryKind::host && kind_ != MemoryKind::unknown)
    return kind_ == MemoryKind::nam ? "deep_nam" : "deep_nam_persistent";
  return nullptr;
}

}  // namespace mpixrma::windows

char const* const* mpix_window_keys(void) { return mpixrma::windows::keys; }

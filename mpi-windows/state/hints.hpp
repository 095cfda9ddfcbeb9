/// The hints of a window's info object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/op/operation.hpp"
#include "mpi-windows/state/mpix_windows.h"

namespace mpixrma::windows {

/// Where the memory of an allocated window is.
enum class MemoryKind : std::uint8_t {
  host,
  nam,             ///< at a memory server
  nam_persistent,  ///< the same, and it stays there
  unknown          ///< an error
};

class Hints {
 public:
  /// As given when the window is made; ended by an entry without key. Throws where there is no memory.
  explicit Hints(mpix_window_hint const* given);

  /// Takes a hint that may be changed while the window lives. nullptr: the key is not known.
  char const* set(char const* key, char const* value);

  bool no_locks() const noexcept { return no_locks_; }
  bool noncontiguous() const noexcept { return noncontiguous_; }
  MemoryKind memory_kind() const noexcept { return kind_; }
  std::string const& durability() const noexcept { return durability_; }
  /// Who may read and write a persistent window, octal; empty: the server's default.
  std::string const& mode() const noexcept { return mode_; }
  /// Bytes of the stripes in which the regions are divided between memory servers; empty: they are not.
  std::string const& stripe() const noexcept { return stripe_; }
  void tell_stripe(std::string const& stripe) { stripe_ = stripe; }
  /// Whether data on networks to a memory server has to be encrypted.
  bool encrypt() const noexcept { return encrypt_; }
  /// Whether to go to servers that only the owner of a window has named as those of its parts.
  bool follow() const noexcept { return follow_; }
  /// Of a persistent window at a memory server, which exists already where it is given.
  std::string const& port_name() const noexcept { return port_name_; }
  void tell_port(std::string const& port) { port_name_ = port; }
  /// Most notification counters that a process will have; 0: nothing is known.
  int counters() const noexcept { return counters_; }
  std::size_t alignment() const noexcept { return alignment_; }
  /// Whether operations of one origin that overlap take effect in the order of the calls.
  bool keeps_order() const noexcept { return order_ != Order::none; }
  /// Guarantees that put and get ask of the engine.
  engine::Guarantee transfer_guarantees() const noexcept {
    return keeps_order() ? engine::Guarantee::overlap_ordered : engine::Guarantee::none;
  }
  /// What operations of the accumulate family ask of the engine.
  engine::Guarantee accumulate_guarantees() const noexcept {
    using engine::Guarantee;
    bool const ordered = keeps_order() || accumulates_ordered_;
    return ordered ? Guarantee::element_atomic | Guarantee::overlap_ordered : Guarantee::element_atomic;
  }

  /// Order of operations of one origin to one target.
  enum class Order : std::uint8_t {
    none,        ///< none but that of accumulates
    overlapping  ///< of those whose target memory overlaps
  };
  /// The value of `mpix_order`; nullopt: it is none.
  static std::optional<Order> parse_order(std::string_view value) noexcept;
  /// Of windows that are made from here on, unless their info object says something else.
  static void set_default_order(Order order) noexcept { default_order_ = order; }

 private:
  static Order default_order_;

  void take_counters(std::string_view value);
  void take_memory(std::string_view key, char const* value);
  void take(char const* key, char const* value);

  bool no_locks_ = false;
  bool noncontiguous_ = false;
  bool same_size_ = false;
  bool same_disp_unit_ = false;
  bool single_intrinsic_ = false;
  bool accumulates_ordered_ = true;
  Order order_ = default_order_;
  int counters_ = 0;
  std::string counters_text_;
  std::size_t alignment_ = 0;
  MemoryKind kind_ = MemoryKind::host;
  std::string port_name_;
  std::string durability_;
  std::string mode_;
  std::string stripe_;
  bool encrypt_ = false;
  bool follow_ = false;
  std::string ordering_ = "rar,raw,war,waw";
  std::string operations_ = "same_op_no_op";
  std::string alignment_text_ = "64";
  std::string granularity_ = "0";
};

}  // namespace mpixrma::windows

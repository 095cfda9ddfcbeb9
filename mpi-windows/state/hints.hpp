/// The hints of a window's info object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/op/kernel/update_modes.hpp"
#include "engine/op/operation.hpp"
#include "mpi-windows/state/mpix_windows.h"

namespace mpixrma::windows {

/// The location of an allocated window's memory.
enum class MemoryKind : std::uint8_t {
  host,
  nam,             ///< at a memory server
  nam_persistent,  ///< at a memory server, and persistent
  unknown          ///< an error
};

class Hints {
 public:
  /// Parses the hints of a window creation; the array ends with an entry without key. Throws std::bad_alloc.
  explicit Hints(mpix_window_hint const* given);
  /// Returns whether the hints contain a port name.
  static bool contain_port(mpix_window_hint const* given) noexcept;

  /// Sets a hint that may change during the window's life, unless `value` is null; other hints keep their
  /// value. Returns the value in force; nullptr if the key is unknown, does not apply to windows of this
  /// flavour, or has no value.
  char const* set(char const* key, char const* value, int flavor);

  bool no_locks() const noexcept { return no_locks_; }
  bool noncontiguous() const noexcept { return noncontiguous_; }
  MemoryKind memory_kind() const noexcept { return kind_; }
  std::string const& durability() const noexcept { return durability_; }
  /// Octal access mode of a persistent window; empty: the server's default.
  std::string const& mode() const noexcept { return mode_; }
  /// Size in bytes of the chunks of regions that are striped over memory servers (mpix_nam_stripe); empty:
  /// not striped.
  std::string const& chunk_size() const noexcept { return chunk_size_; }
  void set_chunk_size(std::string const& bytes) { chunk_size_ = bytes; }
  /// Whether data on networks to a memory server must be encrypted.
  bool encrypt() const noexcept { return encrypt_; }
  /// Whether servers that only the owner of a window has named are accepted.
  bool follow() const noexcept { return follow_; }
  /// Port name of a persistent window at a memory server. If given as a hint, the window exists already.
  std::string const& port_name() const noexcept { return port_name_; }
  void set_port(std::string const& port) { port_name_ = port; }
  /// Maximum number of notification counters of a process; 0: unknown.
  int counters() const noexcept { return counters_; }
  std::size_t alignment() const noexcept { return alignment_; }
  /// Whether overlapping operations of one origin take effect in the order of the calls.
  bool keeps_order() const noexcept { return order_ != Order::none; }
  /// The engine's flags of put and get.
  engine::OpFlags transfer_flags() const noexcept {
    using engine::OpFlags;
    return keeps_order() ? OpFlags::no_lock_wait | OpFlags::overlap_ordered : OpFlags::no_lock_wait;
  }
  /// The engine's flags of operations of the accumulate family.
  engine::OpFlags accumulate_flags() const noexcept {
    using engine::OpFlags;
    bool const ordered = keeps_order() || accumulates_ordered_;
    OpFlags const always = OpFlags::no_lock_wait | OpFlags::element_atomic;
    OpFlags const arrays = keeps_arrays() ? OpFlags::keeps_arrays : OpFlags::none;
    return ordered ? always | arrays | OpFlags::overlap_ordered : always | arrays;
  }
  /// Whether updates of single elements leave memory in mode `arrays`, so that updates of arrays there stay
  /// fast.
  bool keeps_arrays() const noexcept { return granularity_ >= array_bytes; }
  /// Whether the whole memory is in mode `elements` from the beginning, so that contiguous
  /// updates of integers need no stripe.
  bool begins_with_elements() const noexcept {
    return granularity_ != 0 ? !keeps_arrays() : single_intrinsic_;
  }

  /// Order of operations of one origin to one target.
  enum class Order : std::uint8_t {
    none,        ///< puts and gets unordered; accumulates as `accumulate_ordering` says
    overlapping  ///< operations whose target memory overlaps
  };
  /// Parses the value of `mpix_order`; nullopt if it is invalid.
  static std::optional<Order> parse_order(std::string_view value) noexcept;
  /// Sets the order of later windows whose info object does not set it.
  static void set_default_order(Order order) noexcept { default_order_ = order; }

 private:
  static Order default_order_;

  void parse_counters(std::string_view value);
  void parse_memory(std::string_view key, char const* value);
  void parse(char const* key, char const* value);
  void parse_granularity(std::string_view value);

  /// From this granularity on, updates of single elements hold a stripe, as updates of arrays do: the unit of
  /// engine::UpdateModes.
  static constexpr std::uint64_t array_bytes = std::uint64_t{1} << engine::granule_shift;

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
  std::string chunk_size_;
  bool encrypt_ = false;
  bool follow_ = false;
  std::string ordering_ = "rar,raw,war,waw";
  std::string operations_ = "same_op_no_op";
  std::string alignment_text_ = "64";
  std::uint64_t granularity_ = 0;  ///< in bytes; 0: the library chooses for each KiB
  std::string granularity_text_ = "0";
};

}  // namespace mpixrma::windows

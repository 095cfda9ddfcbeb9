/// MPI datatypes as layouts: flattened once and cached with the datatype.
///
/// Shared by all components that receive datatypes from users. Each of them must call begin_datatypes() once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include "datatype/handle_cache.hpp"
#include "engine/op/kernel/types.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma {

/// The layout and the element type of one element of a datatype.
struct FlatType {
  engine::OwnedLayout layout;  ///< including displacements
  std::ptrdiff_t extent = 0;   ///< extent in bytes
  std::size_t size = 0;        ///< number of data bytes
  /// The predefined type that the datatype consists of, as the engine's (`none` if it has no such type) and
  /// as MPI's. If several predefined types are one ElementType, with the same permitted operations, `base` is
  /// the first of them. Both are undefined if `mixed`.
  engine::ElementType element = engine::ElementType::none;
  MPI_Datatype base = MPI_DATATYPE_NULL;
  bool mixed = false;  ///< consists of predefined types that differ in ElementType or permitted operations
};

/// Thrown for a datatype with an unknown constructor.
struct UnknownDatatype : std::exception {
  char const* what() const noexcept override { return "a datatype has an unknown constructor"; }
};

/// Enables Datatype::find, between MPI's initialisation and finalisation. `is_committed` receives a valid
/// handle, converted by word_of(), and returns whether the datatype may be used in communication. Not
/// thread-safe; may be called again.
void begin_datatypes(int (*is_committed)(std::uintptr_t type));
/// Makes Datatype::find return nullptr until the next begin_datatypes(). Async-signal-safe.
void end_datatypes() noexcept;

/// Decodes `type`, which must be a valid handle. Throws UnknownDatatype, or std::bad_alloc.
FlatType flatten(MPI_Datatype type);

class Datatype {
 public:
  /// Returns nullptr if `type` is MPI_DATATYPE_NULL or not committed, or before begin_datatypes(). Predefined
  /// types are always committed. Throws as flatten().
  static Datatype const* find(MPI_Datatype type) {
    Datatype const* const known = find_known(type);
    return known != nullptr ? known : find_slow_path(type);
  }
  /// As find(), but returns nullptr if the look-up needs more than a few instructions.
  static Datatype const* find_known(MPI_Datatype type) noexcept { return cache_.find(type); }

  MPI_Datatype handle() const noexcept { return type_.get(); }
  FlatType const& flat() const noexcept { return flat_; }
  /// Whether the elements follow each other without gaps in memory order.
  bool is_contiguous() const noexcept { return contiguous_; }
  std::size_t size() const noexcept { return flat_.size; }
  /// Maximum element count whose data size and span in memory can be represented.
  MPI_Count max_count() const noexcept { return max_count_; }
  /// Returns 4 or 8 for an integer of that size, which the CPU's atomic instructions support; else 0, also
  /// for MPI_WCHAR, which MPI_Compare_and_swap refuses.
  unsigned atomic_word() const noexcept { return atomic_word_; }
  /// Whether the datatype consists of one predefined type on which the operation is defined.
  bool defines(engine::ReduceOp operation) const noexcept {
    return (operations_ >> static_cast<unsigned>(operation) & 1) != 0;
  }
  /// Returns the size in bytes of `count` contiguous elements; 0 if `count` is 0 or too large, or the
  /// datatype is not contiguous.
  std::size_t contiguous_bytes(MPI_Count count) const noexcept {
    return static_cast<std::uint64_t>(count) <= contiguous_count_
               ? flat_.size * static_cast<std::size_t>(count)
               : 0;
  }

  /// Returns the layout of `count` elements. `dimensions` provides the storage of its dimensions and must
  /// outlive it.
  engine::Layout layout(std::size_t count,
                        engine::Dimension (&dimensions)[engine::max_dimensions]) const noexcept;

  void open(MPI_Datatype type, FlatType flat) noexcept;
  static void forget_known() noexcept { cache_.clear(); }
  void retire() noexcept { type_.withdraw(); }

 private:
  static Datatype const* find_slow_path(MPI_Datatype type);

  static HandleCache<MPI_Datatype, Datatype> cache_;

  PublishedHandle<MPI_Datatype> type_;
  FlatType flat_;
  MPI_Count max_count_ = 0;
  bool contiguous_ = false;
  unsigned atomic_word_ = 0;
  std::uint32_t operations_ = 0;        ///< one bit for each operation that is defined on the type
  std::uint64_t contiguous_count_ = 0;  ///< equals `max_count_` for a contiguous type, else 0
};

}  // namespace mpixrma

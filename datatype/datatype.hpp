/// MPI datatypes as layouts: flattened once, kept with the datatype.
///
/// Below everything that takes datatypes from users. Whoever is linked with it calls begin_datatypes() once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include "datatype/handle_cache.hpp"
#include "engine/op/kernel/types.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma {

/// What one element of a datatype is made of.
struct FlatType {
  engine::OwnedLayout layout;  ///< displacements included
  std::ptrdiff_t extent = 0;   ///< bytes from one element to the next
  std::size_t size = 0;        ///< data bytes
  /// The predefined type that it is built of; meaningless when `mixed`.
  engine::ElementType element = engine::ElementType::none;
  MPI_Datatype base = MPI_DATATYPE_NULL;
  bool mixed = false;
};

/// A datatype has a constructor that is not known here.
struct UnknownDatatype : std::exception {
  char const* what() const noexcept override { return "a datatype has a constructor that is not known"; }
};

/// Between MPI's start and its end: Datatype::find works from here on. `is_committed` tells whether a valid
/// handle, of which it gets the number, may be used in communication. Not thread-safe; may be called again.
void begin_datatypes(int (*is_committed)(std::uintptr_t type));
/// Until the next begin_datatypes() nothing is found any more. Async-signal-safe.
void end_datatypes() noexcept;

/// Decodes `type`, which must be a valid handle. Throws when there is not enough memory, or UnknownDatatype.
/// The names follow MPI_Type_get_envelope.
FlatType flatten(MPI_Datatype type);

class Datatype {
 public:
  /// nullptr when `type` is MPI_DATATYPE_NULL or not committed, or before begin_datatypes(). Predefined types
  /// are always committed. Throws as flatten().
  static Datatype const* find(MPI_Datatype type) {
    Datatype const* const known = find_known(type);
    return known != nullptr ? known : find_slowly(type);
  }
  /// find() where it takes a few instructions only; else nullptr.
  static Datatype const* find_known(MPI_Datatype type) noexcept { return cache_.find(type); }

  MPI_Datatype handle() const noexcept { return type_.get(); }
  FlatType const& flat() const noexcept { return flat_; }
  /// Elements follow each other without gaps, in memory order.
  bool is_contiguous() const noexcept { return contiguous_; }
  std::size_t size() const noexcept { return flat_.size; }
  /// More elements than that have more data bytes, or reach over more memory, than can be counted.
  MPI_Count max_count() const noexcept { return max_count_; }
  /// 4 or 8 for an integer of that size, on which the CPU's atomics work; else 0.
  unsigned atomic_word() const noexcept { return atomic_word_; }
  /// Built of one predefined type on which the operation is defined.
  bool defines(engine::Operation operation) const noexcept {
    return (operations_ >> static_cast<unsigned>(operation) & 1) != 0;
  }
  /// Bytes of `count` elements that lie contiguously; 0: there are none, they do not, or are too many.
  std::size_t contiguous_bytes(MPI_Count count) const noexcept {
    return static_cast<std::uint64_t>(count) <= contiguous_count_
               ? flat_.size * static_cast<std::size_t>(count)
               : 0;
  }

  /// The layout of `count` elements. `dimensions` is room for its dimensions and must outlive it.
  engine::Layout layout(std::size_t count,
                        engine::Dimension (&dimensions)[engine::max_dimensions]) const noexcept;

  void open(MPI_Datatype type, FlatType flat) noexcept;
  static void forget_known() noexcept { cache_.clear(); }
  void retire() noexcept { type_.withdraw(); }

 private:
  static Datatype const* find_slowly(MPI_Datatype type);

  static HandleCache<MPI_Datatype, Datatype> cache_;

  PublishedHandle<MPI_Datatype> type_;
  FlatType flat_;
  MPI_Count max_count_ = 0;
  bool contiguous_ = false;
  unsigned atomic_word_ = 0;
  std::uint32_t operations_ = 0;        ///< bits of those that are defined on it
  std::uint64_t contiguous_count_ = 0;  ///< as `max_count_`; 0 unless contiguous
};

}  // namespace mpixrma

/// Updates: the choice of the kernel, and its application to the layouts.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/row_kernels.hpp"
#include "engine/op/kernel/update_modes.hpp"
#include "engine/op/kernel/walk.hpp"
#include "engine/op/kernel/whole_elements.hpp"

namespace mpixrma::engine {

namespace {

std::size_t elements_in(ElementType type, std::size_t bytes) noexcept {
  return bytes / std::max<std::size_t>(element_size(type), 1);
}

/// The kernels of one update, applied to rows.
class RowUpdate {
 public:
  RowUpdate(Reduction const& reduction, Fetch fetch, AtomicRegions const& places) noexcept
      : type_(reduction.type), scale_(reduction.scale), places_(places) {
    bool const scaled = scale_ != nullptr;
    if (fetch == Fetch::no) combine_ = active_kernels->combine.get(type_, reduction.operation, scaled);
    if (combine_ == nullptr) update_ = active_kernels->update.get(type_, reduction.operation, scaled);
    if (reduction.element_atomic && has_cpu_atomics(type_))
      atomic_ = atomic_kernels.get(type_, reduction.operation, scaled);
  }

  /// Returns the kernel if a single two-sided one suffices; else null.
  CombineRows combine_only() const noexcept { return atomic_ == nullptr ? combine_ : nullptr; }

  void operator()(Rows const& rows) const noexcept { atomic_ == nullptr ? run(rows) : update_each(rows); }

 private:
  void run(Rows const& rows) const noexcept {
    if (combine_ == nullptr) return update_(rows);
    combine_(rows.target, rows.target_stride, rows.origin, rows.origin_stride, rows.count, rows.bytes,
             rows.scale);
  }

  /// Updates rows with elements for the CPU's atomics one by one, and the rows between them together.
  void update_each(Rows rows) const noexcept {
    while (rows.count != 0) {
      if (std::size_t const plain = plain_rows(rows); plain != 0) {
        run(first_of(rows, plain));
        rows = advanced(rows, plain);
      } else {
        update_row(rows);
        rows = advanced(rows, 1);
      }
    }
  }

  /// Returns the number of leading rows without an element for the CPU's atomics.
  std::size_t plain_rows(Rows const& rows) const noexcept {
    std::size_t plain = 0;
    for (std::byte const* row = rows.target; plain < rows.count && is_plain(row, rows.bytes); ++plain)
      row += rows.target_stride;
    return plain;
  }
  /// Whether the row has no element for the CPU's atomics.
  bool is_plain(std::byte const* row, std::size_t bytes) const noexcept {
    if (!is_cpu_atomic(type_, reinterpret_cast<std::uintptr_t>(row))) return true;
    RemoteAddress const begin = address_of(row);
    return places_.modes != nullptr && !places_.modes->any_by_element(begin, begin + bytes);
  }

  /// Updates the first row, split where the mode of the memory changes.
  void update_row(Rows const& rows) const noexcept {
    if (places_.modes == nullptr) return update_atomically(rows);
    Rows piece = first_of(rows, 1);
    for (std::size_t rest = rows.bytes; rest != 0; rest -= piece.bytes) {
      RemoteAddress const begin = address_of(piece.target);
      piece.bytes = places_.modes->end_of_mode(begin, begin + rest) - begin;
      places_.modes->is_by_element(begin) ? update_atomically(piece) : run(piece);
      auto const bytes = static_cast<std::ptrdiff_t>(piece.bytes);
      piece = moved(piece, bytes, bytes, bytes);
    }
  }
  void update_atomically(Rows const& row) const noexcept {
    atomic_(row.target, row.origin, row.operand2, row.result, elements_in(type_, row.bytes), scale_);
  }

  RemoteAddress address_of(std::byte const* target) const noexcept {
    return reinterpret_cast<std::uintptr_t>(target) + places_.shift;
  }

  static Rows first_of(Rows rows, std::size_t count) noexcept {
    rows.count = count;
    return rows;
  }
  static Rows advanced(Rows const& rows, std::size_t count) noexcept {
    auto const by = static_cast<std::ptrdiff_t>(count);
    return first_of(moved(rows, by * rows.target_stride, by * rows.origin_stride, by * rows.result_stride),
                    rows.count - count);
  }
  static Rows moved(Rows rows, std::ptrdiff_t target, std::ptrdiff_t origin, std::ptrdiff_t result) noexcept {
    rows.target += target;
    rows.origin += origin;
    if (rows.operand2 != nullptr) rows.operand2 += origin;
    if (rows.result != nullptr) rows.result += result;
    return rows;
  }

  ElementType type_;
  void const* scale_;
  AtomicRegions places_;
  CombineRows combine_ = nullptr;
  UpdateRows update_ = nullptr;
  UpdateAtomically atomic_ = nullptr;
};

/// Chooses the kernel and passes it to two(), which walks target and origin, or, if there is a result, to
/// three(), which walks the result too. Both call the kernel with the pointers, strides, count and bytes of
/// rows. The operands have the same layout.
template <typename Two, typename Three>
void visit(Reduction const& reduction, PackedSides const& sides, AtomicRegions const& places, Two two,
           Three three) noexcept {
  RowUpdate const kernel(reduction, Fetch{sides.result != nullptr}, places);
  void const* const scale = reduction.scale;
  if (CombineRows const combine = kernel.combine_only()) {
    two([combine, scale](Pointers<2> const& at, Strides<2> const& stride, std::size_t rows,
                         std::size_t bytes) {
      combine(at[0], stride[0], at[1], stride[1], rows, bytes, scale);
    });
    return;
  }
  bool const has_operand2 = operand_count(reduction.operation) == 2;
  auto const rows_of = [&](auto const& at, auto const& stride, std::size_t rows, std::size_t bytes) {
    std::byte const* const operand2 = has_operand2 ? sides.operand2 + (at[1] - sides.origin) : nullptr;
    return Rows{at[0], stride[0], at[1], operand2, stride[1], nullptr, 0, rows, bytes, scale};
  };
  if (sides.result == nullptr) {
    two([&](Pointers<2> const& at, Strides<2> const& stride, std::size_t rows, std::size_t bytes) {
      kernel(rows_of(at, stride, rows, bytes));
    });
    return;
  }
  three([&](Pointers<3> const& at, Strides<3> const& stride, std::size_t rows, std::size_t bytes) {
    Rows described = rows_of(at, stride, rows, bytes);
    described.result = at[2];
    described.result_stride = stride[2];
    kernel(described);
  });
}

/// The runs of one element with an inner gap, and its value.
class SplitElement {
 public:
  SplitElement(std::byte* base, LayoutCursor& cursor, std::size_t bytes) noexcept : base_(base) {
    while (bytes != 0) {
      runs_[count_] = cursor.next(bytes);
      bytes -= runs_[count_++].length;
    }
  }
  std::byte* value() noexcept { return value_; }

  void load() noexcept {
    each([](std::byte* memory, std::byte* value, std::size_t bytes) { copy_bytes(value, memory, bytes); });
  }
  void store() noexcept {
    each([](std::byte* memory, std::byte* value, std::size_t bytes) { copy_bytes(memory, value, bytes); });
  }

 private:
  static constexpr std::size_t max_bytes = 8;

  template <typename Move>
  void each(Move move) noexcept {
    std::byte* value = value_;
    for (std::size_t i = 0; i < count_; value += runs_[i++].length)
      move(base_ + runs_[i].offset, value, runs_[i].length);
  }

  std::byte* base_;
  std::size_t count_ = 0;
  LayoutRun runs_[max_bytes];
  std::byte value_[max_bytes] = {};
};

/// Updates elements with inner gaps one by one: the `bytes` bytes from `position` on of the target's data,
/// against all of the other sides' data.
void update_split(Reduction const& reduction, UpdateSides const& sides, std::size_t position,
                  std::size_t bytes) noexcept {
  RowUpdate const kernel(reduction, Fetch::yes, {});
  std::size_t const element = element_size(reduction.type);
  LayoutCursor targets(sides.target_layout);
  LayoutCursor operands(sides.origin_layout);
  LayoutCursor results(sides.result_layout);
  targets.seek(position);
  for (; bytes >= element; bytes -= element) {
    SplitElement target(sides.target, targets, element);
    SplitElement operand(const_cast<std::byte*>(sides.origin), operands,
                         operand_count(reduction.operation) > 0 ? element : 0);
    SplitElement result(sides.result, results, sides.result != nullptr ? element : 0);
    target.load();
    operand.load();
    kernel({target.value(), 0, operand.value(), nullptr, 0, result.value(), 0, 1, element, nullptr});
    if (reduction.operation != ReduceOp::no_op) target.store();
    result.store();
  }
}

/// Whether the update has no effect.
bool is_idle(Reduction const& reduction, void const* result) noexcept {
  return reduction.operation == ReduceOp::no_op && result == nullptr;
}

}  // namespace

void update_contiguous(Reduction const& reduction, std::byte* target, PackedSides const& sides,
                       AtomicRegions const& places) noexcept {
  RowUpdate const kernel(reduction, Fetch{sides.result != nullptr}, places);
  kernel({target, 0, sides.origin, sides.operand2, 0, sides.result, 0, 1, sides.bytes, reduction.scale});
}

void update(Reduction const& reduction, UpdateSides const& sides, AtomicRegions const& places) noexcept {
  if (is_idle(reduction, sides.result)) return;
  // The target and its layout stand for an absent operand, which is not read.
  bool const reads_origin = operand_count(reduction.operation) > 0;
  Layout const& origin_layout = reads_origin ? sides.origin_layout : sides.target_layout;
  PackedSides const pointers{reads_origin ? sides.origin : sides.target, sides.operand2, sides.result,
                             sides.target_layout.block};
  bool const packed_result = sides.result == nullptr || sides.result_layout.is_contiguous();
  if (sides.target_layout.is_contiguous() && origin_layout.is_contiguous() && packed_result)
    return update_contiguous(reduction, sides.target, pointers, places);
  if (has_inner_gap(reduction.type)) return update_split(reduction, sides, 0, sides.target_layout.size());
  Side const target{sides.target, sides.target_layout};
  Side const origin{const_cast<std::byte*>(pointers.origin), origin_layout};
  visit(
      reduction, pointers, places, [&](auto rows) { walk(rows, target, origin); },
      [&](auto rows) {
        walk(rows, target, origin, Side{sides.result, sides.result_layout});
      });
}

void update_part(Reduction const& reduction, std::byte* base, Layout const& layout, std::size_t position,
                 PackedSides const& packed, AtomicRegions const& places) noexcept {
  if (packed.bytes == 0 || is_idle(reduction, packed.result)) return;
  PackedSides sides = packed;
  if (operand_count(reduction.operation) == 0) sides.origin = base;  // not read
  if (layout.is_contiguous()) return update_contiguous(reduction, base + position, sides, places);
  if (has_inner_gap(reduction.type)) {
    Layout const all = Layout::contiguous(packed.bytes);
    UpdateSides const whole{base, layout, packed.origin, nullptr, all, packed.result, all};
    return update_split(reduction, whole, position, packed.bytes);
  }
  Side const target{base, layout};
  auto* const origin = const_cast<std::byte*>(sides.origin);
  visit(
      reduction, sides, places, [&](auto rows) { walk_part(rows, target, position, sides.bytes, origin); },
      [&](auto rows) { walk_part(rows, target, position, sides.bytes, origin, sides.result); });
}

void accumulate_contiguous(Reduction const& reduction, std::byte* to, std::byte const* from,
                           std::size_t bytes) noexcept {
  bool const scaled = reduction.scale != nullptr;
  if (reduction.element_atomic && is_cpu_atomic(reduction.type, reinterpret_cast<std::uintptr_t>(to))) {
    auto const kernel = atomic_kernels.get(reduction.type, reduction.operation, scaled);
    return kernel(to, from, nullptr, nullptr, elements_in(reduction.type, bytes), reduction.scale);
  }
  auto const kernel = active_kernels->combine.get(reduction.type, reduction.operation, scaled);
  kernel(to, 0, from, 0, 1, bytes, reduction.scale);
}

namespace {

/// Two doubles in one register, which every processor of the supported architectures has.
using Pair = double __attribute__((vector_size(16)));

/// Adds one number, or a pair of numbers, at any address.
template <typename Value, bool is_scaled>
void add_value(std::byte* to, std::byte const* from, Value scale) noexcept {
  Value sum;
  Value addend;
  std::memcpy(&sum, to, sizeof sum);
  std::memcpy(&addend, from, sizeof addend);
  sum += is_scaled ? scale * addend : addend;
  std::memcpy(to, &sum, sizeof sum);
}

/// Adds segments of a few doubles, as in sparse matrices: calling a kernel would take longer than the sums.
template <bool is_scaled, std::size_t fixed_bytes = 0>
void add_doubles(void* const* to, std::ptrdiff_t shift, void* const* from, std::size_t count,
                 std::size_t bytes, double scale) noexcept {
  if (fixed_bytes != 0) bytes = fixed_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* target = static_cast<std::byte*>(to[i]) + shift;
    auto const* origin = static_cast<std::byte const*>(from[i]);
    std::size_t done = 0;
    for (; bytes - done >= sizeof(Pair); done += sizeof(Pair))
      add_value<Pair, is_scaled>(target + done, origin + done, Pair{scale, scale});
    if (done < bytes) add_value<double, is_scaled>(target + done, origin + done, scale);
  }
}

template <bool is_scaled>
void add_small_segments(void* const* to, std::ptrdiff_t shift, void* const* from, std::size_t count,
                        std::size_t bytes, double scale) noexcept {
  bytes == 16 ? add_doubles<is_scaled, 16>(to, shift, from, count, bytes, scale)
              : add_doubles<is_scaled>(to, shift, from, count, bytes, scale);
}

}  // namespace

void accumulate_list(Reduction const& reduction, void* const* to, std::ptrdiff_t shift, void* const* from,
                     std::size_t count, std::size_t bytes) noexcept {
  constexpr std::size_t few_bytes = 64;
  bool const is_scaled = reduction.scale != nullptr;
  if (reduction.type == ElementType::float64 && reduction.operation == ReduceOp::sum && bytes <= few_bytes) {
    double scale = 1;
    if (is_scaled) std::memcpy(&scale, reduction.scale, sizeof scale);
    return is_scaled ? add_small_segments<true>(to, shift, from, count, bytes, scale)
                     : add_small_segments<false>(to, shift, from, count, bytes, scale);
  }
  auto const kernel = active_kernels->combine.get(reduction.type, reduction.operation, is_scaled);
  for (std::size_t i = 0; i < count; ++i)
    kernel(static_cast<std::byte*>(to[i]) + shift, 0, static_cast<std::byte const*>(from[i]), 0, 1, bytes,
           reduction.scale);
}

}  // namespace mpixrma::engine

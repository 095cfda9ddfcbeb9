/** The layout of the bytes of one side of a transfer: the description of engine/op/layout/layout.hpp in
 * plain C. */
#ifndef MPIX_ENGINE_LAYOUT_H
#define MPIX_ENGINE_LAYOUT_H

#include <stddef.h>

/** `length` contiguous bytes at `offset` from the base address. */
struct mpix_engine_segment {
  ptrdiff_t offset;
  size_t length;
};

/** `count` repetitions whose starts are `stride` bytes apart (strides may be negative or zero). */
struct mpix_engine_dimension {
  size_t count;
  ptrdiff_t stride;
};

/** The segments, in list order, are repeated along the dimensions. {.block = n}: n contiguous bytes. */
struct mpix_engine_layout {
  size_t block;                             /**< bytes of one repetition (sum of the segments, if any) */
  const struct mpix_engine_dimension* dims; /**< innermost first */
  size_t dim_count;                         /**< at most 16; 0: one repetition */
  const struct mpix_engine_segment* segments;
  size_t segment_count; /**< 0: the one segment {0, block} */
};

#endif

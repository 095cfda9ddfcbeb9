/// Origin: operations on memory that all origins use at once, and on temporary memory. No check depends on
/// the order of operations of different origins.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/stress/origin.hpp"
#include "tests/support/communicatable.hpp"

namespace mpixrma::stress {

/// Makes one update, by an atomic accumulate or by a read-modify-write: these are atomic with each other.
void Origin::update_shared(bool by_rmw, MPI_Datatype type, Combine combine, Modify modify, std::byte* buffer,
                           std::size_t n, int rank, int kind, std::size_t at) {
  MPIX_RMA_Attributes chosen = attributes(kind, rank);
  std::byte* const target = places_.at(kind, rank, at);
  int const count = static_cast<int>(n);
  if (by_rmw) {
    std::byte* const result = chance(30) ? arena_.take(n * sizeof(std::uint64_t)) : nullptr;
    submit(Modification{modify, buffer, nullptr, result, count, type, rank, target}, chosen);
    return;
  }
  chosen.set |= MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ACCUMULATE_OP;
  chosen.accumulate_op = handle_of(combine);
  Shape shape;
  shape.type = type;
  submit(Transfer{MPIX_RMA_ACCUMULATE, buffer, {&shape, count}, rank, target, {&shape, count}}, chosen);
}

/// Adds to sums to which every origin contributes.
void Origin::add(int rank, int kind) {
  Model& model = model_of(kind, rank);
  bool const real = chance(50);
  bool const by_rmw = chance(50);
  std::size_t const n = 1 + below(Region::sums - 1);
  std::size_t const start = below(Region::sums - n);
  std::byte* const buffer = arena_.take(8 * n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const value = static_cast<std::int64_t>(below(1000));
    auto const as_real = static_cast<double>(value);
    std::memcpy(buffer + 8 * i, real ? static_cast<void const*>(&as_real) : &value, 8);
    model.added[start + i] += real ? 0 : value;
    model.reals[start + i] += real ? as_real : 0;
  }
  update_shared(by_rmw, real ? MPI_DOUBLE : MPI_INT64_T, Combine::sum, Modify::sum, buffer, n, rank, kind,
                (real ? region_.reals_at() : region_.sums_at()) + 8 * start);
}

/// Flips bits that all origins flip, in words of all widths on the same bytes.
void Origin::flip(int rank, int kind) {
  MPI_Datatype const types[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
  Model& model = model_of(kind, rank);
  std::size_t const which = below(4);
  std::size_t const width = std::size_t{1} << which;
  std::size_t const words = Region::mixed_bytes / width;
  std::size_t const n = 1 + below(std::min<std::size_t>(words, 40) - 1);
  std::size_t const start = below(words - n);
  std::byte* const buffer = arena_.take(n * width);
  for (std::size_t i = 0; i < n * width; ++i) {
    auto const value = static_cast<std::uint8_t>(random_());
    buffer[i] = static_cast<std::byte>(value);
    model.flipped[start * width + i] ^= value;
  }
  update_shared(chance(50), types[which], Combine::bxor, Modify::bxor, buffer, n, rank, kind,
                region_.mixed_at() + start * width);
}

/// Updates or reads a whole block whose elements are always equal.
void Origin::touch_uniform(int rank, int kind) {
  auto* const buffer = reinterpret_cast<int*>(arena_.take(Region::uniform_ints * sizeof(int)));
  std::fill_n(buffer, Region::uniform_ints, static_cast<int>(below(1000)));
  MPIX_RMA_Attributes chosen = attributes(kind, rank);
  // Always sets the operation: a reused request object may have the operation of an earlier accumulate.
  chosen.set |= MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ACCUMULATE_OP;
  chosen.accumulate_op = chance(50) ? MPI_SUM : MPI_BXOR;
  Shape shape;
  shape.type = MPI_INT;
  Use const all{&shape, Region::uniform_ints};
  auto const op = static_cast<MPIX_RMA_Op>(1 + below(3));
  submit(Transfer{op, reinterpret_cast<std::byte*>(buffer), all, rank,
                  places_.at(kind, rank, region_.uniform_at()), all},
         chosen);
  if (op == MPIX_RMA_GET) uniforms_.push_back(buffer);
}

/// Fetches from counters that return every value once: the values that this origin gets only grow.
void Origin::count(int rank, int kind) {
  Model& model = model_of(kind, rank);
  std::size_t const which = below(Region::counters);
  auto* const before = reinterpret_cast<std::int64_t*>(arena_.take(sizeof(std::int64_t)));
  std::int64_t const one = 1;
  auto* const operand = arena_.take(sizeof one);
  std::memcpy(operand, &one, sizeof one);
  *before = -1;
  MPIX_RMA_Attributes chosen{};
  chosen.set = MPIX_RMA_ATTR_BLOCKING;
  bool const issued = submit(Modification{chance(50) ? Modify::sum : Modify::increment, operand, nullptr,
                                          reinterpret_cast<std::byte*>(before), 1, MPI_INT64_T, rank,
                                          places_.at(kind, rank, region_.counters_at() + 8 * which)},
                             chosen);
  if (!issued) return;
  if (*before <= model.last_fetched[which]) fail("a counter went back", kind);
  model.last_fetched[which] = *before;
  ++model.counted[which];
}

/// Allocates or registers memory of this process, puts to it, and frees or deregisters it.
void Origin::use_short_lived_memory() {
  std::size_t const bytes = 64 + below(chance(90) ? 20000 : 400000);
  bool const allocated = chance(50);
  void* memory = nullptr;
  if (allocated) {
    if (!require(mpixrma::test::rma_allocate_local(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory),
                 "allocate"))
      return;
  } else {
    memory = std::malloc(bytes);
    if (!require(mpixrma::test::rma_register(memory, static_cast<MPI_Aint>(bytes)), "register")) return;
  }
  std::memset(memory, 0, bytes);
  std::size_t const n = std::min<std::size_t>(bytes, 10000);
  std::byte* const values = arena_.take(n);
  fill(nullptr, 0, values, n, false);
  Shape shape;
  shape.type = MPI_BYTE;
  Use const all{&shape, static_cast<int>(n)};
  MPIX_RMA_Attributes chosen{};
  if (chance(50)) chosen.set |= MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  submit(Transfer{MPIX_RMA_PUT, values, all, job_.rank, static_cast<std::byte*>(memory), all}, chosen);
  require(MPIX_RMA_Complete(comm(), job_.rank), "complete");
  if (std::memcmp(memory, values, n) != 0) fail("temporary memory does not hold what was put", allocated);
  if (allocated) {
    require(mpixrma::test::rma_free_local(memory), "free");
  } else {
    require(mpixrma::test::rma_deregister(memory, static_cast<MPI_Aint>(bytes)), "deregister");
    std::free(memory);
  }
}

}  // namespace mpixrma::stress

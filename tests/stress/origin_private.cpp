/// Origin: operations in the part of the memory that no other origin uses, with any datatypes.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/stress/origin.hpp"

namespace mpixrma::stress {

namespace {

constexpr std::size_t guard = 32;  // bytes around an origin buffer that stay as they are
constexpr auto untouched = std::byte{0x5a};
constexpr std::size_t largest = 40000;  // data bytes of one operation

std::vector<std::ptrdiff_t> places_of(Use const& use) {
  std::vector<std::ptrdiff_t> places;
  use.for_each([&](std::ptrdiff_t offset, std::size_t) { places.push_back(offset); });
  return places;
}

/// Whether the elements follow each other in memory without gaps.
bool is_dense(Shape const& shape) {
  std::ptrdiff_t next = 0;
  for (Piece const& piece : shape.pieces) {
    if (piece.offset != next) return false;
    next += static_cast<std::ptrdiff_t>(piece.bytes);
  }
  return next != 0 && shape.extent == next;
}

}  // namespace

/// Chooses counts for which both shapes have the same number of bytes.
bool Origin::fit(Shape const& here, Shape const& there, int zone, Use* origin, Use* target) {
  if (here.bytes == 0 || there.bytes == 0 || chance(2)) {
    auto const empty = [&](Shape const& shape) {
      return Use{&shape, shape.bytes == 0 ? static_cast<int>(below(3)) : 0};
    };
    *origin = empty(here);
    *target = empty(there);
    return true;
  }
  std::size_t const common = std::gcd(here.bytes, there.bytes);
  std::size_t const of_here = there.bytes / common;
  std::size_t const of_there = here.bytes / common;
  std::size_t const step = here.bytes * of_here;
  // Mostly small operations.
  std::size_t const wanted = chance(70) ? 100 : chance(85) ? 2000 : largest;
  std::size_t const most =
      std::min({std::max<std::size_t>(wanted / step, 1), static_cast<std::size_t>(here.most) / of_here,
                static_cast<std::size_t>(there.most) / of_there});
  if (most == 0 || step > largest) return false;
  std::size_t const times = 1 + below(most);
  *origin = {&here, static_cast<int>(times * of_here)};
  *target = {&there, static_cast<int>(times * of_there)};
  return origin->span() <= largest && target->span() <= Region::bytes_of_zone(zone) / 2;
}

/// Chooses an offset, a multiple of `grain`, such that [low, high) around it lies in the zone. `*at` counts
/// from the beginning of this origin's part. Returns false if the range does not fit, or, for
/// Discipline::independent, no unused memory is left in the zone (Region).
bool Origin::place(int kind, int rank, int zone, std::size_t grain, std::ptrdiff_t low, std::ptrdiff_t high,
                   std::size_t* at) {
  auto const up = [&](std::size_t value) { return (value + grain - 1) / grain * grain; };
  auto const below_base = static_cast<std::size_t>(std::max<std::ptrdiff_t>(-low, 0));
  auto const above_base = static_cast<std::size_t>(std::max<std::ptrdiff_t>(high, 0));
  std::size_t const first = up(below_base);
  std::size_t const bytes = Region::bytes_of_zone(zone);
  if (first + above_base > bytes) return false;
  std::size_t const room = bytes - first - above_base;
  if (discipline_ == Discipline::independent) {
    std::size_t& next = next_place_[static_cast<std::size_t>((kind * job_.size + rank) * zones + zone)];
    std::size_t const chosen = up(next + below_base);
    if (chosen + above_base > bytes) return false;
    next = chosen + above_base;
    *at = Region::zone_at(zone) + chosen;
    return true;
  }
  // Often close to the beginning, so that operations conflict.
  std::size_t const range = chance(60) ? std::min<std::size_t>(room, 300) : room;
  *at = Region::zone_at(zone) + first + below(range / grain + 1) * grain;
  return true;
}

/// Returns origin memory with guards around it; `*base` is the address to pass as the buffer.
std::byte* Origin::take(Use const& use, std::byte** base) {
  std::size_t const bytes = use.span() + 2 * guard;
  std::byte* const begin = arena_.take(bytes, chance(50) ? 0 : below(8));
  std::memset(begin, static_cast<int>(untouched), bytes);
  *base = begin + guard - use.low();
  return begin;
}

void Origin::fill(Base const* base, int zone, std::byte* at, std::size_t bytes, bool factor) {
  if (zone != 0 && base != nullptr) return base->arithmetic->fill(random_, factor, at);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t const word = random_();
    std::memcpy(at + i, &word, std::min(sizeof word, bytes - i));
  }
}

/// Expects the present content; the caller changes the expected bytes where data are to arrive.
void Origin::expect(std::byte const* begin, std::size_t bytes, char const* what) {
  expectations_.push_back(
      {begin, std::vector<std::byte>(begin, begin + bytes), std::vector<std::uint8_t>(bytes, 1), what});
}

void Origin::put_or_get(int rank, int kind) {
  int const zone = chance(60) ? 0 : static_cast<int>(below(zones));
  auto const& bases = job_.shapes.bases_of(zone);
  // Sometimes elements of several types; often contiguous on both sides, as hardware paths require.
  bool const plain = chance(35);
  Base const* const base = plain || zone != 0 ? bases[below(bases.size())] : nullptr;
  auto const any = [&]() -> Shape const& {
    if (plain) return job_.shapes.plain(*base);
    return base != nullptr ? job_.shapes.any(random_, *base) : job_.shapes.any(random_, zone);
  };
  Shape const& from = any();
  Shape const& to = any();
  Transfer transfer{chance(50) ? MPIX_RMA_PUT : MPIX_RMA_GET, nullptr, {}, rank, nullptr, {}};
  if (!fit(from, to, zone, &transfer.here, &transfer.there)) return;
  std::size_t at = 0;
  std::size_t const grain = zone != 0 ? base->size : chance(50) ? 8 : 1;
  if (!place(kind, rank, zone, grain, transfer.there.low(), transfer.there.high(), &at)) return;
  std::byte* const begin = take(transfer.here, &transfer.origin);
  transfer.target = places_.at(kind, rank, own_part_ + at);
  if (transfer.op == MPIX_RMA_PUT) {
    transfer.here.for_each([&](std::ptrdiff_t offset, std::size_t bytes) {
      fill(base, zone, transfer.origin + offset, bytes, false);
    });
    // Data that are put must not change.
    expect(begin, transfer.here.span() + 2 * guard, "the origin of a PUT has changed");
  } else {
    expect(begin, transfer.here.span() + 2 * guard, "a value that was read is wrong");
  }
  move_in_model(transfer, model_of(kind, rank), at);
  MPIX_RMA_Attributes chosen = attributes(kind, rank);
  submit(transfer, chosen);
}

/// Moves the data in the model: byte k of one side corresponds to byte k of the other.
void Origin::move_in_model(Transfer const& transfer, Model& model, std::size_t at) {
  std::vector<std::size_t> target;
  target.reserve(transfer.there.bytes());
  transfer.there.for_each_part([&](std::ptrdiff_t offset, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) target.push_back(at + static_cast<std::size_t>(offset) + i);
  });
  Expectation& expected = expectations_.back();
  std::size_t k = 0;
  transfer.here.for_each_part([&](std::ptrdiff_t offset, std::size_t bytes) {
    std::byte* const from = transfer.origin + offset;
    auto const place = static_cast<std::size_t>(from - expected.buffer);
    for (std::size_t i = 0; i < bytes; ++i, ++k) {
      if (transfer.op == MPIX_RMA_PUT) {
        model.mine[target[k]] = from[i];
        model.known[target[k]] = 1;
      } else {
        expected.values[place + i] = model.mine[target[k]];
        expected.known[place + i] = model.known[target[k]];
      }
    }
  });
}

Base const* Origin::base_with(int zone, Combine op) {
  auto const& bases = job_.shapes.bases_of(zone);
  for (int attempts = 0; attempts < 20; ++attempts) {
    Base const* const base = bases[below(bases.size())];
    if (base->has(op)) return base;
  }
  return nullptr;
}

void Origin::accumulate(int rank, int kind) {
  int const zone = chance(40) ? 0 : static_cast<int>(below(zones));
  auto const op = static_cast<Combine>(below(combines));
  Base const* const base = base_with(zone, op);
  if (base == nullptr) return;
  Transfer transfer{MPIX_RMA_ACCUMULATE, nullptr, {}, rank, nullptr, {}};
  if (!fit(job_.shapes.any(random_, *base), job_.shapes.any(random_, *base), zone, &transfer.here,
           &transfer.there))
    return;
  std::size_t at = 0;
  std::size_t const grain = zone == 0 && chance(20) ? 1 : base->size;
  if (!place(kind, rank, zone, grain, transfer.there.low(), transfer.there.high(), &at)) return;
  std::byte* const begin = take(transfer.here, &transfer.origin);
  transfer.target = places_.at(kind, rank, own_part_ + at);
  MPIX_RMA_Attributes chosen = attributes(kind, rank);
  chosen.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
  chosen.accumulate_op = handle_of(op);
  std::byte* scale = nullptr;
  if (op == Combine::sum && chance(40)) {
    scale = arena_.take(base->size);
    fill(base, zone, scale, base->size, true);
    chosen.set |= MPIX_RMA_ATTR_ACCUMULATE_SCALE;
    chosen.accumulate_scale = scale;
  }
  Model& model = model_of(kind, rank);
  std::vector<std::ptrdiff_t> const targets = places_of(transfer.there);
  std::size_t i = 0;
  transfer.here.for_each([&](std::ptrdiff_t offset, std::size_t bytes) {
    fill(base, zone, transfer.origin + offset, bytes, op == Combine::prod);
    std::size_t const target = at + static_cast<std::size_t>(targets[i++]);
    base->arithmetic->combine(op, model.mine.data() + target, transfer.origin + offset, scale);
    std::memcpy(model.known.data() + target, base->arithmetic->significant, base->size);
  });
  expect(begin, transfer.here.span() + 2 * guard, "the origin of an ACCUMULATE has changed");
  submit(transfer, chosen);
}

void Origin::modify(int rank, int kind) {
  int const zone = chance(40) ? 0 : static_cast<int>(below(zones));
  auto const& bases = job_.shapes.bases_of(zone);
  Base const& base = *bases[below(bases.size())];
  auto const op = static_cast<Modify>(below(modifies));
  if (!base.has(op)) return;
  Shape const& other = job_.shapes.any(random_, base);
  Shape const& shape = is_dense(other) ? other : job_.shapes.plain(base);
  std::size_t const wanted = chance(70) ? 1 : chance(90) ? 1 + below(40) : 1 + below(400);
  auto const count =
      static_cast<int>(std::max<std::size_t>(wanted * base.size / static_cast<std::size_t>(shape.extent), 1));
  std::size_t const bytes = static_cast<std::size_t>(shape.extent * count);
  std::size_t at = 0;
  if (!place(kind, rank, zone, base.size, 0, static_cast<std::ptrdiff_t>(bytes), &at)) return;
  std::byte* const operand = arena_.take(bytes);
  std::byte* const operand2 = arena_.take(bytes);
  std::byte* const result = chance(80) ? arena_.take(bytes) : nullptr;
  if (result != nullptr) {
    std::memset(result, static_cast<int>(untouched), bytes);
    expect(result, bytes, "a read-modify-write has fetched a wrong value");
  }
  Model& model = model_of(kind, rank);
  std::uint8_t const* const significant = base.arithmetic->significant;
  for (std::size_t i = 0; i < bytes; i += base.size) {
    std::byte* const target = model.mine.data() + at + i;
    std::uint8_t* const known = model.known.data() + at + i;
    fill(&base, zone, operand + i, base.size, op == Modify::prod);
    fill(&base, zone, operand2 + i, base.size, false);
    if (op > Modify::mask_swap && chance(50)) std::memcpy(operand + i, target, base.size);
    if (result != nullptr) {
      std::copy(target, target + base.size, expectations_.back().values.data() + i);
      for (std::size_t k = 0; k < base.size; ++k)
        expectations_.back().known[i + k] = static_cast<std::uint8_t>(known[k] & significant[k]);
    }
    base.arithmetic->modify(op, target, operand + i, operand2 + i);
    std::memcpy(known, significant, base.size);
  }
  MPIX_RMA_Attributes chosen = attributes(kind, rank);
  submit(Modification{op, op == Modify::increment && chance(50) ? nullptr : operand, operand2, result, count,
                      shape.type, rank, places_.at(kind, rank, own_part_ + at)},
         chosen);
}

}  // namespace mpixrma::stress

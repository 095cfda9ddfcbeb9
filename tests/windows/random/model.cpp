#include "tests/windows/random/model.hpp"

#include <algorithm>
#include <cstring>

namespace mpixrma::random_windows {

namespace {

constexpr auto untouched = std::byte{0x5a};

std::vector<Piece> pieces_of(Use const& use) {
  std::vector<Piece> pieces;
  for (int i = 0; i < use.count; ++i) {
    for (Piece const& piece : use.shape->pieces)
      pieces.push_back({piece.offset + i * use.shape->extent, piece.bytes, piece.base});
  }
  return pieces;
}

std::string hexadecimal(std::byte const* from, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    static constexpr char digits[] = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(from[i]) >> 4u];
    text += digits[std::to_integer<unsigned>(from[i]) & 15u];
  }
  return text;
}

}  // namespace

Buffer::Buffer(Use const& use) : low_(use.low()), memory_(use.span() + 2 * guard, untouched) {}

void Buffer::expect(std::ptrdiff_t offset, std::byte const* value, std::uint8_t const* known,
                    std::size_t bytes) {
  auto const at = static_cast<std::size_t>(guard - low_ + offset);
  if (unknown_.empty()) unknown_.resize(memory_.size());
  std::copy(value, value + bytes, expected_.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t i = 0; i < bytes; ++i) unknown_[at + i] = known[i] == 0;
}

std::optional<std::ptrdiff_t> Buffer::difference() const {
  if (unknown_.empty() && std::memcmp(memory_.data(), expected_.data(), memory_.size()) == 0) return {};
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (memory_[i] != expected_[i] && (unknown_.empty() || !unknown_[i]))
      return static_cast<std::ptrdiff_t>(i) - guard;
  }
  return {};
}

void Buffer::scribble() { std::fill(memory_.begin(), memory_.end(), std::byte{0xe7}); }

void fill(Base const* base, Random& random, bool factor, std::byte* at, std::size_t bytes) {
  if (base != nullptr && base->zone != 0) {
    base->arithmetic->fill(random, factor, at);
    for (std::size_t i = 0; i < base->size; ++i) {  // padding is the same at every rank
      if (base->arithmetic->significant[i] == 0) at[i] = std::byte{0};
    }
    return;
  }
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t const word = random();
    std::memcpy(at + i, &word, std::min(sizeof word, bytes - i));
  }
}

void apply(Step const& step, Model& target, Buffer* origin, std::byte const* compare, Buffer* result) {
  std::vector<Piece> const there = pieces_of(step.target_side);
  std::vector<Piece> const results = result != nullptr ? pieces_of(step.result) : there;
  std::vector<Piece> const origins = origin != nullptr ? pieces_of(step.origin) : there;
  static constexpr std::uint8_t nothing[32] = {};
  for (std::size_t i = 0; i < there.size(); ++i) {
    std::byte* const at = target.bytes.data() + step.at + there[i].offset;
    std::uint8_t* const known = target.known.data() + step.at + there[i].offset;
    std::size_t const bytes = there[i].bytes;
    if (result != nullptr) {
      std::uint8_t seen[32];
      for (std::size_t k = 0; k < bytes; ++k) {
        bool const padding = step.call != Call::get && step.base->arithmetic->significant[k] == 0;
        seen[k] = padding ? 0 : known[k];
      }
      if (step.call == Call::get) {
        there[i].base->for_each_part([&](std::size_t first, std::size_t part) {
          result->expect(results[i].offset + static_cast<std::ptrdiff_t>(first), at + first,
                         step.checked ? seen + first : nothing, part);
        });
      } else {
        result->expect(results[i].offset, at, step.checked ? seen : nothing, bytes);
      }
    }
    if (origin == nullptr || step.call == Call::get) continue;
    std::byte const* const operand = origin->address() + origins[i].offset;
    if (step.call == Call::store) {
      std::memcpy(at, operand, bytes);
      std::memset(known, 1, bytes);
    } else if (step.call == Call::put) {
      there[i].base->for_each_part([&](std::size_t first, std::size_t part) {
        std::memcpy(at + first, operand + first, part);
        std::memset(known + first, 1, part);
      });
    } else if (step.call == Call::compare_and_swap) {
      if (std::memcmp(at, compare, bytes) == 0) std::memcpy(at, operand, bytes);
    } else {
      step.base->arithmetic->combine(step.op, at, operand, nullptr);
      std::memcpy(known, step.base->arithmetic->significant, bytes);
    }
  }
}

Model initial(Layout const& layout, Shapes const& shapes, std::uint64_t seed) {
  Random random(seed);
  Model model{std::vector<std::byte>(layout.bytes()), std::vector<std::uint8_t>(layout.bytes(), 1)};
  for (int origin = 0; origin < layout.ranks; ++origin) {
    std::byte* const slice = model.bytes.data() + layout.slice_at(origin);
    fill(nullptr, random, false, slice, layout.first_zone);
    for (int zone = 1; zone < stress::zones; ++zone) {
      if (shapes.bases_of(zone).empty()) continue;
      Base const* const base = shapes.bases_of(zone).front();
      for (std::size_t at = 0; at + base->size <= Layout::zone_bytes; at += base->size)
        fill(base, random, false, slice + layout.zone_at(zone) + at, base->size);
    }
  }
  return model;
}

std::string difference_of(std::vector<std::byte> const& content, Model const& model, Layout const& layout) {
  std::size_t first = content.size(), last = 0, differing = 0;
  for (std::size_t at = 0; at < model.bytes.size(); ++at) {
    if (model.known[at] == 0 || content[at] == model.bytes[at]) continue;
    if (differing++ == 0) first = at;
    last = at;
  }
  if (differing == 0) return {};
  std::size_t const shown = std::min<std::size_t>(16, model.bytes.size() - first);
  return "at byte " + std::to_string(first) +
         (first >= layout.meeting_at(0)
              ? ", where all meet"
              : ", in the slice of rank " + std::to_string(first / layout.slice_bytes())) +
         "; found " + hexadecimal(content.data() + first, shown) + ", expected " +
         hexadecimal(model.bytes.data() + first, shown) + "; " + std::to_string(differing) +
         " bytes differ, the last at " + std::to_string(last);
}

}  // namespace mpixrma::random_windows

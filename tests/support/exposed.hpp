/// Exposed memory of both kinds, and operations on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/op/exposure.hpp"
#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {

inline constexpr std::size_t length = 40000;  // several messages
inline constexpr std::size_t margin = 64;     // bytes with the pattern before and after the exposed memory
inline constexpr auto pattern = std::byte{0x5a};

/// Exposes a part of a larger memory at each process: allocated, or plain memory. The rest keeps the pattern.
class Exposed {
 public:
  Exposed(Rank& rank, bool allocated, Rights rights) : rank_(rank), allocated_(allocated) {
    void* base = own_.data();
    if (allocated) {
      EXPECT_EQ(rank.engine().memory.allocate(own_.size(), &base), Status::ok);
    }
    memory_ = static_cast<std::byte*>(base);
    std::fill_n(memory_, own_.size(), pattern);
    EXPECT_EQ(rank.engine().exposures.expose(memory_ + margin, length, rights, &id), Status::ok);
    rank.publish(0, static_cast<std::uint64_t>(id));
    rank.barrier();
  }
  ~Exposed() {
    rank_.barrier();
    if (is_exposed) {
      EXPECT_EQ(rank_.engine().exposures.withdraw(id), Status::ok);
    }
    if (allocated_) {
      EXPECT_EQ(rank_.engine().memory.free(memory_), Status::ok);
    }
    EXPECT_EQ(rank_.engine().exposures.withdraw(id), Status::stale_exposure);
  }
  Exposed(Exposed const&) = delete;
  Exposed& operator=(Exposed const&) = delete;

  std::byte* at(std::size_t offset) const { return memory_ + margin + offset; }
  bool is_untouched(std::size_t begin = 0, std::size_t end = length) const {
    auto const same = [](std::byte value) { return value == pattern; };
    return std::all_of(at(begin), at(end), same) && std::all_of(memory_, at(0), same) &&
           std::all_of(at(length), at(length + margin), same);
  }

  ExposureId id{};
  bool is_exposed = true;

 private:
  Rank& rank_;
  bool allocated_;
  std::vector<std::byte> own_ = std::vector<std::byte>(length + 2 * margin);
  std::byte* memory_ = nullptr;
};

inline ExposureId shown_id(Rank& rank, int of, int slot = 0) {
  return static_cast<ExposureId>(rank.published(of, slot));
}

/// Returns a contiguous transfer at `offset` of the exposure `id`.
inline RmaOp transfer(OpKind direction, void* origin, ExposureId id, std::uint64_t offset,
                      std::size_t bytes) {
  RmaOp result = contiguous(direction, origin, offset, bytes);
  result.exposed.target = id;
  return result;
}

/// Returns an update that adds integers.
inline RmaOp addition(std::int64_t const* origin, ExposureId id, std::uint64_t offset, std::size_t bytes,
                      std::int64_t* result = nullptr) {
  RmaOp update = contiguous(ReduceOp::sum, ElementType::int64, origin, offset, bytes, result);
  update.exposed.target = id;
  return update;
}

/// Returns an update that fetches a value atomically and changes nothing.
inline RmaOp no_op(std::int64_t* result, ExposureId id, std::uint64_t offset) {
  RmaOp update = addition(nullptr, id, offset, 8, result);
  update.reduce_op = ReduceOp::no_op;
  return update;
}

/// Runs `body` in jobs of two processes with memory of either kind.
template <typename Configure>
void with_both_kinds(Configure configure, Rights rights, std::function<void(Rank&, Exposed&)> const& body) {
  for (bool const allocated : {true, false}) {
    run_job(2, configure, [&](Rank& rank) {
      Exposed exposed(rank, allocated, rights);
      body(rank, exposed);
    });
  }
}

}  // namespace mpixrma::engine

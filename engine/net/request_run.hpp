/// Runs: consecutive requests of a batch that differ in position, address, the operation id of their replies,
/// and data alone.
///
/// A run is one record of the batch (batch.hpp): the header of its first request, the data of that request,
/// and an entry for each further one. An entry consists of the difference of its address from the previous
/// one, the operation id if the reply contains data, and its data, padded to a multiple of 8 bytes.
/// The requests have consecutive positions. They are executed after the same position as the first one, or,
/// in a chained run, each after the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/net/wire.hpp"

namespace mpixrma::engine::wire {

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

/// Returns how many times the target bytes of this kind of request are carried as data.
unsigned copies_of_data(RequestHeader const& header) noexcept;

/// Whether a request with this header carries so many bytes of data.
inline bool carries(RequestHeader const& header, std::size_t data_bytes) noexcept {
  return header.bytes <= SIZE_MAX / 4 && data_bytes == copies_of_data(header) * header.bytes;
}

/// Whether the request may be part of a run: a whole operation on contiguous memory without a notification.
constexpr bool may_run(RequestHeader const& header) noexcept {
  bool const contiguous = header.dimensions == 0 && header.runs == 0 && header.block == header.bytes;
  bool const whole =
      header.layout_offset == 0 && header.operation_offset == 0 && header.total == header.bytes;
  bool const has_operation_id = header.operation_id != 0;
  return moves_data(header) && contiguous && whole && (header.notify | header.notify_exposure) == 0 &&
         has_operation_id == is_fetching(header);
}

/// The format of a run behind its first header.
class RunShape {
 public:
  RunShape() = default;
  /// `data_bytes`: data of each request.
  RunShape(RequestHeader const& first, std::size_t data_bytes) noexcept
      : data_bytes_(data_bytes), has_operation_ids_(is_fetching(first)) {}

  std::size_t data_bytes() const noexcept { return data_bytes_; }
  bool has_operation_ids() const noexcept { return has_operation_ids_; }
  /// Size of an entry without its data.
  std::size_t entry_head() const noexcept { return sizeof(std::uint64_t) * (has_operation_ids_ ? 2 : 1); }
  std::size_t entry_bytes() const noexcept { return entry_head() + padded(data_bytes_); }

 private:
  std::size_t data_bytes_ = 0;
  bool has_operation_ids_ = false;
};

/// The requests of a received run, one after the other.
class RequestRun {
 public:
  RequestRun() = default;

  /// Returns false if the record is not a valid run.
  bool read(RequestHeader const& first, std::span<std::byte const> record, bool chained) noexcept {
    *this = RequestRun();
    if (!may_run(first) || first.bytes > SIZE_MAX / 4) return false;
    RunShape const shape(first, copies_of_data(first) * first.bytes);
    if (padded(shape.data_bytes()) > record.size()) return false;
    std::size_t const entries = record.size() - padded(shape.data_bytes());
    std::size_t const further = entries / shape.entry_bytes();
    if (further == 0 || entries % shape.entry_bytes() != 0) return false;
    if (first.sequence > UINT64_MAX - further) return false;
    next_ = first;
    shape_ = shape;
    data_ = record.data();
    rest_ = further + 1;
    chained_ = chained;
    return true;
  }

  /// Number of requests that next() has still to return.
  std::size_t size() const noexcept { return rest_; }
  bool is_chained() const noexcept { return chained_; }
  RunShape const& shape() const noexcept { return shape_; }
  /// The next request. Only if size() is not 0.
  RequestHeader const& header() const noexcept { return next_; }
  std::byte const* data() const noexcept { return data_; }

  /// Returns false at the end.
  bool next(RequestHeader* header, std::span<std::byte const>* data) noexcept {
    if (rest_ == 0) return false;
    *header = next_;
    *data = {data_, shape_.data_bytes()};
    skip(1);
    return true;
  }

  /// Skips the next `count` requests.
  void skip(std::size_t count) noexcept {
    if (count >= rest_) {
      rest_ = 0;
      return;
    }
    for (; count != 0; --count) {
      --rest_;
      std::byte const* const entry = data_ + padded(shape_.data_bytes());
      next_.address += word_at(entry);
      if (shape_.has_operation_ids()) next_.operation_id = word_at(entry + sizeof(std::uint64_t));
      data_ = entry + shape_.entry_head();
      if (chained_) next_.after = next_.sequence;
      ++next_.sequence;
    }
  }

  /// Calls visit(address, data) for the next requests, as long as it returns true. Returns how many.
  template <typename Visitor>
  std::size_t visit_while(Visitor visit) const noexcept {
    RemoteAddress address = next_.address;
    std::byte const* data = data_;
    std::size_t const stride = padded(shape_.data_bytes());
    std::size_t const head = shape_.entry_head();
    for (std::size_t i = 0; i < rest_; ++i) {
      if (i != 0) {
        address += word_at(data + stride);
        data += stride + head;
      }
      if (!visit(address, data)) return i;
    }
    return rest_;
  }

 private:
  static std::uint64_t word_at(std::byte const* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  RequestHeader next_{};
  RunShape shape_;
  std::byte const* data_ = nullptr;
  std::size_t rest_ = 0;
  bool chained_ = false;
};

}  // namespace mpixrma::engine::wire

/// The target's side of a trace: the requests that it executes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/net/wire.hpp"
#include "engine/op/statistics.hpp"
#include "engine/trace/recorder.hpp"

namespace mpixrma::engine {

class ExecutionTrace {
 public:
  /// `recorder` may be nullptr: nothing is traced.
  void set_recorder(Recorder* recorder) noexcept { recorder_ = recorder; }

  /// Returns the start time for add(); 0 without a trace.
  std::uint64_t begin() const noexcept { return recorder_ != nullptr ? recorder_->now() : 0; }

  /// Requests of one kind from one process.
  struct Requests {
    std::uint64_t origin;
    Protocol protocol;
    std::size_t count;
    std::size_t bytes;  ///< of all of them
  };
  void add(std::uint64_t begin, wire::RequestHeader const& header, Requests const& executed) const noexcept {
    if (recorder_ != nullptr) [[unlikely]]
      record(begin, header, executed);
  }

 private:
  void record(std::uint64_t begin, wire::RequestHeader const& header,
              Requests const& executed) const noexcept;

  Recorder* recorder_ = nullptr;
};

}  // namespace mpixrma::engine

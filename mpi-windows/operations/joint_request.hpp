/// A request that is complete when the last of several things is.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <deque>

#include "engine/op/operation.hpp"
#include "mpi-windows/operations/request.hpp"

namespace mpixrma::windows {

class JointRequest {
 public:
  /// For an operation on the host's window `window`. `pending` counts those that are not complete. nullptr:
  /// there is no memory.
  static JointRequest* open(void* window, std::uint32_t context, std::atomic<std::size_t>& pending,
                            MPI_Request* request);

  /// Something more to wait for, which is told once. nullptr: there is no memory. Not after close().
  engine::Completion* add() noexcept;
  /// The same of something that has ended already.
  void note(engine::Status status) noexcept;
  /// That was all. The request may be complete from here on, and the object gone.
  void close() noexcept { end(engine::Status::ok); }

 private:
  struct Part : engine::Completion {
    JointRequest* whole = nullptr;
  };

  JointRequest(RequestCompletion& told, std::atomic<std::size_t>& pending);
  void end(engine::Status status) noexcept;

  RequestCompletion& request_;
  std::atomic<std::size_t>& pending_;
  std::deque<Part> parts_;
  std::atomic<std::size_t> missing_{1};  ///< parts, and close()
  std::atomic<engine::Status> first_{engine::Status::ok};
};

}  // namespace mpixrma::windows

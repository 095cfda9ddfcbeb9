/// A request that is complete when the last of several operations is.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include "engine/op/operation.hpp"
#include "mpi-windows/operations/request.hpp"

namespace mpixrma::windows {

class JointRequest {
 public:
  /// Opens a request of an operation on the host's window `window`. `pending` counts the requests that are
  /// not complete. Returns nullptr if there is no memory.
  static JointRequest* open(void* window, std::uint32_t context, std::atomic<std::size_t>& pending,
                            MPI_Request* request);

  /// Adds one more operation to wait for, and returns its completion, which is called once. Returns nullptr
  /// if there is no memory. The request is not complete until that is called; not to be called when it may
  /// be.
  engine::Completion* add() noexcept;
  /// Adds an operation that has ended already.
  void note(engine::Status status) noexcept;
  /// Ends the addition of operations. Afterwards the request may be complete, and the object destroyed.
  void close() noexcept { end(engine::Status::ok); }

 private:
  struct Part : engine::Completion {
    JointRequest* whole = nullptr;
  };

  JointRequest(RequestCompletion& told, std::atomic<std::size_t>& pending);
  void end(engine::Status status) noexcept;

  RequestCompletion& request_;
  std::atomic<std::size_t>& pending_;
  std::mutex adding_;  ///< protects `parts_`
  std::deque<Part> parts_;
  std::atomic<std::size_t> missing_{1};  ///< parts, and close()
  std::atomic<engine::Status> first_{engine::Status::ok};
};

}  // namespace mpixrma::windows

/// The library's own request type.
#pragma once

#include <mpi.h>

#include <atomic>

#include "engine/op/operation.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/request/attribute_set.hpp"

namespace mpixrma {

/// The object behind an MPIX_Rma_request. Objects come from a pool, and handles identify them so that an
/// invalid handle is detected.
class RmaRequest : public engine::Completion {
 public:
  /// `abandoned`: the application freed the request while its operation was in progress.
  enum class State : std::uint8_t { unused, inactive, active, abandoned, complete };

  RmaRequest();

  /// Returns nullptr if the handle identifies no object.
  static RmaRequest* find(MPIX_Rma_request handle);
  /// Creates an inactive object.
  static RmaRequest& make();

  MPIX_Rma_request handle() const noexcept { return handle_; }
  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Whether the object survives the completion of its operation, as one with attributes does.
  bool stays() const noexcept { return stays_; }
  void keep() noexcept { stays_ = true; }
  AttributeSet& attributes() noexcept { return attributes_; }

  /// Begins an operation of `communicator`; an error text uses `call` and `subject`.
  void start(Communicator& communicator, char const* call, Subject const& subject) noexcept;
  /// Completes the operation.
  void finish(engine::Status status) noexcept;
  /// Called when the application sees the completion: raises the operation's error and returns the error
  /// code. Afterwards the object is inactive, or `*handle` is null.
  int end(MPIX_Rma_request* handle);
  /// Frees the object, at once or when its operation completes.
  void free();

 private:
  friend class RmaRequestPool;

  void end_unreported() noexcept;

  MPIX_Rma_request handle_ = MPIX_RMA_REQUEST_NULL;
  std::atomic<State> state_{State::unused};
  bool stays_ = false;
  engine::Status status_ = engine::Status::ok;
  char const* call_ = nullptr;
  Subject subject_;
  Communicator* communicator_ = nullptr;  ///< communicator of the latest operation
  std::uint32_t context_ = 0;             ///< the communicator's context at that time
  AttributeSet attributes_;
};

}  // namespace mpixrma

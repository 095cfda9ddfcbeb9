/// The library's own request type.
#pragma once

#include <mpi.h>

#include <atomic>

#include "engine/op/operation.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/request/attribute_set.hpp"

namespace mpixrma {

/// The object behind an MPIX_Rma_request. From a pool; handles name objects in it, so that one that is no
/// longer valid is found out.
class RmaRequest : public engine::Completion {
 public:
  /// `abandoned`: given back by its user while active.
  enum class State : std::uint8_t { unused, inactive, active, abandoned, complete };

  RmaRequest();

  /// nullptr: the handle names no object.
  static RmaRequest* find(MPIX_Rma_request handle);
  /// A new inactive object.
  static RmaRequest& make();

  MPIX_Rma_request handle() const noexcept { return handle_; }
  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// With attributes it stays when its operation is complete.
  bool stays() const noexcept { return stays_; }
  void keep() noexcept { stays_ = true; }
  AttributeSet& attributes() noexcept { return attributes_; }

  /// An operation of `communicator` begins; `call` and `subject` are what its error says.
  void start(Communicator& communicator, char const* call, Subject const& subject) noexcept;
  /// It is complete.
  void finish(engine::Status status) noexcept;
  /// The application has seen that it is complete: raises its error. Returns the error code. Afterwards the
  /// object is inactive, or `*handle` is null.
  int settle(MPIX_Rma_request* handle);
  /// Gives the object back, or has that done when its operation is complete.
  void free();

 private:
  friend class RmaRequestPool;

  MPIX_Rma_request handle_ = MPIX_RMA_REQUEST_NULL;
  std::atomic<State> state_{State::unused};
  bool stays_ = false;
  engine::Status status_ = engine::Status::ok;
  char const* call_ = nullptr;
  Subject subject_;
  Communicator const* communicator_ = nullptr;  ///< of the latest operation
  std::uint32_t context_ = 0;                   ///< what it was then
  AttributeSet attributes_;
};

}  // namespace mpixrma

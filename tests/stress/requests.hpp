/// The requests of a batch, of all forms, and several ways to wait for them.
#pragma once

#include <functional>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/stress/base_types.hpp"

namespace mpixrma::stress {

class Requests {
 public:
  /// Called with the result of every call.
  using Require = std::function<void(int code, char const* what)>;

  Requests(Random& random, std::size_t most, Require require);
  ~Requests();
  Requests(Requests const&) = delete;
  Requests& operator=(Requests const&) = delete;

  /// Returns the address of a null handle for one operation; the address stays valid until finish().
  MPI_Request* native();
  MPIX_Rma_request* own();
  /// Returns an inactive object with the attributes.
  MPI_Request* native_with(MPIX_RMA_Attributes const& attributes);
  MPIX_Rma_request* own_with(MPIX_RMA_Attributes const& attributes);

  /// Waits for all requests and frees them; at random, frees active requests of the own type without waiting.
  void finish();

 private:
  /// Sets `attributes` with the call of the request's type.
  template <typename Request, typename Set>
  void set_all(Request* request, MPIX_RMA_Attributes const& attributes, Set set);
  void finish_native();
  bool finish_own();  ///< false: the requests are still active

  Random& random_;
  Require require_;
  std::vector<MPI_Request> native_;
  std::vector<MPIX_Rma_request> own_;
  /// Inactive objects for reuse; their attributes change no result.
  std::vector<MPI_Request> spare_native_;
  std::vector<MPIX_Rma_request> spare_own_;
  std::vector<bool> native_again_;
  std::vector<bool> own_again_;
};

}  // namespace mpixrma::stress

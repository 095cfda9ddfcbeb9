/// The functions that the MPI host provides to the libraries.
#pragma once

#include "hosts/common/hosted.h"

namespace mpixrma::host {

mpix_host_ops const& host_operations() noexcept;

/// As in mpix_host_ops.
int communicator_is_live(mpix_handle_t communicator);

}  // namespace mpixrma::host

/// Windows at memory servers whose memory this process maps: the server runs on this host.
#pragma once

#include <memory>

#include "mpi-windows/nam/grant.hpp"
#include "mpi-windows/nam/served.hpp"

namespace mpixrma::windows {

/// Throws NamError.
std::unique_ptr<ServedWindow> make_mapped(std::shared_ptr<NamGrant> grant, nam::WindowInfo window);

}  // namespace mpixrma::windows

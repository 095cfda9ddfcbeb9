/// Windows in single grants, mapped if possible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi-windows/nam/description.hpp"
#include "mpi-windows/nam/served.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

// These functions throw nam::Error and NamError.

std::unique_ptr<ServedWindow> allocate_in(nam::Locator const& grant, std::vector<std::uint64_t> const& sizes,
                                          std::vector<std::uint64_t> const& units,
                                          nam::WindowOptions const& options);
/// Returns the persistent window that `session` has found by its port name.
std::unique_ptr<NamWindow> connect_to(nam::WindowInfo window, nam::Session session, bool encrypt);
/// Returns the window that another process has described.
std::unique_ptr<NamWindow> join_part(NamGrantPart const& part, NamJoinOptions how);

}  // namespace mpixrma::windows

/// Windows whose regions are spread over several grants (nam/client/spread.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpi-windows/nam/window.hpp"
#include "nam/client/spread.hpp"

namespace mpixrma::windows {

/// Allocates in as many of the grants as the window can use (nam::spread_over): all parts or none. Throws
/// nam::Error and NamError.
std::unique_ptr<NamWindow> allocate_over(std::vector<nam::Locator> const& grants,
                                         std::vector<std::uint64_t> const& sizes,
                                         std::vector<std::uint64_t> const& units,
                                         nam::WindowOptions const& options);
/// Returns the window that consists of the parts, in this order; a single part is the window itself.
std::unique_ptr<NamWindow> combine_parts(std::vector<std::unique_ptr<NamWindow>> parts,
                                         nam::Spread const& spread);
/// Returns the window that another process has described; `how` is as in NamWindow::join.
std::unique_ptr<NamWindow> join_window(NamDescription const& description, NamJoinOptions how);

}  // namespace mpixrma::windows

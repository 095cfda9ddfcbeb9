/// Of a build without the memory server.
#include <mpi.h>

#include "windows/nam_window.hpp"

namespace mpix::windows {

namespace {

[[noreturn]] void refuse() {
  throw NamError(MPI_ERR_UNSUPPORTED_OPERATION,
                 "this library was built without the memory server (MPIX_BUILD_NAM)");
}

}  // namespace

std::unique_ptr<NamWindow> NamWindow::allocate(std::vector<std::uint64_t> const&,
                                               std::vector<std::uint64_t> const&, NamWishes const&) {
  refuse();
}
std::unique_ptr<NamWindow> NamWindow::connect(std::string const&) { refuse(); }
std::unique_ptr<NamWindow> NamWindow::join(std::string const&) { refuse(); }

}  // namespace mpix::windows

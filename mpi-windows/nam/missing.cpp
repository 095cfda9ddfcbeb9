/// Stubs for a build without the memory server.
#include <mpi.h>

#include "mpi-windows/nam/window.hpp"

namespace mpixrma::windows {

namespace {

[[noreturn]] void refuse_all() {
  throw NamError(MPI_ERR_UNSUPPORTED_OPERATION,
                 "this library was built without the memory server (MPIX_BUILD_NAM)");
}

}  // namespace

void set_nam(NamSettings const&) {}

std::unique_ptr<NamWindow> NamWindow::allocate(std::vector<std::uint64_t> const&,
                                               std::vector<std::uint64_t> const&, NamHints const&) {
  refuse_all();
}
std::unique_ptr<NamWindow> NamWindow::connect(std::string const&, NamConnectOptions const&) { refuse_all(); }
std::unique_ptr<NamWindow> NamWindow::join(std::string const&, NamJoinOptions) { refuse_all(); }
std::string NamWindow::description() const { refuse_all(); }
std::uint32_t NamWindow::last_mapping_id() noexcept { return 0; }
void NamWindow::note_mapped(std::uint32_t) noexcept {}
int nam_ranks(std::string const&, bool) { refuse_all(); }
void nam_publish(std::string const&, std::string const&) { refuse_all(); }
void nam_unpublish(std::string const&, std::string const&) { refuse_all(); }
std::string nam_lookup(std::string const&) { throw NamError(MPI_ERR_NAME, "no memory server in this build"); }

}  // namespace mpixrma::windows

/// The C interface: memory servers.
#include <algorithm>
#include <cstring>

#include "mpi-windows/creation/served_window.hpp"
#include "mpi-windows/nam/window.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/mpix_windows.h"

namespace mpixrma::windows {

namespace {

/// Calls `call`, converts its exceptions to error classes and keeps their text.
template <typename Call>
int error_class_of_call(Call call) noexcept {
  try {
    newest_refusal() = {};
    call();
    return MPI_SUCCESS;
  } catch (NamError const& error) {
    return refuse(error.error_class(), error.what());
  } catch (...) {
    return class_of_exception();
  }
}

}  // namespace
}  // namespace mpixrma::windows

using namespace mpixrma::windows;

int mpix_nam_configure(const char* allocation, size_t private_bytes, const char* interfaces,
                       const char* rdma) {
  // Null means all interfaces; other hosts can reach all of them except the loopback.
  return error_class_of_call([&] {
    set_nam({allocation, private_bytes, interfaces != nullptr ? interfaces : "^127.0.0.0/8", rdma});
  });
}
int mpix_window_persist(mpix_window_t* window) {
  return error_class_of_call([&] { persist(*static_cast<Window*>(window)); });
}
int mpix_nam_ranks(const char* port, int follow, int* ranks) {
  return error_class_of_call([&] { *ranks = nam_ranks(port, follow != 0); });
}
int mpix_nam_publish(const char* name, const char* port) {
  return error_class_of_call([&] { nam_publish(name, port); });
}
int mpix_nam_unpublish(const char* name, const char* port) {
  return error_class_of_call([&] { nam_unpublish(name, port); });
}
int mpix_nam_lookup(const char* name, char* port, size_t bytes) {
  return error_class_of_call([&] {
    std::string const found = nam_lookup(name);
    if (found.size() >= bytes) throw NamError(MPI_ERR_INTERN, "the port name is too long");
    std::copy_n(found.c_str(), found.size() + 1, port);
  });
}

#include "engine/base/status.hpp"

namespace mpixrma::engine {

char const* to_string(Status status) noexcept {
  switch (status) {
    case Status::ok: return "success";
    case Status::bad_address: return "the target memory is not mapped, or was freed";
    case Status::bad_origin: return "no accessible memory at the origin address";
    case Status::device_memory: return "memory of this process is device memory (CUDA, ROCm)";
    case Status::bad_argument: return "an argument is out of range or inconsistent";
    case Status::unsupported: return "operation not supported";
    case Status::out_of_memory: return "out of memory or table space";
    case Status::no_descriptors: return "out of file descriptors (ulimit -n, fs.file-max)";
    case Status::unreachable: return "the target process cannot be reached";
    case Status::transport: return "the connection to the target failed";
    case Status::malformed: return "malformed message";
    case Status::busy: return "the lock is held";
    case Status::out_of_bounds: return "the target memory does not lie within the exposure";
    case Status::access_denied: return "the exposure does not permit this";
    case Status::stale_exposure: return "the exposure has been withdrawn";
    case Status::overrun: return "the target memory extends beyond the end of its allocation";
    case Status::not_writable: return "the target memory is not writable";
    case Status::count_: break;
  }
  return "unknown status";
}

}  // namespace mpixrma::engine

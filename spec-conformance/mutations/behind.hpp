/// The functions of the libraries that a library of broken promises is loaded before.
#pragma once

#include <dlfcn.h>

namespace mpixrma::broken {

/// The function of the next library that defines it, for those that the profiling interface does not give.
template <typename F>
F* behind(char const* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace mpixrma::broken

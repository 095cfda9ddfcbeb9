/// The functions of the libraries that are loaded after a library of broken promises.
#pragma once

#include <dlfcn.h>

namespace mpixrma::broken {

/// The definition of a function in the next library, for functions that have no name for profiling.
template <typename F>
F* next_definition(char const* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace mpixrma::broken

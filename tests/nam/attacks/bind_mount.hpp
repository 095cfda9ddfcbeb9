/// A file in the place of a file of the system, for this process and its children.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>

namespace mpixrma::nam {

/// Mounts `file` over `original`, which exists, in a mount namespace of this process. Returns false if the
/// system does not permit it.
inline bool show_in_place_of(char const* original, std::filesystem::path const& file) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(file.c_str(), original, nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace mpixrma::nam

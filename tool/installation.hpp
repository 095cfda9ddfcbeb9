/// The installation that this command belongs to.
#pragma once

#include <filesystem>

namespace mpixrma::tool {

/// The directories relative to this executable; the build tree has the same layout. Throws Error.
struct Installation {
  std::filesystem::path prefix;
  std::filesystem::path libraries;    ///< PREFIX/lib
  std::filesystem::path component;    ///< PREFIX/lib/mpix-rma/openmpi/mca_osc_mpix.so
  std::filesystem::path environment;  ///< PREFIX/share/mpix-rma/env.sh
  std::filesystem::path unit;         ///< PREFIX/lib/systemd/system/mpix-namd.service

  static Installation of_this_command();
};

}  // namespace mpixrma::tool

#include "tool/installation.hpp"

#include <system_error>

#include "tool/error.hpp"

namespace mpixrma::tool {

Installation Installation::of_this_command() {
  std::error_code error;
  std::filesystem::path const executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("/proc/self/exe is not readable: " + error.message());
  Installation found;
  found.prefix = (executable.parent_path() / MPIX_TO_PREFIX).lexically_normal();
  // Removes a trailing slash.
  if (!found.prefix.has_filename()) found.prefix = found.prefix.parent_path();
  found.libraries = found.prefix / MPIX_LIBDIR;
  found.component = found.libraries / "mpix-rma" / "openmpi" / "mca_osc_mpix.so";
  found.environment = found.prefix / MPIX_DATADIR / "mpix-rma" / "env.sh";
  found.unit = found.prefix / "lib" / "systemd" / "system" / "mpix-namd.service";
  return found;
}

}  // namespace mpixrma::tool

/// Makes Open MPI find the component before MPI_Init, in a constructor because Fortran's MPI_INIT does
/// not go through a C wrapper. What the user has set is extended, never replaced.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/status.hpp"
#include "mpix/runtime/runtime.hpp"

namespace {

constexpr char const* path_variable = "OMPI_MCA_mca_base_component_path";
constexpr char const* osc_variable = "OMPI_MCA_osc";

/// <libdir>/mpix-rma/openmpi beside the engine's library, which is a shared one also where this code is
/// linked statically; else the directory that was configured.
std::string component_directory() {
  namespace fs = std::filesystem;
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void const*>(&mpix::engine::to_string), &info) != 0 &&
      info.dli_fname != nullptr) {
    fs::path const beside =
        fs::weakly_canonical(info.dli_fname, ignored).parent_path() / "mpix-rma" / "openmpi";
    if (fs::exists(beside / "mca_osc_mpix.so", ignored)) return beside.string();
  }
  return MPIX_COMPONENT_DIRECTORY;
}

/// Open MPI's own directories. Its parameter has no way to say "and the default ones".
std::string default_directories() {
  std::string directories = MPIX_OPENMPI_COMPONENTS;
  if (char const* const home = std::getenv("HOME"))
    directories += std::string(":") + home + "/.openmpi/components";
  return directories;
}

void extend_component_path() {
  char const* const given = std::getenv(path_variable);
  std::string const present = given != nullptr ? given : default_directories();
  std::string const ours = component_directory();
  if ((":" + present + ":").find(":" + ours + ":") != std::string::npos) return;
  // In front: Open MPI does not look behind a directory that does not exist, as the user's often does not.
  ::setenv(path_variable, (ours + ":" + present).c_str(), 1);
}

/// A list that names components includes only those; one that starts with ^ excludes.
void extend_osc_list() {
  char const* const given = std::getenv(osc_variable);
  if (given == nullptr || *given == '\0' || *given == '^') return;
  std::string const present = given;
  if (("," + present + ",").find(",mpix,") != std::string::npos) return;
  ::setenv(osc_variable, (present + ",mpix").c_str(), 1);
}

}  // namespace

namespace mpix {

__attribute__((constructor)) void make_component_known() {
  extend_component_path();
  extend_osc_list();
}

}  // namespace mpix

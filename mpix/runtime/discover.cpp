/// Makes Open MPI find the component. A constructor does this before MPI_Init, because Fortran's MPI_INIT
/// does not call a C wrapper. The user's settings are extended, and missing directories removed.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.hpp"
#include "engine/base/version.h"
#include "hosts/common/hosted.h"
#include "mpix/runtime/runtime.hpp"

namespace {

namespace fs = std::filesystem;

constexpr char const* path_variable = "OMPI_MCA_mca_base_component_path";
constexpr char const* pmix_path_variable = "PMIX_MCA_mca_base_component_path";
constexpr char const* osc_variable = "OMPI_MCA_osc";
constexpr char const* windows_variable = "OMPI_MCA_osc_mpix_windows";
constexpr char const* component_file = "mca_osc_mpix.so";

using Directories = std::vector<std::string>;

Directories split(std::string_view list) {
  Directories directories;
  while (!list.empty()) {
    std::size_t const length = std::min(list.find(':'), list.size());
    if (length != 0) directories.emplace_back(list.substr(0, length));
    list.remove_prefix(std::min(length + 1, list.size()));
  }
  return directories;
}

std::string concatenate(Directories const& directories, std::string_view separator) {
  std::string joined;
  for (std::string const& directory : directories) {
    if (!joined.empty()) joined += separator;
    joined += directory;
  }
  return joined;
}

bool holds_component(std::string const& directory) {
  std::error_code ignored;
  return fs::exists(fs::path(directory) / component_file, ignored);
}

/// Returns the directories that may hold the component: <libdir>/mpix-rma/openmpi beside the engine's
/// library, which is shared even if this code is linked statically, and the configured directory.
Directories own_directories() {
  Directories directories;
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void const*>(&mpixrma::engine::to_string), &info) != 0 &&
      info.dli_fname != nullptr)
    directories.push_back(fs::weakly_canonical(info.dli_fname, ignored).parent_path() / "mpix-rma" /
                          "openmpi");
  if (directories.empty() || directories.front() != MPIX_COMPONENT_DIRECTORY)
    directories.emplace_back(MPIX_COMPONENT_DIRECTORY);
  return directories;
}

/// Returns the user's setting, or else Open MPI's names for its own directories.
Directories present_directories() {
  char const* const given = std::getenv(path_variable);
  return split(given != nullptr ? given : "SYSTEM_DEFAULT:USER_DEFAULT");
}

bool exists(std::string const& entry) {
  constexpr std::string_view known_to_mpi[] = {"SYSTEM_DEFAULT", "SYS_DEFAULT", "USER_DEFAULT",
                                               "USR_DEFAULT"};
  std::error_code ignored;
  return std::ranges::find(known_to_mpi, entry) != std::end(known_to_mpi) || fs::is_directory(entry, ignored);
}

/// Adds the component's directory to the path, and removes directories that do not exist, because Open MPI
/// stops searching at the first of them. If none of the user's directories exists, leaves the path alone, so
/// that Open MPI's message is about the user's setting.
void extend_component_path() {
  Directories path = present_directories();
  std::size_t const named = path.size();
  std::erase_if(path, [](std::string const& entry) { return !exists(entry); });
  if (path.empty()) return;
  Directories const own = own_directories();
  auto const ours = std::ranges::find_if(own, holds_component);
  bool const add = ours != own.end() && std::ranges::find(path, *ours) == path.end();
  // Open MPI 5 passes its path on to PMIx unless PMIx has one, and PMIx warns about components that it does
  // not know. So PMIx gets a path that holds no components.
  if (add) ::setenv(pmix_path_variable, fs::path(*ours).parent_path().c_str(), 0);
  if (add) path.insert(path.begin(), *ours);
  if (add || path.size() != named) ::setenv(path_variable, concatenate(path, ":").c_str(), 1);
}

/// A list of component names includes only those; a list that starts with ^ excludes them. A user who lists
/// other components wants MPI's windows on them.
void extend_osc_list() {
  char const* const given = std::getenv(osc_variable);
  if (given == nullptr || *given == '\0' || *given == '^') return;
  std::string const present = given;
  if (("," + present + ",").find(",mpix,") != std::string::npos) return;
  ::setenv(osc_variable, (present + ",mpix").c_str(), 1);
  ::setenv(windows_variable, "info", 0);
}

/// Whether the user's list of components excludes this one. mpirun passes `--mca osc` on in the variable.
bool osc_list_excludes() {
  char const* const given = std::getenv(osc_variable);
  if (given == nullptr || *given != '^') return false;
  std::string names = ",";
  names.append(given + 1).append(",");
  return names.find(",mpix,") != std::string::npos;
}

/// Whether dlopen() loaded the library in a process that had already started MPI.
bool is_late = false;

}  // namespace

namespace mpixrma {

std::string why_no_component() {
  if (is_late)
    return "the library was loaded after MPI_Init, which did not find the component: load it before "
           "MPI_Init, or set "
           "the environment by env.sh or the module of the installation";
  Directories looked_in = own_directories();
  std::ranges::move(present_directories(), std::back_inserter(looked_in));
  if (std::ranges::none_of(looked_in, holds_component))
    return std::string(component_file) + " was not found in " + concatenate(looked_in, ", ");
  if (char const* const reason = mpix_host_unavailable_reason(); *reason != '\0') return reason;
  if (osc_list_excludes())
    return "osc excludes mpix: to leave only windows to other components, set osc_mpix_windows to none";
  return "see that mca_base_component_path and osc do not exclude it, and whether lines above say why";
}

/// Prints one line per job if the versions of the two libraries differ.
void compare_versions() {
  char const* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (std::string_view(mpix_engine_version()) == MPIX_VERSION || (rank != nullptr && *rank != '0')) return;
  std::fprintf(stderr,
               "mpix: libmpix_rma has version " MPIX_VERSION
               " and libmpix_engine version %s: use both from one installation\n",
               mpix_engine_version());
}

__attribute__((constructor)) void make_component_known() {
  compare_versions();
  if (mpix_host_is_public() != 0) return;
  int started = 0;
  PMPI_Initialized(&started);
  is_late = started != 0;
  if (is_late) return;
  mpix_host_request_early_open();
  extend_component_path();
  extend_osc_list();
}

}  // namespace mpixrma

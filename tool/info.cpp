#include "tool/info.hpp"

#include <dlfcn.h>
#include <sys/utsname.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "tool/copies.hpp"
#include "tool/environment.hpp"
#include "tool/error.hpp"
#include "tool/machine.hpp"
#include "tool/run.hpp"

namespace mpixrma::tool {

namespace {

namespace fs = std::filesystem;

/// Returns the version in the file name that a shared library's link leads to; "" if there is none.
std::string version_of_library(fs::path const& link) {
  std::error_code error;
  std::string const name = fs::canonical(link, error).filename().string();
  constexpr std::string_view before = ".so.";
  std::size_t const begin = error ? name.npos : name.find(before);
  return begin == name.npos ? "" : name.substr(begin + before.size());
}

/// Returns the version string in the component's file; "" if there is none.
std::string version_of_component(fs::path const& file) {
  constexpr std::string_view before = "osc/mpix version ";
  std::ifstream stream(file, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(stream), {});
  std::size_t const begin = text.find(before);
  return begin == text.npos ? "" : std::string(text.c_str() + begin + before.size());
}

std::string first_line(std::vector<std::string> const& command,
                       std::map<std::string, std::string> const& variables) {
  try {
    Output const output = run(command, variables);
    return output.status == 0 ? output.text.substr(0, output.text.find('\n')) : "";
  } catch (Error const&) {
    return "";
  }
}

std::string version_of_ucx() {
  void* const library = ::dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL);
  using Function = char const* (*)();
  void* const function = library != nullptr ? ::dlsym(library, "ucp_get_version_string") : nullptr;
  return function != nullptr ? reinterpret_cast<Function>(function)() : "";
}

void print(char const* name, std::string const& value) {
  std::printf("  %-26s %s\n", name, value.empty() ? "not found" : value.c_str());
}

/// Returns the output of ompi_info. Tries Debian's name first: its Open MPI may not be the default MPI.
std::string ompi_info_with(std::vector<std::string> const& arguments,
                           std::map<std::string, std::string> const& variables) {
  for (char const* const name : {"ompi_info.openmpi", "ompi_info"}) {
    std::vector<std::string> command{name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    try {
      Output const output = run(command, variables);
      if (output.status == 0) return output.text;
    } catch (Error const&) {
      // the other file name
    }
  }
  return "";
}

bool show_versions(Installation const& installation) {
  std::map<std::string, std::string> const variables = environment_of(installation);
  std::printf("mpix-rma " MPIX_VERSION ", prefix %s\n", installation.prefix.c_str());
  bool same = true;
  auto const show = [&](char const* name, std::string const& version, bool needed) {
    if (version.empty() && !needed) return;
    print(name, version);
    if (version == MPIX_VERSION) return;
    same = false;
    std::printf(
        "  The versions differ: %s is of another installation than mpix-rma; install all files anew\n", name);
  };
  show("component osc/mpix", version_of_component(installation.component), true);
  show("libmpix_engine", version_of_library(installation.libraries / "libmpix_engine.so.0"), true);
  show("libmpix_rma", version_of_library(installation.libraries / "libmpix_rma.so.0"), true);
  show("libarmci", version_of_library(installation.libraries / "libarmci.so.0"), false);
  show("libmpix_rma_fortran", version_of_library(installation.libraries / "libmpix_rma_fortran.so.0"), false);
  show("libmpix_rma-mpich", version_of_library(installation.libraries / "libmpix_rma-mpich.so.0"), false);
  std::string const mpi = ompi_info_with({"--version"}, {});
  print("Open MPI", mpi.substr(0, mpi.find('\n')));
  print("UCX", version_of_ucx());
  print("MPICH", first_line({"mpichversion"}, {}));
  bool const loads = ompi_info_with({"--param", "osc", "mpix", "--level", "9", "--parsable"}, variables)
                         .find("osc_mpix_path") != std::string::npos;
  std::printf("hosts:\n");
  print("component in Open MPI", loads ? "yes: Open MPI loads it" : "no: Open MPI does not load it");
  if (!loads)
    std::printf(
        "    remedy: --mca mca_base_component_show_load_errors 1 says why; MPIX_HOST=public does without\n");
  print("public MPI", "yes: MPIX_HOST=public");
  return same && loads;
}

}  // namespace

bool show_info(Installation const& installation) {
  bool const works = show_versions(installation);
  utsname system{};
  ::uname(&system);
  std::printf("machine: %s %s %s\n", system.sysname, system.release, system.machine);
  for (Finding const& finding : look_at_machine()) {
    char const* const verdict =
        finding.verdict == Verdict::yes ? "yes" : (finding.verdict == Verdict::no ? "no" : "limited");
    std::printf("  %-8s %s%s%s\n", verdict, finding.name.c_str(), finding.reason.empty() ? "" : ": ",
                finding.reason.c_str());
    if (!finding.remedy.empty()) std::printf("           remedy: %s\n", finding.remedy.c_str());
  }
  show_copies();
  std::printf(
      "protocols: direct needs shared memory of processes; ring needs it and a target that polls;\n"
      "           cross-memory needs cross-memory copies; network needs such a network;\n"
      "           messages need nothing else and are taken where the others are missing\n");
  return works;
}

}  // namespace mpixrma::tool

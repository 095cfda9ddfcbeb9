#include "tool/check.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "engine/op/statistics.hpp"
#include "tool/environment.hpp"
#include "tool/error.hpp"
#include "tool/run.hpp"

namespace mpixrma::tool {

namespace {

namespace fs = std::filesystem;

/// The destructor removes the directory with its files.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "mpix-rma-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("no temporary directory " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(TemporaryDirectory const&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;

  fs::path const& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

/// In the format of ompi-component/osc_mpix_report.c.
struct Report {
  std::uint64_t asked_for = 0;
  std::uint64_t made = 0;
  std::array<std::uint64_t, engine::protocol_count> operations{};
};

std::map<unsigned, Report> reports_in(fs::path const& directory) {
  std::map<unsigned, Report> reports;
  for (auto const& entry : fs::directory_iterator(directory)) {
    std::ifstream file(entry.path());
    unsigned rank = 0;
    Report report;
    file >> rank >> report.asked_for >> report.made;
    for (std::uint64_t& count : report.operations) file >> count;
    if (file) reports[rank] = report;
  }
  return reports;
}

bool is_launcher(std::string const& program) {
  std::string const name = fs::path(program).filename().string();
  return name.starts_with("mpirun") || name.starts_with("mpiexec") || name == "srun" || name == "prterun" ||
         name == "env" || name == "timeout";
}

std::string mpirun() {
  for (char const* const name : {"/usr/bin/mpirun.openmpi"}) {
    if (::access(name, X_OK) == 0) return name;
  }
  return "mpirun";
}

/// Returns true if there are reports, and the component has created all windows.
bool show(std::map<unsigned, Report> const& reports) {
  if (reports.empty()) {
    std::printf(
        "mpix-rma: no process used the component osc/mpix: the program is not linked with this Open MPI, did "
        "not call\n"
        "MPI_Finalize, or excludes the component (--mca osc); mpix-rma info says whether Open MPI loads "
        "it\n");
    return false;
  }
  std::uint64_t left = 0;
  std::printf("mpix-rma:  rank  windows  taken");
  for (char const* const protocol : engine::protocol_names) std::printf("  %12s", protocol);
  std::printf("\n");
  for (auto const& [rank, report] : reports) {
    std::printf("mpix-rma: %5u  %7llu  %5llu", rank, static_cast<unsigned long long>(report.asked_for),
                static_cast<unsigned long long>(report.made));
    for (std::uint64_t const count : report.operations)
      std::printf("  %12llu", static_cast<unsigned long long>(count));
    std::printf("\n");
    left += report.asked_for - report.made;
  }
  if (left != 0)
    std::printf(
        "mpix-rma: windows were left to other components: osc_mpix_windows, the list osc, the kind of "
        "window, "
        "or a process whose engine did not start\n");
  return left == 0;
}

}  // namespace

int check_program(Installation const& installation, std::vector<std::string> command) {
  if (!is_launcher(command.front()))
    command.insert(command.begin(), {mpirun(), "--oversubscribe", "-np", "2"});
  TemporaryDirectory const directory;
  std::map<std::string, std::string> variables = environment_of(installation);
  variables["MPIX_RMA_CHECK"] = directory.path().string();
  variables["OMPI_MCA_osc_mpix_statistics"] = "1";
  Output const output = run(command, variables);
  (void)std::fwrite(output.text.data(), 1, output.text.size(), stdout);
  bool const taken = show(reports_in(directory.path()));
  if (output.status != 0) return output.status;
  return taken ? exit_ok : exit_failure;
}

}  // namespace mpixrma::tool

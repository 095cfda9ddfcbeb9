#include "tool/timeline.hpp"

#include <cstdio>
#include <filesystem>

#include "engine/trace/conversion.hpp"
#include "tool/error.hpp"
#include "tool/run.hpp"

namespace mpixrma::tool {

namespace {

/// Converts the records that killed processes have left.
void finish(Installation const& installation, std::string const& trace) {
  std::string const records = engine::record_directory(trace);
  if (!std::filesystem::exists(records)) return;
  std::string const failure =
      engine::convert_trace_if_last(trace, engine::trace_module(installation.libraries.string()));
  if (!failure.empty()) throw Error(trace + ": its records are not converted to OTF2: " + failure);
  if (std::filesystem::exists(records)) throw Error(trace + ": processes still write records");
}

}  // namespace

int draw_timeline(Installation const& installation, std::string const& trace, std::string const& page) {
  finish(installation, trace);
  if (!std::filesystem::exists(engine::trace_anchor(trace))) throw Error(trace + " has no trace");
  Output const drawn =
      run({(installation.environment.parent_path() / "timeline" / "timeline").string(), trace, page});
  std::fputs(drawn.text.c_str(), stdout);
  return drawn.status == 0 ? exit_ok : exit_failure;
}

}  // namespace mpixrma::tool

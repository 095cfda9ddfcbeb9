/// The server's log: lines on stderr or in a file.
#pragma once

#include <string>

namespace mpixrma::nam {

enum class Severity { debug, info, warning, error };

/// Lines of `level` ("debug", "info", "warning", "error") and above, to `file`, or to stderr where it is
/// empty. `name` stands in each line. Throws Error.
void open_log(std::string const& name, std::string const& level, std::string const& file);
void set_log_level(std::string const& level);
void log(Severity severity, std::string const& line);

}  // namespace mpixrma::nam

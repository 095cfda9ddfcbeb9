/// The server's log: lines on stderr or in a file.
#pragma once

#include <string>

namespace mpixrma::nam {

enum class Severity { debug, info, warning, error };

/// Writes lines of `level` ("debug", "info", "warning", "error") and above to `file`, or to stderr if `file`
/// is empty. Each line contains `name`. Throws Error.
void open_log(std::string const& name, std::string const& level, std::string const& file);
void set_log_level(std::string const& level);
void log(Severity severity, std::string const& line);

}  // namespace mpixrma::nam

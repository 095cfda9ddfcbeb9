/// The files of a trace, and their conversion to OTF2 by the last process that closes its file.
#pragma once

#include <string>

namespace mpixrma::engine {

/// Directory of the records of all processes.
std::string record_directory(std::string const& trace);
/// The file by which readers open the trace.
std::string trace_anchor(std::string const& trace);

/// The path of the module for OTF2, given the directory of the engine's library.
std::string trace_module(std::string const& libraries);

/// Marks a file of records as being written until it is closed or the process ends. Returns false and sets
/// errno on failure.
bool lock_records(int fd) noexcept;

/// Converts the records of all processes by the module, unless another process still writes records and will
/// convert them. Returns a failure, or "".
std::string convert_trace_if_last(std::string const& trace, std::string const& module);

/// The function of the module: converts all records of the trace, and removes them. Returns 0, or nonzero
/// and the reason in `why`.
using ConvertTrace = int (*)(char const* trace, char* why, std::size_t bytes);
inline constexpr char const* convert_trace_symbol = "mpix_trace_convert";

}  // namespace mpixrma::engine

/// Error codes whose strings say what was wrong with a call.
#pragma once

#include <string>

namespace mpix {

/// A code of `error_class` with this string: the one that has it, or else the one of the class that was used
/// least recently, of a fixed number, so that a program that goes on after errors does not use up memory.
/// The class itself when MPI has none to give.
int code_for(int error_class, std::string const& text);

}  // namespace mpix

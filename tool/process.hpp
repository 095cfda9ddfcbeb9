/// mpix-rma ps: shows what a running process waits for.
#pragma once

namespace mpixrma::tool {

/// Prints the state of the process. Throws Error if the process does not exist, has no engine, or does not
/// answer.
void show_process(int pid);

}  // namespace mpixrma::tool

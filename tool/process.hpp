/// mpix-rma ps: what a running process waits for.
#pragma once

namespace mpixrma::tool {

/// Prints it. Throws Error: there is no such process, it uses no engine, or it does not answer.
void show_process(int pid);

}  // namespace mpixrma::tool

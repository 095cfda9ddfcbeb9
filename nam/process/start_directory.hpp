/// Libraries that read files of the working directory or of $HOME when a program is loaded, as UCX does with
/// ucx.conf: whoever writes such a file would choose which files the program writes. A program that links
/// this source is loaded in the root directory, and without a home that belongs to another user.
#pragma once

namespace mpixrma::nam {

/// Returns to the directory in which the program was started, and gives $HOME back. Must be called first in
/// main(): relative paths depend on it.
void return_to_start_directory() noexcept;

}  // namespace mpixrma::nam

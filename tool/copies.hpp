/// The methods of copies on this host: what the user's cache and the environment say, and their measurement.
#pragma once

namespace mpixrma::tool {

/// Prints the decisions, and where they come from.
void show_copies();

/// Measures all decisions with two processes, writes them to the user's cache and prints them. Returns false
/// if they cannot be kept.
bool tune_copies();

}  // namespace mpixrma::tool

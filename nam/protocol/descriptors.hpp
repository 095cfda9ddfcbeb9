/// Further descriptors of an open file, and further open file descriptions of the same file.
#pragma once

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Returns another descriptor of the same open file or socket, to be passed to another process. Throws
/// Shortage: a message with an invalid descriptor could not be sent, and would end its channel.
engine::FileDescriptor duplicate_of(int descriptor);
inline engine::FileDescriptor duplicate_of(engine::FileDescriptor const& descriptor) {
  return duplicate_of(descriptor.get());
}

/// Opens the descriptor's file again, as a separate open file description: it has its own locks, and counts
/// as an opener of the file until its last copy is closed and unmapped. Throws Error(unavailable).
engine::FileDescriptor reopened(int descriptor);

/// From now on only the memory's owner and root can open the memory again or give it extended attributes,
/// which take kernel memory beyond the grant for as long as the file exists. No effect unless the caller owns
/// the memory.
void restrict_to_owner(int memory) noexcept;

/// Lets every user who has a descriptor of the memory open it again: restrict_to_owner() excludes the next
/// data process, if that process has another user. Requires the same rights as is_open_elsewhere().
void admit_others(int memory) noexcept;

/// Whether the memory has any open file description besides the one from memfd_create(): one that reopened()
/// has created for a client, or that a process has opened itself, while some process has a descriptor or a
/// mapping of it. Also calls restrict_to_owner(): a descriptor without access (O_PATH) is not detected, and
/// another user could open the memory through it at any later time. Requires that the caller owns the memory
/// or may become its owner (CAP_SETUID); otherwise returns false. Returns true if descriptors or memory run
/// short, because the memory may then be open.
bool is_open_elsewhere(int memory) noexcept;

}  // namespace mpixrma::nam

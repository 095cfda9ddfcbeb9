/// Communicators between the beginning and the end of MPI_Comm_free or MPI_Comm_disconnect.
///
/// MPI deletes attributes in the reverse order of their creation. A program's delete callback may run after
/// that of the attribute that ties the communicator to its state, and may use the communicator, for example
/// to free memory of MPIX_RMA_Allocate. An attribute that is set then is never deleted: the state would stay,
/// and the next communicator with this handle would be taken for the one that is gone. So the state lasts to
/// the end of the call.
#pragma once

#include <mpi.h>

namespace mpixrma {

class Communicator;

class Freeing {
 public:
  explicit Freeing(MPI_Comm comm);
  ~Freeing();
  Freeing(Freeing const&) = delete;
  Freeing& operator=(Freeing const&) = delete;

  /// To be retired at the end, or nullptr.
  Communicator* state() const noexcept { return state_; }

  /// Keeps the state, which has lost its attribute or never had one, until the calling thread has freed
  /// `comm`. False: the thread does not free it by one of the library's calls.
  static bool keep(MPI_Comm comm, Communicator& state);
  /// The state that keep() stored, for the thread that frees `comm`.
  static Communicator* kept(MPI_Comm comm);

 private:
  static Freeing* find(MPI_Comm comm);

  MPI_Comm const comm_;
  Communicator* state_ = nullptr;
  Freeing* next_;  ///< of this thread
};

/// Frees `*comm` by a call of MPI, which may be MPI_Comm_disconnect, and retires its state afterwards.
int free_communicator(MPI_Comm* comm, int (*mpi_call)(MPI_Comm*));

}  // namespace mpixrma

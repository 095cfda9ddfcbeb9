/// The lifetime of a communicator's state during MPI_Comm_free and MPI_Comm_disconnect.
///
/// MPI deletes attributes in the reverse order of their creation. A program's delete callback may run after
/// that of the attribute that attaches the library's state, and may use the communicator, for example to free
/// memory of MPIX_RMA_Allocate. MPI never deletes an attribute that is set at that point: a state attached
/// again would remain, and the next communicator with this handle would be mistaken for the freed one. So the
/// state lives until the end of the call.
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

  /// The state to retire at the end, or nullptr.
  Communicator* state() const noexcept { return state_; }

  /// Keeps the state, which has lost its attribute or never had one, until the calling thread has freed
  /// `comm`. Returns false if the thread is not freeing it by one of the library's calls.
  static bool keep(MPI_Comm comm, Communicator& state);
  /// Whether the calling thread is freeing `comm`.
  static bool is_in_progress(MPI_Comm comm) { return find(comm) != nullptr; }
  /// Returns the state that keep() stored, to the thread that frees `comm`.
  static Communicator* kept(MPI_Comm comm);

 private:
  static Freeing* find(MPI_Comm comm);

  MPI_Comm const comm_;
  Communicator* state_ = nullptr;
  Freeing* next_;  ///< next outer call of this thread
};

/// Frees `*comm` by an MPI call, which may be MPI_Comm_disconnect, and retires its state afterwards. If the
/// communicator has notification counters, first completes this process's operations and synchronises.
int free_communicator(MPI_Comm* comm, int (*mpi_call)(MPI_Comm*));

}  // namespace mpixrma
